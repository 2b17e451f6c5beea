/** Work completions, as polling returns them. */
import { checkInteger } from './arguments.ts'
import { type WcOpcode, type WcStatus, wcStatusText } from './constants.ts'

/** `ibv_wc`. Polling fills and reuses these. Keys, immediates and QP numbers are unsigned. */
export class WorkCompletion {
  /** `wrId` of the work request. */
  wrId = 0
  /** Unless it is `Success`, only `wrId`, `qpNum` and `vendorErr` are valid besides. */
  status: WcStatus = 0
  /** Operation that completed; valid with status `Success`. */
  opcode: WcOpcode = 0
  /** Bytes received, or read by READ and atomics; with a GRH its 40 bytes count. */
  byteLen = 0
  /** Immediate of 32 bits, with `WcFlag.WithImm`. */
  immData = 0
  /** Key that the peer invalidated, with `WcFlag.WithInv`. */
  invalidatedRkey = 0
  /** The number of the QP of this end. */
  qpNum = 0
  /** UD: number of the QP that sent the message. */
  srcQp = 0
  /** Bits of `WcFlag`. */
  wcFlags = 0
  /** Index of the P_Key of the message; of GSI. */
  pkeyIndex = 0
  /** UD: LID of the sender. */
  slid = 0
  /** UD: service level of the message. */
  sl = 0
  /** UD: low bits of the destination LID. */
  dlidPathBits = 0
  /** Always 0. */
  vendorErr = 0

  /** Description of `status`. */
  get statusText(): string {
    return wcStatusText(this.status)
  }
}

/** `count` work completions for `poll`. */
export function workCompletions(count: number): WorkCompletion[] {
  checkInteger('workCompletions', 'count', count, 0, 65536)
  return Array.from({ length: count }, () => new WorkCompletion())
}
