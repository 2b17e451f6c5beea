/** What polling gives. */
import { checkInteger } from './arguments.ts'
import { type WcOpcode, type WcStatus, wcStatusText } from './constants.ts'

/** `ibv_wc`. Polling fills and reuses these. Keys, immediates and QP numbers are unsigned. */
export class WorkCompletion {
  wrId = 0
  status: WcStatus = 0
  opcode: WcOpcode = 0
  /** Bytes received, or read by READ and atomics; with a GRH its 40 bytes count. */
  byteLen = 0
  immData = 0
  invalidatedRkey = 0
  qpNum = 0
  /** UD: number of the QP that sent the message. */
  srcQp = 0
  /** Bits of `WcFlag`. */
  wcFlags = 0
  pkeyIndex = 0
  slid = 0
  sl = 0
  dlidPathBits = 0
  vendorErr = 0

  get statusText(): string {
    return wcStatusText(this.status)
  }
}

/** `count` work completions for `poll`. */
export function workCompletions(count: number): WorkCompletion[] {
  checkInteger('workCompletions', 'count', count, 0, 65536)
  return Array.from({ length: count }, () => new WorkCompletion())
}
