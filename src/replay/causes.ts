/**
 * The cause of each message: the last event before it that its end could observe on the same connection.
 *
 *     received    a message of the other end had arrived (a WRITE without immediate is seen in memory)
 *     completed   a message of its own was completed
 *     sent        none of these since its own previous message: both are of one batch
 *
 * The time between the event and the message is what the program needed.
 */
import { isSeen, type TraceMessage, type Wait } from './message.ts'

/** Last event that an end of a connection has observed. */
interface Known {
  id: number
  wait: Wait
  atNs: number
}

/** Finds the cause of each message; they are in the order in which they begin. */
export function link(messages: readonly TraceMessage[]): void {
  // At the same time, arrivals and completions come before what they cause.
  const events: { atNs: number; message: TraceMessage; wait: Wait }[] = []
  for (const message of messages) {
    if (isSeen(message)) events.push({ atNs: message.endNs, message, wait: 'received' })
    if (message.doneNs !== null) events.push({ atNs: message.doneNs, message, wait: 'completed' })
  }
  events.sort((a, b) => a.atNs - b.atNs)
  const ends = new Map<number, Known>()
  let next = 0
  for (const message of messages) {
    for (; next < events.length && events[next]!.atNs <= message.atNs; next++) {
      const { atNs, wait, message: cause } = events[next]!
      // An event at the time at which the cause itself begins cannot be known before it.
      if (cause.id >= message.id) break
      ends.set(endOf(cause, wait === 'received' ? 1 - cause.from : cause.from), { id: cause.id, wait, atNs })
    }
    const end = endOf(message, message.from)
    const known = ends.get(end)
    if (known !== undefined) {
      message.after = known.id
      message.wait = known.wait
      message.thinkNs = message.atNs - known.atNs
    }
    ends.set(end, { id: message.id, wait: 'sent', atNs: message.atNs })
  }
}

function endOf({ connection }: TraceMessage, from: number): number {
  return 2 * connection + from
}
