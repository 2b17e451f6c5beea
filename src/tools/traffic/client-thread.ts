/** The data thread of a client. The main thread calls it: `open`, `prepare`, `run`, `close`. */
import { faults, type OpenOptions } from '../../index.ts'
import { threadData } from '../../memory/index.ts'
import {
  atomicBytes,
  fromPlain,
  type Phase,
  type PlainConfig,
  qpTypes,
  serverText,
  type TrafficConfig,
  verbs,
} from '../../traffic/index.ts'
import {
  type Cell,
  ClientLoop,
  type ClientRun,
  Control,
  controlSlots,
  type Figures,
  type Link,
  type LinkEnd,
  type LinkPlan,
  qpsOf,
  Requests,
  receivesOf,
  sizeClasses,
  Tally,
} from '../../traffic/run/index.ts'
import { pinApart, serve } from '../kit/index.ts'
import { End, type EndOptions } from './end.ts'
import type { Address } from './protocol.ts'

export interface ClientOpen {
  end: EndOptions
  config: PlainConfig
}

/** A server that is there. */
export interface Reached {
  address: Address
  plan: LinkPlan
  end: LinkEnd
  sameHost: boolean
}

export interface TrafficResult {
  seconds: number
  asked: { requests: number; bytes: number; perSecond: number; bitsPerSecond: number }
  reached: { perSecond: number; bitsPerSecond: number }
  /** The most that a request waited before it was sent, nanoseconds. */
  latestNs: number
  all: Figures
  sizes: Record<string, Figures>
  verbs: Record<string, Figures>
  types: Record<string, Figures>
  servers: Record<string, Figures>
  /** Why a server was lost, by its address. */
  failures: Record<string, string>
  series: { binSeconds: number; due: number[]; done: number[]; bytes: number[] }
}

const nothing: Figures = { done: 0, bytes: 0, lost: 0, failed: 0, fct: null, slowdown: null }
const control0 = threadData<{ control: SharedArrayBuffer; servers: number }>()
const control = new Control(control0.servers, control0.control)
/** Requests by which the time of the fastest is found. */
const baseRequests = 50

let end: End
let config: TrafficConfig
let links: (Link | null)[] = []
let polite = false

function open(asked: ClientOpen): Address {
  config = fromPlain(asked.config)
  end = new End(asked.end, openOptions(config))
  return end.address
}

function openOptions({ faults: asked, seed }: TrafficConfig): OpenOptions {
  const { marking: _captures, ...rates } = asked
  const any = Object.values(rates).some((rate) => rate > 0)
  return any ? { wrap: [faults({ ...rates, seed: seed % 2 ** 31 })] } : {}
}

/** Makes the queue pairs to all servers that are there, and connects them; the answer is what each has to know. */
function prepare(servers: (Reached | null)[]): (LinkEnd | null)[] {
  const there = servers.filter((server) => server !== null)
  const sum = (of: (plan: LinkPlan) => number): number => there.reduce((total, { plan }) => total + of(plan), 0)
  const local = there.some(({ sameHost }) => sameHost)
  polite = local && !pinApart('client')
  const channels = (plan: LinkPlan): number => qpsOf(plan) - 1
  end.prepare(
    sum(qpsOf),
    sum((plan) => channels(plan) * plan.depth + controlSlots),
    sum((plan) => channels(plan) * (plan.flow === 'reply' ? receivesOf(plan) : 1) + 1),
  )
  let first = 0
  links = servers.map((server) => {
    if (server === null) return null
    const link = end.link(server.plan, 'client', first)
    first += qpsOf(server.plan)
    end.connect(link, server.address, server.end)
    return link
  })
  return links.map((link) => link?.end ?? null)
}

function run(): TrafficResult {
  const { sendCq, recvCq, stride } = end.host!
  const requests = links.map((link) => (link === null ? null : new Requests(link, stride)))
  const tally = new Tally(links.length, config.bandwidthBps)
  const loop = (its: TrafficConfig, to: Tally): ClientRun =>
    new ClientLoop({
      ...{ config: its, links, requests, sendCq, recvCq, stride, control },
      ...{ idle: end.idle(polite), tally: to },
    }).run()
  for (const server of links.keys()) {
    if (links[server] === null) continue
    const trial = new Tally(links.length, config.bandwidthBps)
    loop(oneByOne(config, server), trial)
    tally.bases[server] = trial.by(() => 0).get(0)?.fct?.min ?? 0
  }
  return resultOf(loop(config, tally), tally)
}

/** Small requests to one server, each after the one before. */
function oneByOne(whole: TrafficConfig, server: number): TrafficConfig {
  const [first] = whole.phases as [Phase]
  const phase: Phase = {
    ...first,
    ...{
      durationNs: Number.POSITIVE_INFINITY,
      sizes: [{ value: atomicBytes, weight: 1 }],
      rates: [{ value: 0, weight: 1 }],
    },
    verbs: first.verbs.map(({ verb, weight }) => ({ verb, weight })),
    fanouts: [{ value: 1, weight: 1 }],
    arrival: { type: 'closed', depth: 1, thinkNs: 0 },
    destinations: { type: 'hotspot', server, share: 1 },
    collective: null,
  }
  return { ...whole, count: baseRequests, durationNs: null, phases: [phase] }
}

function resultOf(run: ClientRun, tally: Tally): TrafficResult {
  const seconds = run.doneNs / 1e9
  const askedSeconds = run.askedNs / 1e9
  const rate = (amount: number, over: number): number => (over > 0 ? amount / over : 0)
  const group = (nameOf: (cell: Cell) => string): Record<string, Figures> => Object.fromEntries(tally.by(nameOf))
  const bySize = tally.by(({ sizeClass }) => sizeClass)
  const names = config.servers.map(serverText)
  const { series } = run
  const list = (values: Float64Array): number[] => [...values.subarray(0, series.length)]
  return {
    seconds,
    asked: {
      ...{ requests: run.asked, bytes: run.askedBytes },
      ...{ perSecond: rate(run.asked, askedSeconds), bitsPerSecond: rate(8 * run.askedBytes, askedSeconds) },
    },
    reached: { perSecond: rate(tally.done, seconds), bitsPerSecond: rate(8 * tally.bytes, seconds) },
    latestNs: run.latestNs,
    all: tally.by(() => 0).get(0) ?? nothing,
    sizes: Object.fromEntries([...bySize].sort(([a], [b]) => a - b).map(([i, figures]) => [sizeClasses[i]!, figures])),
    verbs: group(({ verb }) => verbs[verb]!),
    types: group(({ type }) => qpTypes[type]!),
    servers: group(({ server }) => names[server]!),
    failures: Object.fromEntries(
      links.flatMap((link, i) => (link !== null && link.failure !== '' ? [[names[i]!, link.failure]] : [])),
    ),
    series: { binSeconds: 0.1, due: list(series.due), done: list(series.done), bytes: list(series.bytes) },
  }
}

function close(): void {
  for (const link of links) link?.close()
  end?.close()
}

serve({ open, prepare, run, close })
