/** What the threads of the latency benchmark tell each other about one set, and what both ends do alike. */
import { nameOf, type QpEndpoint, WcStatus, wcStatusText } from '../../index.ts'
import { type LatencySettings, maxBurst } from './settings.ts'

export interface SetRequest {
  settings: LatencySettings
  /** Messages before the burst, not recorded. */
  warmup: number
  seed: number
  /** Nanoseconds from the start of a phase after which its threads give up. */
  timeoutNs: number
}

/** What `prepare` answers. */
export interface Prepared {
  endpoint: QpEndpoint
  /** Where messages lie: address and key of the region, bytes from one message to the next. */
  addr: number
  rkey: number
  strideBytes: number
  hugePages: boolean
  /** Why the thread could not be pinned as asked. */
  pinFailure: string | null
}

export interface SenderReport {
  posted: number
  /** By message number, nanoseconds of `nowNs`: when it was posted, and t_comp (NaN: none). */
  times: Float64Array
  comps: Float64Array
  error?: string
}

export interface ReceiverReport {
  received: number
  /** In the order of arrival: message number, tv_nsec in its payload, t_recv in nanoseconds of `nowNs`. */
  numbers: Int32Array
  stamps: Int32Array
  times: Float64Array
  error?: string
}

/** Immediates of warm-up messages have this bit. It keeps them small integers in V8. */
export const warmupBit = 0x40000000

/** Slots for messages: each message of a phase has one to itself, so that no later stamp overwrites it. */
export function slotsOf({ settings, warmup }: SetRequest): number {
  return Math.max(settings.burst, warmup, 1)
}

export const recordWords: number = Math.ceil(maxBurst / 1024) * 1024

export const qkey = 0x1ee7
export function completionError(status: number): string {
  return `completion with ${nameOf(WcStatus, status)}: ${wcStatusText(status)}`
}

/** Words of a buffer; verbs give bytes. */
export function wordsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)
}
