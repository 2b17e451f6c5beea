/** The plan that two ends perform together: connections and messages of a capture, as they travel between the ends. */
import {
  type MessageOp,
  messageOps,
  type TraceMessage,
  type TraceMessages,
  type Wait,
  waits,
} from '../../replay/index.ts'

export type Mode = 'closed' | 'open'

export interface PlannedConnection {
  type: 'RC' | 'UC' | 'UD'
  /** Bytes of the path MTU of the capture; 0 if it is not known. */
  mtu: number
}

/** Message with the fields of TraceMessage that a plan needs. */
export type PlannedMessage = Pick<
  TraceMessage,
  'id' | 'connection' | 'from' | 'op' | 'bytes' | 'atNs' | 'after' | 'wait' | 'thinkNs'
>

export interface Plan {
  mode: Mode
  /** Divisor of times; Infinity: messages wait only for their causes. */
  speed: number
  /** Maximum number of outstanding requests of a queue pair. */
  depth: number
  /** Milliseconds without progress after which an end no longer waits. */
  stallMs: number
  connections: PlannedConnection[]
  messages: PlannedMessage[]
}

/** Counts of messages that no queue pair here performs. */
export interface Omitted {
  /** Number of FLUSHes: they flush the persistent memory of another host. */
  flush: number
  /** Number of datagrams longer than the MTU of the port. */
  tooLong: number
}

/** Returns the messages of a capture that can be performed; a message that waited for an omitted one waits for its own time. */
export function planOf(
  { connections, messages }: TraceMessages,
  settings: Pick<Plan, 'mode' | 'speed' | 'depth' | 'stallMs'>,
  longestDatagram: number,
): { plan: Plan; omitted: Omitted } {
  const omitted: Omitted = { flush: 0, tooLong: 0 }
  const gone = new Set<number>()
  const planned: PlannedMessage[] = []
  for (const message of messages) {
    const { id, op, bytes, connection, after } = message
    if (op === 'flush') omitted.flush++
    else if (connections[connection]!.type === 'UD' && bytes > longestDatagram) omitted.tooLong++
    else {
      const orphan = after !== null && gone.has(after)
      planned.push(orphan ? { ...message, after: null, wait: null } : message)
      continue
    }
    gone.add(id)
  }
  return {
    plan: { ...settings, connections: connections.map(({ type, mtu }) => ({ type, mtu })), messages: planned },
    omitted,
  }
}

/** Returns the connections `chosen` of a plan, renumbered; messages keep their numbers. */
export function partOf(plan: Plan, chosen: readonly number[]): Plan {
  const place = new Map(chosen.map((connection, i) => [connection, i]))
  return {
    ...plan,
    connections: chosen.map((connection) => plan.connections[connection]!),
    messages: plan.messages
      .filter(({ connection }) => place.has(connection))
      .map((message) => ({ ...message, connection: place.get(message.connection)! })),
  }
}

/** Fields id, connection, from, op, bytes, atNs, after, wait, thinkNs; −1 for null. */
export type PackedMessage = number[]

export function pack({ id, connection, from, op, bytes, atNs, after, wait, thinkNs }: PlannedMessage): PackedMessage {
  const cause = [after ?? -1, wait === null ? -1 : waits.indexOf(wait)]
  return [id, connection, from, messageOps.indexOf(op), bytes, atNs, ...cause, thinkNs]
}

/** Unpacks a message; undefined if it is not valid in a plan with so many connections. */
export function unpack(packed: readonly number[], connections: number): PlannedMessage | undefined {
  const [id = -1, connection = -1, from = -1, op = -1, bytes = -1, atNs = -1, after = -1, wait = -1, thinkNs = -1] =
    packed
  if (id < 0 || connection < 0 || connection >= connections || (from !== 0 && from !== 1)) return undefined
  const known: MessageOp | undefined = messageOps[op]
  if (known === undefined || bytes < 0 || atNs < 0 || thinkNs < 0) return undefined
  const cause: Wait | null = waits[wait] ?? null
  return { id, connection, from, op: known, bytes, atNs, after: cause === null ? null : after, wait: cause, thinkNs }
}
