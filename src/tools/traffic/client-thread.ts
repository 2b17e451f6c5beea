/** The data thread of a client. The main thread calls it: `open`, `prepare`, `run`, `close`. */
import { faults, type OpenOptions } from '../../index.ts'
import { threadData } from '../../memory/index.ts'
import {
  atomicBytes,
  fromPlain,
  type Phase,
  type PlainConfig,
  type TrafficConfig,
  type TrafficRecord,
} from '../../traffic/index.ts'
import {
  ClientLoop,
  type ClientRun,
  Control,
  controlSlots,
  type Link,
  type LinkEnd,
  type LinkPlan,
  qpsOf,
  Requests,
  receivesOf,
  recordOf,
  Tally,
} from '../../traffic/run/index.ts'
import { pinApart, serve } from '../kit/index.ts'
import { End, type EndOptions } from './end.ts'
import type { Address, CmAddresses } from './protocol.ts'

export interface ClientOpen {
  end: EndOptions
  config: PlainConfig
  /** True if the RDMA CM connects the queue pairs. */
  rdmaCm: boolean
}

/** Server that has answered. */
export interface Reached {
  address: Address
  plan: LinkPlan
  end: LinkEnd
  sameHost: boolean
  cm: CmAddresses
}

const control0 = threadData<{ control: SharedArrayBuffer; servers: number }>()
const control = new Control(control0.servers, control0.control)
/** Number of requests by which the time of the fastest is found. */
const baseRequests = 50

let end: End
let config: TrafficConfig
let links: (Link | null)[] = []
let polite = false
let rdmaCm = false

function open(asked: ClientOpen): Address {
  config = fromPlain(asked.config)
  rdmaCm = asked.rdmaCm
  end = new End(asked.end, openOptions(config))
  return end.address
}

function openOptions({ faults: asked, seed }: TrafficConfig): OpenOptions {
  const { marking: _captures, ...rates } = asked
  const any = Object.values(rates).some((rate) => rate > 0)
  return any ? { wrap: [faults({ ...rates, seed: seed % 2 ** 31 })] } : {}
}

/**
 * Creates the queue pairs to all servers that have answered, and connects them unless the RDMA CM does; returns the data that each server
 * needs.
 */
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
    if (!rdmaCm) end.connect(link, server.address, server.end)
    return link
  })
  return links.map((link) => link?.end ?? null)
}

/** Connects to a server that waits for this client in its RDMA CM. */
function join({ server, reached }: { server: number; reached: Reached }): void {
  end.connectByCm(links[server]!, reached.end, reached.cm)
}

function run(): TrafficRecord {
  const { sendCq, recvCq, stride } = end.host!
  const requests = links.map((link) => (link === null ? null : new Requests(link, stride)))
  const tally = new Tally(links.length, config.bandwidthBps)
  const loop = (its: TrafficConfig, to: Tally, trial = false): ClientRun =>
    new ClientLoop({
      ...{ config: its, links, requests, sendCq, recvCq, stride, control },
      ...{ idle: end.idle(polite), tally: to, trial },
    }).run()
  for (const server of links.keys()) {
    if (links[server] === null) continue
    const trial = new Tally(links.length, config.bandwidthBps)
    loop(oneByOne(config, server), trial, true)
    tally.bases[server] = trial.fastestNs
  }
  return recordOf(config, loop(config, tally), tally, links)
}

/** Returns the configuration of small requests to one server, each after the one before. */
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

function close(): void {
  for (const link of links) link?.close()
  end?.close()
}

serve({ open, prepare, join, run, close })
