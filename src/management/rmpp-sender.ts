/**
 * Sends one message of several packets (InfiniBand Architecture Specification, volume 1, 13.6; the rules of Linux' mad_rmpp.c). No more
 * segments are in flight than the receiver's window allows, which is one at first. When no ACK comes in time, the first segment that was not
 * acknowledged is sent again, as often as retries are left.
 *
 *     sending ── ACK of the last segment ──► done
 *        └────── no ACK in time, ABORT, STOP, or an ACK that breaks the rules ──► failed
 */
import {
  Mad,
  madDataOffset,
  put32,
  Rmpp,
  RmppFlag,
  RmppStatus,
  RmppType,
  rmppCodec,
  rmppSegmentBytes,
  rmppVersion,
} from '../wire/index.ts'

/** Maximum time until an ACK, and the time for messages that give none. */
const ackTimeoutNs = 2e9

export interface RmppTimes {
  /** Time until an ACK, nanoseconds; 0: two seconds, which is also the maximum. */
  readonly timeoutNs: number
  readonly retries: number
}

/** Bytes of a message whose class begins its data at `offset`, as they arrive: headers once, then the data. */
export function rmppMessageBytes(segments: number, lastPayloadBytes: number, offset: number): number {
  const padding = rmppSegmentBytes - lastPayloadBytes
  return offset + segments * (Mad.totalLength - offset) - (padding >= 0 && padding <= rmppSegmentBytes ? padding : 0)
}

export class RmppSender {
  readonly segments: number
  readonly #message: Uint8Array
  readonly #offset: number
  readonly #timeoutNs: number
  readonly #retries: number
  readonly #packet = new Uint8Array(Mad.totalLength)
  #retriesLeft: number
  /** The last segment that was sent, that may be sent, and that was acknowledged. */
  #sent = 0
  #window = 1
  #acked = 0
  #deadline = Number.POSITIVE_INFINITY
  #failed = false

  /** `message`: headers of the MAD, of RMPP and of the class, which all segments repeat, and all data. */
  constructor(message: Uint8Array, { timeoutNs, retries }: RmppTimes) {
    this.#message = message
    this.#offset = madDataOffset(message[Mad.mgmtClass]!)
    this.segments = Math.max(1, Math.ceil((message.length - this.#offset) / (Mad.totalLength - this.#offset)))
    this.#timeoutNs = timeoutNs > 0 ? Math.min(timeoutNs, ackTimeoutNs) : ackTimeoutNs
    this.#retries = retries
    this.#retriesLeft = retries
  }

  get done(): boolean {
    return this.#acked === this.segments
  }

  get failed(): boolean {
    return this.#failed
  }

  /** Latest time at which `next` is to be called. */
  get deadlineNs(): number {
    return this.#deadline
  }

  /** The next packet to send, good until the next call; null while there is none. May find that it has failed. */
  next(nowNs: number): Uint8Array | null {
    if (this.done || this.#failed) return null
    if (nowNs >= this.#deadline) {
      this.#deadline = Number.POSITIVE_INFINITY
      if (this.#retriesLeft-- <= 0) {
        this.#failed = true
        return null
      }
      this.#sent = this.#acked
    }
    if (this.#sent >= Math.min(this.#window, this.segments)) return null
    this.#deadline = nowNs + this.#timeoutNs
    return this.#segment(++this.#sent)
  }

  #segment(number: number): Uint8Array {
    const packet = this.#packet
    const data = Mad.totalLength - this.#offset
    const from = this.#offset + (number - 1) * data
    const part = this.#message.subarray(from, from + data)
    packet.set(this.#message.subarray(0, this.#offset))
    packet.fill(0, this.#offset)
    packet.set(part, this.#offset)
    const isLast = number === this.segments
    packet[Rmpp.version] = rmppVersion
    packet[Rmpp.type] = RmppType.data
    const flags = RmppFlag.active | (number === 1 ? RmppFlag.first : 0) | (isLast ? RmppFlag.last : 0)
    packet[Rmpp.flags] = (packet[Rmpp.flags]! & 0xf8) | flags
    packet[Rmpp.status] = RmppStatus.normal
    put32(packet, Rmpp.segment, number)
    const padding = this.segments * data - (this.#message.length - this.#offset)
    let payload = 0
    if (number === 1) payload = this.segments * rmppSegmentBytes - padding
    else if (isLast) payload = rmppSegmentBytes - padding
    put32(packet, Rmpp.payloadLength, payload)
    return packet
  }

  /**
   * Handles an ACK, STOP or ABORT for the message; returns the status of the ABORT with which its sender is to be answered, null if it is
   * valid.
   */
  answered(mad: Uint8Array, nowNs: number): number | null {
    const { type, status, segment, payloadLength: window } = rmppCodec.read(mad, 0)
    if (this.done || this.#failed) return null
    if (type !== RmppType.ack) return this.#fail(null)
    if (status !== RmppStatus.normal) return this.#fail(RmppStatus.badStatus)
    if (window < segment) return this.#fail(RmppStatus.windowTooSmall)
    if (segment > this.segments || segment > this.#window) return this.#fail(RmppStatus.segmentTooBig)
    // An old one.
    if (window < this.#window || segment < this.#acked) return null
    if (segment > this.#acked) {
      this.#acked = segment
      this.#sent = Math.max(this.#sent, segment)
      this.#retriesLeft = this.#retries
      this.#deadline = this.done ? Number.POSITIVE_INFINITY : nowNs + this.#timeoutNs
    }
    this.#window = window
    return null
  }

  #fail(status: number | null): number | null {
    this.#failed = true
    this.#deadline = Number.POSITIVE_INFINITY
    return status
  }
}
