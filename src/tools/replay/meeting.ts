/**
 * Messages between the two ends of a replay: JSON lines over TCP.
 *
 *     client                      server
 *     hello {plan}          →
 *     messages [[…], …]     →                 as often as needed, each answered by
 *                           ←     next
 *     endpoints {end}       ↔     endpoints
 *     ready                 ↔     ready       receives are posted
 *     start                 →
 *     done                  →                 no more messages will arrive from it
 *                           ←     performed [[…], …]   as often as needed, each answered by next
 *                           ←     report
 *
 * `error` may come at any time and ends the run.
 */
import { z } from 'zod'
import { mostMessages } from '../../replay/index.ts'
import { EndError, expectMessage, gidFromHex, gidHex, sayMessage, type Wire } from '../kit/index.ts'
import type { EndReport, Performed } from './end.ts'
import type { Endpoint } from './lane.ts'
import { type Mode, type PackedMessage, type Plan, type PlannedConnection, pack, unpack } from './plan.ts'

const protocolVersion = 1
/** Number of messages in a line. */
const lineMessages = 500
const answerMs = 30_000

interface Packed {
  qpn: number
  psn: number
  lid: number
  /** GID, 32 hexadecimal digits. */
  gid: string
  addr: number
  rkey: number
}

/** Fields id, dueNs, atNs, doneNs; times are negative before the end itself had started. */
type PackedTimes = [number, number, number, number | null]

type Message =
  | {
      type: 'hello'
      protocol: number
      device: string
      mode: Mode
      /** Speed; null: Infinity, at which messages do not wait for their times. */
      speed: number | null
      depth: number
      stallMs: number
      connections: PlannedConnection[]
      /** Number of messages that follow. */
      messages: number
    }
  | { type: 'messages'; messages: PackedMessage[] }
  | { type: 'next' | 'ready' | 'start' | 'done' }
  | { type: 'endpoints'; device: string; endpoints: Packed[] }
  | { type: 'performed'; performed: PackedTimes[] }
  | { type: 'report'; report: Omit<EndReport, 'performed'> }
  | { type: 'error'; message: string }

const natural = z.number().int().nonnegative()
const endpoint = z.object({
  qpn: natural.max(0xffffff),
  psn: natural.max(0xffffff),
  lid: natural.max(0xffff),
  gid: z.string().regex(/^[0-9a-f]{32}$/),
  addr: natural,
  rkey: natural.max(0xffffffff),
})
const connection = z.object({ type: z.enum(['RC', 'UC', 'UD']), mtu: natural.max(4096) })
const hello = z.object({
  type: z.literal('hello'),
  protocol: z.number(),
  device: z.string().max(256),
  mode: z.enum(['closed', 'open']),
  speed: z.number().positive().nullable(),
  depth: natural.min(1).max(8192),
  stallMs: z.number().positive(),
  connections: z.array(connection).max(4096),
  messages: natural,
})
const numbers = z.array(z.array(z.number())).max(lineMessages)
const times = z.array(z.tuple([natural, z.number(), z.number(), z.number().nullable()])).max(lineMessages)
const report = z.object({
  received: z.object({ messages: natural, bytes: natural }),
  seenWrites: natural,
  wrongSizes: natural,
  lost: natural,
  impatient: natural,
  failed: natural,
  failure: z.string().max(1000).nullable(),
})
const message: z.ZodType<Message> = z.discriminatedUnion('type', [
  hello,
  z.object({ type: z.literal('messages'), messages: numbers }),
  z.object({ type: z.enum(['next', 'ready', 'start', 'done']) }),
  z.object({ type: z.literal('endpoints'), device: z.string().max(256), endpoints: z.array(endpoint).max(4096) }),
  z.object({ type: z.literal('performed'), performed: times }),
  z.object({ type: z.literal('report'), report }),
  z.object({ type: z.literal('error'), message: z.string().max(2000) }),
])

export const say = (wire: Wire, said: Message): Promise<void> => sayMessage(wire, said)

/** Returns the next message, which must be of one of these types; throws an error of the peer. */
export const receive = <T extends Message['type']>(
  wire: Wire,
  timeoutMs: number,
  ...types: readonly T[]
): Promise<Extract<Message, { type: T }>> => expectMessage(wire, message, timeoutMs, types, '`verbena replay`')

export async function sendPlan(wire: Wire, device: string, plan: Plan): Promise<void> {
  const { mode, speed, depth, stallMs, connections, messages } = plan
  const settings = { mode, speed: Number.isFinite(speed) ? speed : null, depth, stallMs, connections }
  await say(wire, { type: 'hello', protocol: protocolVersion, device, ...settings, messages: messages.length })
  for (let i = 0; i < messages.length; i += lineMessages) {
    await say(wire, { type: 'messages', messages: messages.slice(i, i + lineMessages).map(pack) })
    await receive(wire, answerMs, 'next')
  }
}

export async function receivePlan(wire: Wire): Promise<{ plan: Plan; device: string }> {
  const {
    protocol,
    device,
    mode,
    speed,
    depth,
    stallMs,
    connections,
    messages: count,
  } = await receive(wire, answerMs, 'hello')
  if (protocol !== protocolVersion)
    throw new EndError(
      'PEER_TEXT',
      `the ends speak different versions of the protocol: ${protocol} and ${protocolVersion}`,
    )
  if (count > mostMessages) throw new EndError('PEER_TEXT', `the client has ${count} messages: at most ${mostMessages}`)
  const plan: Plan = { mode, speed: speed ?? Number.POSITIVE_INFINITY, depth, stallMs, connections, messages: [] }
  while (plan.messages.length < count) {
    const { messages } = await receive(wire, answerMs, 'messages')
    for (const packed of messages) {
      const unpacked = unpack(packed, connections.length)
      if (unpacked === undefined) throw new EndError('PEER_TEXT', 'the client sent a message that is none')
      plan.messages.push(unpacked)
    }
    await say(wire, { type: 'next' })
  }
  return { plan, device }
}

export async function sendEndpoints(wire: Wire, device: string, endpoints: readonly Endpoint[]): Promise<void> {
  await say(wire, {
    type: 'endpoints',
    device,
    endpoints: endpoints.map(({ gid, ...rest }) => ({ ...rest, gid: gidHex(gid) })),
  })
}

/** Receives `count` endpoints. */
export async function receiveEndpoints(wire: Wire, count: number): Promise<{ device: string; endpoints: Endpoint[] }> {
  const { device, endpoints } = await receive(wire, answerMs, 'endpoints')
  if (endpoints.length !== count)
    throw new EndError('PEER_TEXT', `the peer has ${endpoints.length} queue pairs where ${count} were due`)
  return { device, endpoints: endpoints.map(({ gid, ...rest }) => ({ ...rest, gid: gidFromHex(gid)! })) }
}

export async function sendReport(wire: Wire, { performed, ...rest }: EndReport): Promise<void> {
  for (let i = 0; i < performed.length; i += lineMessages) {
    const part = performed.slice(i, i + lineMessages)
    await say(wire, {
      type: 'performed',
      performed: part.map(({ id, dueNs, atNs, doneNs }) => [id, dueNs, atNs, doneNs]),
    })
    await receive(wire, answerMs, 'next')
  }
  await say(wire, { type: 'report', report: rest })
}

/** Receives the report, when the other end has finished its part. */
export async function receiveReport(wire: Wire): Promise<EndReport> {
  const performed: Performed[] = []
  for (;;) {
    const received = await receive(wire, Number.POSITIVE_INFINITY, 'performed', 'report')
    if (received.type === 'report') return { performed, ...received.report }
    for (const [id, dueNs, atNs, doneNs] of received.performed) performed.push({ id, dueNs, atNs, doneNs })
    if (performed.length > mostMessages) throw new EndError('PEER_TEXT', 'the server reports without end')
    await say(wire, { type: 'next' })
  }
}
