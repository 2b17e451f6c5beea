/**
 * Messages between a client and a server of `verbena traffic`: JSON lines over TCP.
 *
 *     client                         server
 *     hello {plan, address}     →
 *                               ←    welcome {mtu, address, end}, or error
 *     connect {end}             →                       with -R the RDMA CM connects the queue pairs now
 *                               ←    ready              requests may come
 *     bye                       →
 *                               ←    done {counts}
 *
 * `error` may come at any time and ends the session.
 */
import { z } from 'zod'
import { qpTypes, type TrafficQpType } from '../../traffic/index.ts'
import { type LinkEnd, type LinkPlan, mostChannels, mostClasses, type ServerCounts } from '../../traffic/run/index.ts'
import { type CmAddressOfServer, expectMessage, sayMessage, type Wire } from '../kit/index.ts'

export const protocolVersion = 2

/** Address of an end. */
export interface Address {
  device: string
  /** Bytes of the active MTU. */
  activeMtu: number
  lid: number
  /** GID, 32 hexadecimal digits. */
  gid: string
}

/** Addresses on which the server's RDMA CM listens, by type of queue pair. */
export type CmAddresses = { [type in TrafficQpType]?: CmAddressOfServer | undefined }

export type Message =
  | { type: 'hello'; protocol: number; verbena: string; address: Address; plan: LinkPlan; rdmaCm: boolean }
  | { type: 'welcome'; verbena: string; address: Address; mtu: number; end: LinkEnd; cm: CmAddresses }
  | { type: 'connect'; end: LinkEnd }
  | { type: 'ready' }
  | { type: 'bye' }
  | { type: 'done'; counts: ServerCounts }
  | { type: 'error'; message: string }

const natural = z.number().int().nonnegative()
const positive = z.number().int().positive()
const endpoint = z.object({ qpn: natural.max(0xffffff), psn: natural.max(0xffffff) })
const end = z.object({
  control: endpoint,
  channels: z.array(endpoint).min(1).max(mostChannels),
  addr: natural,
  rkey: natural.max(0xffffffff),
})
const address = z.object({
  device: z.string().max(256),
  activeMtu: positive.max(65536),
  lid: natural.max(0xffff),
  gid: z.string().regex(/^[0-9a-f]{32}$/),
})
const plan = z.object({
  classes: z
    .array(z.object({ type: z.enum(qpTypes), dscp: natural.max(63), serviceLevel: natural.max(15) }))
    .min(1)
    .max(mostClasses),
  qps: positive.max(1024),
  mtu: natural.max(4096),
  depth: positive.max(8192),
  timeout: natural.max(31),
  retries: natural.max(7),
  rnrRetries: natural.max(7),
  flow: z.enum(['reply', 'push']),
  marks: z.boolean(),
})
const cmAddress = z.object({ address: z.string().max(64), port: positive.max(65535) }).optional()
const cm = z.object({ RC: cmAddress, UC: cmAddress, UD: cmAddress })
const verbena = z.string().max(64)
const message: z.ZodType<Message> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), protocol: z.number(), verbena, address, plan, rdmaCm: z.boolean() }),
  z.object({ type: z.literal('welcome'), verbena, address, mtu: positive.max(4096), end, cm }),
  z.object({ type: z.literal('connect'), end }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('bye') }),
  z.object({
    type: z.literal('done'),
    counts: z.object({ requests: z.number(), bytes: z.number(), messages: z.number() }),
  }),
  z.object({ type: z.literal('error'), message: z.string().max(2000) }),
])

/** Name of the peer in error messages. */
const whose = '`verbena traffic` of a version that this one knows'

export const say = (wire: Wire, said: Message): Promise<void> => sayMessage(wire, said)

/** Returns the next message, which must be of this type; throws an error of the peer. */
export const expect = <T extends Message['type']>(
  wire: Wire,
  type: T,
  timeoutMs: number,
): Promise<Extract<Message, { type: T }>> => expectMessage(wire, message, timeoutMs, [type], whose)
