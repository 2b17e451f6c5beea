/** Fitted configuration as YAML, which `loadTraffic` reads. */
import { stringify } from 'yaml'
import type { SizeFit, TrafficFit } from '../index.ts'

export interface FitTextOptions {
  /** Servers, `host:port`, that replace the captured addresses: any number, the first for the most frequent. */
  servers?: readonly string[]
  /** Factor of the number of requests per second. */
  scale?: number
  /** TCP port of servers that have none. */
  port: number
}

export function fitText(fit: TrafficFit, { servers, scale = 1, port }: FitTextOptions): string {
  const { client, count, requestsPerSecond, verbs, types, size, arrival } = fit
  const listed =
    servers ?? fit.servers.map(({ value }) => (value.includes(':') ? `[${value}]:${port}` : `${value}:${port}`))
  const weights = listed.map((_, i) => sumOf(fit.servers.filter((_one, j) => j % listed.length === i)))
  const settings = {
    servers: listed.map((server, i) => ({ ...partsOf(server, port), weight: weights[i] || 1 })),
    count,
    flow: 'push',
    requests: Number((requestsPerSecond * scale).toPrecision(6)) || 1,
    arrival: arrivalOf(fit),
    ...(size !== null && { size: sizeOf(size) }),
    verbs: Object.fromEntries(
      verbs.map((verb) => [
        verb.value,
        verb.size === null || verbs.length === 1 ? verb.count : { weight: verb.count, size: sizeOf(verb.size) },
      ]),
    ),
    types: Object.fromEntries(types.map((type) => [type.value, type.count])),
  }
  const lines = [
    `Fitted to ${count} requests of ${client}.`,
    `Arrivals: ${arrival.arrival.type}, KS distance ${arrival.ks.toFixed(4)} (5 % limit ${arrival.limit.toFixed(4)}); ${arrival.tried.map(({ type, ks }) => `${type} ${ks.toFixed(3)}`).join(', ')}.`,
    ...verbs.flatMap(({ value, size: own }) =>
      own === null ? [] : `Sizes of ${value}: KS distance ${own.ks.toFixed(4)} (5 % limit ${own.limit.toFixed(4)}).`,
    ),
    'Between the hosts of the capture, messages and bytes:',
    ...fit.matrix.slice(0, 20).map((cell) => `  ${cell.source} → ${cell.destination}  ${cell.messages}  ${cell.bytes}`),
    ...(fit.matrix.length > 20 ? [`  and ${fit.matrix.length - 20} more pairs`] : []),
  ]
  return `${lines.map((line) => `# ${line}\n`).join('')}${stringify(settings, { flowCollectionPadding: true, lineWidth: 120 })}`
}

function sumOf(shares: TrafficFit['servers']): number {
  return shares.reduce((sum, { count }) => sum + count, 0)
}

/** Returns host and port of `host:port`, with the host of an IPv6 address in brackets. */
function partsOf(server: string, fallback: number): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(server) ?? []
  return { host: bracketed ?? plain ?? server, port: port === undefined ? fallback : Number(port) }
}

function arrivalOf({ arrival: { arrival } }: TrafficFit): unknown {
  if (arrival.type === 'onoff')
    return { type: 'onoff', on: `${Math.round(arrival.onNs)}ns`, off: `${Math.round(arrival.offNs)}ns` }
  if (arrival.type === 'lognormal') return { type: 'lognormal', sigma: Number(arrival.sigma.toPrecision(4)) }
  return arrival.type
}

function sizeOf(size: SizeFit): unknown {
  if (size.kind === 'fixed') return size.bytes
  if (size.kind === 'weights') return size.weights
  return { points: size.points }
}
