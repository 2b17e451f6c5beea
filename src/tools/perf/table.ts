/** Results as perftest prints them: the same columns, units and rounding. */
import { totalFlow } from './limits.ts'
import type { Flow } from './protocol.ts'
import type { Measured, PerfSession } from './session.ts'
import { isLatency, type PerfSettings, type PerfTest, verbOf, warmupOf } from './settings.ts'

const rule = '-'.repeat(91)

export function title(test: PerfTest): string {
  const verb = { send: 'Send', write: 'RDMA_Write', read: 'RDMA_Read', atomic: 'Atomic' }[verbOf(test)]
  return `${verb} ${isLatency(test) ? 'Latency' : 'BW'} Test`
}

/** Returns the text before a measurement, with its settings. */
export function banner(session: PerfSession): string {
  const { settings, local, peer, role, mtu } = session
  const ended =
    settings.duration > 0
      ? `${settings.duration} s, of which ${settings.margin} s at each end are not measured`
      : `${settings.iters}`
  const rows: [string, string | number][] = [
    ['Device', local.device],
    ['Peer', `${peer}, which is the ${role === 'client' ? 'server' : 'client'}`],
    ['Connection type', settings.rdmaCm ? `${settings.connection}, by the RDMA CM` : settings.connection],
    ['Number of QPs', settings.qps],
    ['MTU', `${mtu} bytes`],
    ['Link', local.gidIndex < 0 ? `LID ${local.lid}` : `GID index ${local.gidIndex}, ${local.gid}`],
    [settings.duration > 0 ? 'Duration' : 'Iterations', ended],
    ['TX depth', settings.txDepth],
  ]
  if (settings.duration === 0 || isLatency(settings.test)) rows.push(['Warm-up', warmupText(settings)])
  if (settings.postList > 1) rows.push(['Post list', settings.postList])
  if (verbOf(settings.test) === 'send') rows.push(['RX depth', settings.rxDepth])
  if (verbOf(settings.test) === 'read' || verbOf(settings.test) === 'atomic') rows.push(['Outstanding', settings.outs])
  else rows.push(['Max inline data', `${settings.inlineSize} bytes`])
  if (!isLatency(settings.test)) rows.push(['CQ moderation', settings.cqMod])
  if (settings.rate > 0)
    rows.push(['Rate', `${settings.rate} messages/s${isLatency(settings.test) ? ', from the intended send time' : ''}`])
  if (settings.events) rows.push(['Completions', 'events'])
  const name = `${settings.bidirectional ? 'Bidirectional ' : ''}${title(settings.test)}`
  const indent = ' '.repeat(Math.floor((rule.length - name.length) / 2))
  return [rule, indent + name, ...rows.map(([key, value]) => ` ${key.padEnd(16)}: ${value}`), rule].join('\n')
}

function warmupText(settings: PerfSettings): string {
  const counts = new Set(settings.sizes.map((size) => warmupOf(settings, size)))
  const text =
    counts.size === 1 ? `${[...counts][0]} messages` : `${Math.min(...counts)} to ${Math.max(...counts)} messages`
  return isLatency(settings.test) ? `${text}, at most 1 s` : text
}

type Column = readonly [name: string, value: string]

/** Figures that `--output` may show alone. */
export const figures = ['bandwidth', 'message_rate', 'latency'] as const
export type Figure = (typeof figures)[number]

export function figuresOf(test: PerfTest): Figure[] {
  return isLatency(test) ? ['latency'] : ['bandwidth', 'message_rate']
}

export interface Shown {
  gbits: boolean
  peak: boolean
  only?: Figure
  /** Flag: show every latency, in this order. */
  samples?: 'sorted' | 'unsorted'
}

/** Returns one average alone: bandwidth in the unit of the report, Mpps, or microseconds. */
export function figure(measured: Measured, which: Figure, { gbits }: Shown): string {
  const { bytes, messages } = totalFlow(measured)
  const values = {
    bandwidth: gbits ? (bytes * 8) / 1e9 : bytes / 2 ** 20,
    message_rate: messages / 1e6,
    latency: (measured.client.latency?.mean ?? 0) / 1000,
  }
  return values[which].toFixed(6)
}

const linesAtOnce = 10_000

/** Yields every latency with its number, thousands of lines at a time. A server has none of them. */
export function* sampleLines({ client: { samples } }: Measured, order: 'sorted' | 'unsorted'): Generator<string> {
  if (samples === undefined) return
  const ordered = order === 'sorted' ? samples.toSorted() : samples
  yield '#, usec'
  for (let from = 0; from < ordered.length; from += linesAtOnce)
    yield [...ordered.subarray(from, from + linesAtOnce)]
      .map((value, i) => `${from + i + 1}, ${(value / 1000).toFixed(3)}`)
      .join('\n')
  yield ''
}

/** Returns the line of column names. */
export function heading(session: PerfSession, shown: Shown): string {
  return columns(session, null, shown)
    .map(([name]) => ` ${name}`)
    .join('  ')
}

/** Returns the rows of one size: one, and with both directions of a bandwidth test one more for each. */
export function rows(session: PerfSession, measured: Measured, shown: Shown): string[] {
  const line = (cells: Column[]): string =>
    cells
      .map(([name, value]) => ` ${value.padEnd(name.length)}`)
      .join('  ')
      .trimEnd()
  const lines = [line(columns(session, measured, shown))]
  const { client, server } = measured
  if (client.sent !== null && server.sent !== null) {
    const one = (flow: Flow, who: string): string => {
      const alone: Measured = { ...measured, client: { ...client, sent: flow }, server: { ...server, sent: null } }
      return `${line(columns(session, alone, shown))}   ${who}`
    }
    lines.push(one(client.sent, 'client to server'), one(server.sent, 'server to client'))
  }
  return lines
}

const usec = (ns: number): string => (ns / 1000).toFixed(2)

function columns(session: PerfSession, measured: Measured | null, { gbits, peak }: Shown): Column[] {
  const { settings } = session
  const latency = measured?.client.latency ?? undefined
  if (isLatency(settings.test)) {
    const value = (text: string | undefined): string => text ?? ''
    const cells: Column[] = [
      ['#bytes', value(measured?.size.toString())],
      ['#iterations', value(latency?.count.toString())],
      ['t_min[usec]', value(latency && usec(latency.min))],
      ['t_max[usec]', value(latency && usec(latency.max))],
      ['t_typical[usec]', value(latency && usec(latency.percentiles.p50!))],
      ['t_avg[usec]', value(latency && usec(latency.mean))],
      ['t_stdev[usec]', value(latency && usec(latency.stdev))],
      ['99% percentile[usec]', value(latency && usec(latency.percentiles.p99!))],
      ['99.9% percentile[usec]', value(latency && usec(latency.percentiles['p99.9']!))],
    ]
    if (settings.duration > 0 || settings.rate > 0) cells.push(['tps average', value(latency?.perSecond.toFixed(2))])
    if (settings.connection !== 'RC') cells.push(['lost', value(latency?.lost.toString())])
    return cells
  }
  const total = measured && totalFlow(measured)
  const bandwidth = (bytes: number): string => (gbits ? ((bytes * 8) / 1e9).toFixed(2) : (bytes / 2 ** 20).toFixed(2))
  const unit = gbits ? 'Gb/sec' : 'MiB/sec'
  const sent = measured === null ? 0 : (measured.client.sent?.messages ?? 0) + (measured.server.sent?.messages ?? 0)
  return [
    ['#bytes    ', measured === null ? '' : `${measured.size}`],
    ['#iterations', measured === null ? '' : `${sent}`],
    [`BW peak[${unit}]`, total ? bandwidth(peak ? total.peakBytes : 0) : ''],
    [`BW average[${unit}]`, total ? bandwidth(total.bytes) : ''],
    ['MsgRate[Mpps]', total ? (total.messages / 1e6).toFixed(6) : ''],
  ]
}
