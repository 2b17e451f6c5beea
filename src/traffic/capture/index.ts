/**
 * Packets of a configuration without a network: client and servers run in this thread, on adapters in virtual time. Other folders import
 * from here only.
 */
import type { CaptureWriter } from '../../capture/index.ts'
import { type CompletionQueue, type Context, openDevice } from '../../verbs/index.ts'
import { type TrafficConfig, TrafficError } from '../index.ts'
import {
  ClientLoop,
  Control,
  controlSlots,
  Link,
  type LinkHost,
  planOf,
  qpsOf,
  Requests,
  receivesOf,
  ServerLoop,
  Tally,
} from '../run/index.ts'
import { Frames } from './frames.ts'
import { addressOf, Network, plugIn, VirtualAdapter } from './network.ts'

/** Time at which the next capture in this thread begins. */
let nextStartNs = 0

/** Interval at which the loop of the client checks for missing packets. */
const lookEveryNs = 20e6

/** Maximum number of servers: addresses of hosts have two bytes. */
const mostServers = 60_000

export interface CaptureOptions {
  config: TrafficConfig
  writer: CaptureWriter
  /** Name of any adapter of this process, whose segment is used. */
  memoryOf: string
  /** Flag: RoCEv1 instead of RoCEv2. */
  roceV1: boolean
  /** Returns true to end early; called at intervals. */
  stopped(): boolean
}

export interface CaptureResult {
  packets: number
  requests: number
  done: number
  lost: number
  failed: number
  /** Maximum time that a request waited before it was sent, nanoseconds. */
  latestNs: number
  /** Virtual time in seconds. */
  seconds: number
}

/** Writes the packets that the client's port of a network would carry. The caller closes the writer. */
export function captureTraffic({ config, writer, memoryOf, roceV1, stopped }: CaptureOptions): CaptureResult {
  const servers = config.servers.length
  if (servers > mostServers)
    throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', `servers: a capture has at most ${mostServers}`)
  const frames = new Frames(writer, roceV1)
  const { faults, bandwidthBps, seed } = config
  const congestionControl = !roceV1
  const network = new Network({ faults, bandwidthBps, seed, servers, frames, startNs: nextStartNs, congestionControl })
  const memory = openDevice(memoryOf)
  const { host } = (memory as unknown as { device: { host: ConstructorParameters<typeof VirtualAdapter>[0] } }).device
  plugIn([
    new VirtualAdapter(host, network, 0, 1, bandwidthBps),
    new VirtualAdapter(host, network, 1, servers, bandwidthBps),
  ])
  const plan = { ...planOf(config), mtu: config.mtu || 1024 }
  const qps = qpsOf(plan)
  const client = hostOf(openDevice('capture/client'), qps * servers, plan, servers)
  const clientLinks: Link[] = []
  const links: Link[] = []
  const hosts = [client]
  const loops: ServerLoop[] = []
  const control = new Control(servers)
  for (let i = 0; i < servers; i++) {
    const own = hostOf(openDevice('capture/servers'), qps, plan, 1)
    const link = new Link(own, plan, 'server', 0)
    const toServer = new Link(client, plan, 'client', i * qps)
    const path = (to: number, sgidIndex: number) => (serviceLevel: number, trafficClass: number) => ({
      ...{ dlid: 0, sl: serviceLevel, portNum: 1 },
      // ECN-capable, as DCQCN needs it.
      grh: {
        dgid: gid(to),
        sgidIndex,
        hopLimit: 64,
        trafficClass: congestionControl ? trafficClass | 2 : trafficClass,
      },
    })
    const [here, there] = [toServer.end, link.end]
    toServer.connect(there, path(i + 1, 0))
    link.connect(here, path(0, i))
    clientLinks.push(toServer)
    links.push(toServer, link)
    hosts.push(own)
    loops.push(new ServerLoop(link, own.sendCq, own.recvCq, qps, control, null))
  }
  const tally = new Tally(servers, bandwidthBps)
  const loop = new ClientLoop({
    ...{ config, links: clientLinks, requests: clientLinks.map((link) => new Requests(link, client.stride)) },
    ...{ sendCq: client.sendCq, recvCq: client.recvCq, stride: client.stride, control, idle: null, tally },
    clock: () => network.nowNs,
  })
  loop.begin()
  for (let turns = 0; !loop.over; turns++) {
    // Before the turns: completions that they find now would have a later time afterwards.
    network.settle()
    let progress = loop.turn()
    for (const server of loops) if (server.turn(network.nowNs)) progress = true
    const failed = loops.find(({ error }) => error !== '')
    if (failed !== undefined) throw new Error(`a server of the capture: ${failed.error}`)
    if ((turns & 255) === 0 && stopped()) control.stop()
    if (progress) continue
    let next = Math.min(network.nextNs, later(loop.nextNs, network.nowNs))
    for (const server of loops) next = Math.min(next, later(server.nextNs, network.nowNs))
    if (loop.waits || !Number.isFinite(next)) next = Math.min(next, network.nowNs + lookEveryNs)
    network.nowNs = Math.max(network.nowNs, next)
    frames.writeUntil(network.nowNs - network.startNs)
  }
  const run = loop.end()
  // The last acknowledgements.
  for (let next = network.nextNs; Number.isFinite(next) && next < network.nowNs + 1e6; next = network.nextNs) {
    network.nowNs = Math.max(network.nowNs, next)
    network.settle()
  }
  frames.writeUntil(Number.POSITIVE_INFINITY)
  for (const link of links) link.close()
  for (const { context, pd, sendCq, recvCq } of hosts) {
    sendCq.close()
    recvCq.close()
    pd.close()
    context.close()
  }
  memory.close()
  plugIn([])
  nextStartNs = network.nowNs + 1e9
  return {
    ...{ packets: frames.packets, requests: run.asked, done: tally.done, lost: tally.lost, failed: tally.failed },
    latestNs: run.latestNs,
    seconds: (network.nowNs - network.startNs) / 1e9,
  }
}

function later(ns: number, now: number): number {
  return ns > now ? ns : Number.POSITIVE_INFINITY
}

function hostOf(context: Context, stride: number, plan: Parameters<typeof qpsOf>[0], links: number): LinkHost {
  const channels = qpsOf(plan) - 1
  const cq = (each: number): CompletionQueue =>
    context.createCq(Math.min(context.queryDevice().maxCqe, links * (each + controlSlots)), { singleThreaded: true })
  return {
    ...{ context, pd: context.allocPd(), port: 1, stride },
    ...{ sendCq: cq(channels * plan.depth), recvCq: cq(channels * receivesOf(plan)) },
  }
}

/** Returns the GID of a host: its IPv4 address, mapped. */
function gid(host: number): Uint8Array {
  return Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...addressOf(host))
}
