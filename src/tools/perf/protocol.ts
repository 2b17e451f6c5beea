/**
 * What the two ends of a test say to each other: JSON lines over TCP.
 *
 *     client                      server
 *     hello {settings}     →
 *                          ←      welcome, or error
 *     and for each size, both ways at once:
 *     prepared {endpoints} ↔ prepared
 *     ready                ↔ ready           receives are posted
 *     sent {messages}      ↔ sent            when an end has sent all it will
 *     done {report}        ↔ done
 *
 * `error` may come at any time and ends the run.
 */
import { z } from 'zod'
import { type ErrorMessage, expectMessage, hearMessage, sayMessage, type Wire } from '../kit/index.ts'
import { atomicTypes, connections, type PerfSettings, perfTests } from './settings.ts'

export const protocolVersion = 2

/** Latencies in nanoseconds. */
export interface LatencyStatistics {
  count: number
  /** Messages that were never answered. */
  lost: number
  min: number
  max: number
  mean: number
  stdev: number
  percentiles: Record<string, number>
  /** Percentiles are of all samples; else of a histogram, at most 1/1024 too high. */
  exact: boolean
  what: 'half round trip' | 'round trip' | 'completion'
  /** Where a latency begins: when the message was posted, or when it was due. */
  from: 'post' | 'intended'
  /** Messages. */
  perSecond: number
}

/** One direction of a bandwidth test as one end saw it. */
export interface Flow {
  messages: number
  seconds: number
  messagesPerSecond: number
  peakPerSecond: number
}

/** What one end measured: what it sent (by completions), what it received (by arrivals), latencies. */
export interface EndReport {
  sent: Flow | null
  received: Flow | null
  latency: LatencyStatistics | null
  error?: string | undefined
  /** Every latency in nanoseconds, in the order of the messages, where that is asked for. Not sent to the peer. */
  samples?: Float64Array
}

export interface Endpoint {
  qpn: number
  psn: number
  lid: number
  /** 32 hexadecimal digits. */
  gid: string
}

export interface Prepared {
  endpoints: Endpoint[]
  addr: number
  rkey: number
  /** Of a server, with `-R`: where its RDMA CM listens. */
  cm?: { address: string; port: number } | undefined
}

interface Introduction {
  protocol: number
  verbena: string
  /** Bytes. */
  activeMtu: number
  /** Name of its device; ends of older versions do not say it. */
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
/** For messages of errors. */
const whose = '`verbena perf` of a version that this one knows'

export const say = (wire: Wire, said: Message): Promise<void> => sayMessage(wire, said)

/** The next message; throws what it is when it is none, or an error of the peer. */
export const hear = (wire: Wire, timeoutMs: number, what: string): Promise<Exclude<Message, ErrorMessage>> =>
  hearMessage(wire, message, timeoutMs, what, whose)

/** The next message, which must be of this type. */
export const expect = <T extends Message['type']>(
  wire: Wire,
  type: T,
  timeoutMs: number,
): Promise<Extract<Message, { type: T }>> => expectMessage(wire, message, timeoutMs, [type], whose)
