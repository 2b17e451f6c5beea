/** Messages between the threads of the latency benchmark about one set, and code that both ends share. */
import { nameOf, type QpEndpoint, WcStatus, wcStatusText } from '../../index.ts'
import { type LatencySettings, maxBurst } from './settings.ts'

export interface SetRequest {
  settings: LatencySettings
  /** Number of messages before the burst, not recorded. */
  warmup: number
  seed: number
  /** Nanoseconds from the start of a phase after which its threads give up. */
  timeoutNs: number
}

/** Result of `prepare`. */
export interface Prepared {
  endpoint: QpEndpoint
  /** Location of the messages: address and key of the region, bytes from one message to the next. */
  addr: number
  rkey: number
  strideBytes: number
  hugePages: boolean
  /** Reason why the thread could not be pinned as requested. */
  pinFailure: string | null
}

export interface SenderReport {
  posted: number
  /** Times in nanoseconds of `nowNs`, by message number: when it was posted, and t_comp (NaN: none). */
  times: Float64Array
  comps: Float64Array
  error?: string
}

export interface ReceiverReport {
  received: number
  /** Message numbers, tv_nsec of the payloads and t_recv in nanoseconds of `nowNs`; in the order of arrival. */
  numbers: Int32Array
  stamps: Int32Array
  times: Float64Array
  error?: string
}

/** Bit that the immediates of warm-up messages have. It keeps them small integers in V8. */
export const warmupBit = 0x40000000

/** Returns the number of slots: each message of a phase has one to itself, so that no later stamp overwrites it. */
export function slotsOf({ settings, warmup }: SetRequest): number {
  return Math.max(settings.burst, warmup, 1)
}

export const recordWords: number = Math.ceil(maxBurst / 1024) * 1024

export const qkey = 0x1ee7
export function completionError(status: number): string {
  return `completion with ${nameOf(WcStatus, status)}: ${wcStatusText(status)}`
}

/** Returns the words of a buffer; verbs give bytes. */
export function wordsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)
}
