/**
 * Messages between the two ends of a test: JSON lines over TCP.
 *
 *     client                      server
 *     hello {settings}     →
 *                          ←      welcome, or error
 *     and for each size, in both directions at once:
 *     prepared {endpoints} ↔ prepared
 *     ready                ↔ ready           receives are posted
 *     sent {messages}      ↔ sent            when an end has sent all its messages
 *     done {report}        ↔ done
 *
 * `error` may come at any time and ends the run.
 */
import { z } from 'zod'
import { type ErrorMessage, expectMessage, receiveMessage, sayMessage, type Wire } from '../kit/index.ts'
import { atomicTypes, connections, type PerfSettings, perfTests } from './settings.ts'

export const protocolVersion = 2

/** Latencies in nanoseconds. */
export interface LatencyStatistics {
  count: number
  /** Number of messages that were never answered. */
  lost: number
  min: number
  max: number
  mean: number
  stdev: number
  percentiles: Record<string, number>
  /** True if percentiles are of all samples; else they are of a histogram, at most 1/1024 too high. */
  exact: boolean
  what: 'half round trip' | 'round trip' | 'completion'
  /** Start of a latency: the time at which the message was posted, or at which it was due. */
  from: 'post' | 'intended'
  /** Messages per second. */
  perSecond: number
}

/** One direction of a bandwidth test as measured by one end. */
export interface Flow {
  messages: number
  seconds: number
  messagesPerSecond: number
  peakPerSecond: number
}

/** Results of one end: messages sent (by completions), messages received (by arrivals), latencies. */
export interface EndReport {
  sent: Flow | null
  received: Flow | null
  latency: LatencyStatistics | null
  error?: string | undefined
  /** Latencies in nanoseconds, in the order of the messages, if requested. Not sent to the peer. */
  samples?: Float64Array
}

export interface Endpoint {
  qpn: number
  psn: number
  lid: number
  /** GID, 32 hexadecimal digits. */
  gid: string
}

export interface Prepared {
  endpoints: Endpoint[]
  addr: number
  rkey: number
  /** Address of the RDMA CM of a server, with `-R`. */
  cm?: { address: string; port: number } | undefined
}

interface Introduction {
  protocol: number
  verbena: string
  /** Bytes of the active MTU. */
  activeMtu: number
  /** Name of the end's device; ends of older versions do not send it. */
  device?: string | undefined
}

export type Message =
  | ({ type: 'hello'; settings: PerfSettings } & Introduction)
  | ({ type: 'welcome' } & Introduction)
  | ({ type: 'prepared' } & Prepared)
  | { type: 'ready' }
  | { type: 'sent'; messages: number }
  | { type: 'done'; report: EndReport }
  | { type: 'error'; message: string }

const device = z.string().max(256).optional()
const natural = z.number().int().nonnegative()
const positive = z.number().int().positive()
const statistics = z.object({
  count: natural,
  lost: natural,
  min: z.number(),
  max: z.number(),
  mean: z.number(),
  stdev: z.number(),
  percentiles: z.record(z.string(), z.number()),
  exact: z.boolean(),
  what: z.enum(['half round trip', 'round trip', 'completion']),
  from: z.enum(['post', 'intended']),
  perSecond: z.number(),
})
const flow = z.object({
  messages: natural,
  seconds: z.number(),
  messagesPerSecond: z.number(),
  peakPerSecond: z.number(),
})
const report = z.object({
  sent: flow.nullable(),
  received: flow.nullable(),
  latency: statistics.nullable(),
  error: z.string().max(2000).optional(),
})
const settings = z.object({
  test: z.enum(perfTests),
  sizes: z
    .array(positive.max(2 ** 30))
    .min(1)
    .max(64),
  iters: natural.max(2 ** 40),
  duration: z.number().nonnegative(),
  margin: z.number().nonnegative(),
  warmup: z.number().int().min(-1),
  txDepth: positive.max(16384),
  rxDepth: positive.max(16384),
  postList: positive.max(16384),
  qps: positive.max(1024),
  connection: z.enum(connections),
  mtu: natural,
  outs: positive.max(255),
  inlineSize: natural,
  events: z.boolean(),
  bidirectional: z.boolean(),
  rate: z.number().nonnegative(),
  cqMod: positive,
  atomicType: z.enum(atomicTypes),
  qpTimeout: natural.max(31),
  rdmaCm: z.boolean().default(false),
  retryCount: natural.max(7).default(7),
})
const endpoint = z.object({
  qpn: natural.max(0xffffff),
  psn: natural.max(0xffffff),
  lid: natural.max(0xffff),
  gid: z.string().regex(/^[0-9a-f]{32}$/),
})
const message: z.ZodType<Message> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocol: z.number(),
    verbena: z.string(),
    activeMtu: positive,
    device,
    settings,
  }),
  z.object({ type: z.literal('welcome'), protocol: z.number(), verbena: z.string(), activeMtu: positive, device }),
  z.object({
    type: z.literal('prepared'),
    endpoints: z.array(endpoint).min(1).max(1024),
    addr: z.number().nonnegative(),
    rkey: natural,
    cm: z.object({ address: z.string().max(64), port: positive.max(65535) }).optional(),
  }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('sent'), messages: natural }),
  z.object({ type: z.literal('done'), report }),
  z.object({ type: z.literal('error'), message: z.string().max(2000) }),
])
/** Name of the peer in error messages. */
const whose = '`verbena perf` of a version that this one knows'

export const say = (wire: Wire, said: Message): Promise<void> => sayMessage(wire, said)

/** Returns the next message; throws an error for an invalid one, or an error of the peer. */
export const receive = (wire: Wire, timeoutMs: number, what: string): Promise<Exclude<Message, ErrorMessage>> =>
  receiveMessage(wire, message, timeoutMs, what, whose)

/** Returns the next message, which must be of this type. */
export const expect = <T extends Message['type']>(
  wire: Wire,
  type: T,
  timeoutMs: number,
): Promise<Extract<Message, { type: T }>> => expectMessage(wire, message, timeoutMs, [type], whose)
