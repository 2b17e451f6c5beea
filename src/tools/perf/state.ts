/** State of the data loops of an end: one object of one shape, whatever is measured. */
import {
  type CompletionChannel,
  type CompletionQueue,
  type QueuePair,
  type RecvWorkRequest,
  type SendWorkRequest,
  type WorkCompletion,
  wcStatusText,
} from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
import type { Connection, Verb } from './settings.ts'

/** Words that the main thread writes while the loops run; each in a cache line of its own. */
export const Control = { stop: 0, peerSent: 16, peerMessages: 32, words: 48 } as const
export const Stop = { run: 0, interrupted: 1, peerGone: 2, peerFailed: 3 } as const

export function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Control.words * 4))
}

export function resetControl(control: Int32Array): void {
  for (let word = 0; word < Control.words; word += 16) Atomics.store(control, word, 0)
}

/** Stores that the other end has sent all its messages, and their number. */
export function storePeerSent(control: Int32Array, messages: number): void {
  new Float64Array(control.buffer)[Control.peerMessages / 2] = messages
  Atomics.store(control, Control.peerSent, 1)
}

export interface DataEnd {
  client: boolean
  verb: Verb
  connection: Connection
  control: Int32Array
  /** View of the same words as doubles; `peerMessages` is one of these. */
  doubles: Float64Array
  qps: QueuePair[]
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  channel: CompletionChannel | null
  wcs: WorkCompletion[]
  /** Prepared requests of each QP, linked in lists of `postList`. */
  lists: SendWorkRequest[][]
  /** Request of each QP that is posted alone. */
  singles: SendWorkRequest[]
  /** Linked receives of each QP that are posted together. */
  receives: RecvWorkRequest[]
  receiveBatch: number
  /** Number of receives of each QP used since the last batch was posted. */
  used: Int32Array
  /** Number of the next message of a latency test. */
  nextSeq: number
  /** Last message known to be complete, and number of messages that may follow it; latency tests with SEND and WRITE. */
  completedSeq: number
  sendRoom: number
  txDepth: number
  signalEvery: number
  /** Flags of every request. */
  flags: number
  /** Memory that peers write to, and memory that this end sends from. */
  inbox: Uint8Array
  outbox: Uint8Array
  /** Bytes of a message; with write_lat, the last byte of slot i is at `i · strideBytes + size − 1`. */
  size: number
  slots: number
  strideBytes: number
  outAddr: number
  remoteAddr: number
  /** True to yield the core while waiting: the other end may need it. */
  polite: boolean
  stallNs: number
  /** Number of polls that found nothing since the last arrival, and the time of the first of them. */
  spins: number
  quietSinceNs: number
  error: string
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
const politeAfterNs = 1_000_000
/** Maximum milliseconds of one wait for an event. */
const eventSliceMs = 20

/** Resets the wait after an arrival. */
export function busy(e: DataEnd): void {
  e.spins = 0
  e.quietSinceNs = 0
}

/**
 * Waits a little if need be, after a poll that found nothing. Returns false when the loop has to end; `error` is then set, unless this is
 * the regular end.
 */
export function idle(e: DataEnd): boolean {
  if (e.channel !== null) {
    const cq = e.channel.getEvent(eventSliceMs)
    if (cq !== null) {
      cq.ackEvents(1)
      cq.reqNotify()
      return true
    }
  } else if ((++e.spins & 255) !== 0) return true
  return look(e)
}

/** Performs the rare part of waiting. */
function look(e: DataEnd): boolean {
  const stop = Atomics.load(e.control, Control.stop)
  if (stop !== Stop.run) {
    e.error ||=
      stop === Stop.interrupted ? 'interrupted' : stop === Stop.peerGone ? 'the peer is gone' : 'the peer failed'
    return false
  }
  const now = nowNs()
  if (e.quietSinceNs === 0) e.quietSinceNs = now
  const quietNs = now - e.quietSinceNs
  if (e.stallNs > 0 && quietNs > e.stallNs) {
    e.error ||= `nothing came for ${(e.stallNs / 1e9).toFixed(0)} s (--timeout)`
    return false
  }
  if (e.polite && e.channel === null && quietNs > politeAfterNs) Atomics.wait(sleeper, 0, 0, 0.02)
  return true
}

/** Returns the nanoseconds without an arrival, at the resolution at which `idle` reads the clock. */
export function quietNs(e: DataEnd): number {
  return e.quietSinceNs === 0 ? 0 : nowNs() - e.quietSinceNs
}

/** True if the peer has sent all its messages. */
export function peerSent(e: DataEnd): boolean {
  return Atomics.load(e.control, Control.peerSent) === 1
}

export function failed(e: DataEnd, what: string, wc: WorkCompletion): void {
  e.error ||= `a ${what} ended with status ${wc.status}: ${wcStatusText(wc.status)}`
}

/** Counts a used receive, and posts the receives of a QP again when a batch of them was used. */
export function received(e: DataEnd, q: number): void {
  const used = e.used[q]! + 1
  if (used < e.receiveBatch) e.used[q] = used
  else {
    e.used[q] = 0
    e.qps[q]!.postRecv(e.receives[q]!)
  }
}
