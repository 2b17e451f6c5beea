/**
 * Reassembles messages of several packets, of all senders (InfiniBand Architecture Specification, volume 1, 13.6; the rules of Linux'
 * mad_rmpp.c). Segments are kept if they follow those that were received; an ACK reports the last segment up to which all have come, and
 * the number of further ones that may be sent.
 *
 * The state that a peer can make this keep is limited: messages that are being received, their bytes, and the time that they may rest. A
 * message is remembered for a while after its end, so that the last ACK, if it was lost, is repeated.
 */
import {
  Mad,
  MadMethod,
  madDataOffset,
  put32,
  Rmpp,
  RmppFlag,
  RmppStatus,
  RmppType,
  rmppCodec,
  rmppSegmentBytes,
  rmppVersion,
  u32,
} from '../wire/index.ts'
import { rmppMessageBytes } from './rmpp-sender.ts'

/** Segments that may be in flight. */
const windowSegments = 64
/** After so long without a segment a message is given up, and after its end forgotten. */
const restNs = 40e9
const rememberNs = 10e9

export interface RmppReceiverLimits {
  /** Messages that are being received or remembered. */
  readonly messages: number
  /** Maximum bytes of all segments that are kept. */
  readonly bytes: number
}

/** Results of a packet. */
export interface Received {
  /** To be sent back: an ACK or ABORT. */
  readonly reply: Uint8Array | null
  /** A whole message. */
  readonly message: Uint8Array | null
}

const nothing: Received = { reply: null, message: null }

interface Incoming<Source> {
  readonly source: Source
  /** Segments by number, those after a gap too. */
  segments: Map<number, Uint8Array>
  /** Number of the segment up to which all have come. */
  upTo: number
  /** The number of the last one; 0 while it is not known. */
  last: number
  window: number
  isDone: boolean
  deadline: number
  /** One of its packets, for an ABORT. */
  header: Uint8Array
}

/** `Source`: where packets come from, and where an ABORT goes. */
export class RmppReceiver<Source> {
  readonly #limits: RmppReceiverLimits
  readonly #incoming = new Map<string, Incoming<Source>>()
  #bytes = 0

  constructor(limits: RmppReceiverLimits) {
    this.#limits = limits
  }

  get messages(): number {
    return this.#incoming.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** A DATA packet of a sender, whom `name` names alone. The packet is the caller's again afterwards. */
  data(mad: Uint8Array, name: string, source: Source, nowNs: number): Received {
    const { version, status, segment, flags } = rmppCodec.read(mad, 0)
    // IBA 13.6.2.1: the status of an ABORT reports what is wrong with a packet of RMPP.
    if (version !== rmppVersion) return abort(mad, RmppStatus.unsupportedVersion)
    if (status !== RmppStatus.normal) return abort(mad, RmppStatus.badStatus)
    const isFirst = (flags & RmppFlag.first) !== 0
    if (isFirst !== (segment === 1)) return abort(mad, RmppStatus.inconsistentFirst)
    const key = `${name} ${keyOf(mad)}`
    const known = this.#incoming.get(key)
    if (known?.isDone) return { reply: ack(mad, known), message: null }
    if (known === undefined) {
      if (!isFirst) return nothing
      return this.#begin(mad, key, source, (flags & RmppFlag.last) !== 0, nowNs)
    }
    return this.#go(mad, key, known, segment, (flags & RmppFlag.last) !== 0, nowNs)
  }

  #begin(mad: Uint8Array, key: string, source: Source, isLast: boolean, nowNs: number): Received {
    if (this.#incoming.size >= this.#limits.messages && !this.#forgetOldest())
      return abort(mad, RmppStatus.resourcesExhausted)
    const incoming: Incoming<Source> = {
      source,
      segments: new Map(),
      upTo: 0,
      last: 0,
      window: 1,
      isDone: false,
      deadline: 0,
      header: mad.slice(0, Rmpp.end),
    }
    this.#incoming.set(key, incoming)
    return this.#go(mad, key, incoming, 1, isLast, nowNs)
  }

  /** Forgets the first message that is there no longer than to repeat an ACK. */
  #forgetOldest(): boolean {
    for (const [key, { isDone }] of this.#incoming)
      if (isDone) {
        this.#incoming.delete(key)
        return true
      }
    return false
  }

  #go(mad: Uint8Array, key: string, to: Incoming<Source>, segment: number, isLast: boolean, nowNs: number): Received {
    const isBehind = to.last !== 0 && segment > to.last
    if (isBehind || (isLast && to.last !== 0 && segment !== to.last)) return this.#giveUp(mad, key, to)
    if (segment > to.window) return nothing
    // One that was there: its ACK was lost.
    if (segment <= to.upTo) return { reply: ack(mad, to), message: null }
    if (to.segments.has(segment)) return nothing
    if (this.#bytes + Mad.totalLength > this.#limits.bytes) {
      this.#drop(key, to)
      return abort(mad, RmppStatus.resourcesExhausted)
    }
    to.segments.set(segment, mad.slice(0, Mad.totalLength))
    this.#bytes += Mad.totalLength
    to.deadline = nowNs + restNs
    if (isLast) {
      for (const number of to.segments.keys()) if (number > segment) return this.#giveUp(mad, key, to)
      to.last = segment
    }
    const before = to.upTo
    while (to.segments.has(to.upTo + 1)) to.upTo++
    if (to.last !== 0 && to.upTo === to.last) return this.#complete(mad, to, nowNs)
    if (to.upTo === before) return nothing
    // The sender waits for a window, or has all that this one allows in flight.
    if (to.upTo < to.window) return nothing
    to.window += windowSegments
    return { reply: ack(mad, to), message: null }
  }

  #giveUp(mad: Uint8Array, key: string, to: Incoming<Source>): Received {
    this.#drop(key, to)
    return abort(mad, RmppStatus.inconsistentLength)
  }

  #drop(key: string, { segments }: Incoming<Source>): void {
    this.#bytes -= segments.size * Mad.totalLength
    this.#incoming.delete(key)
  }

  #complete(mad: Uint8Array, to: Incoming<Source>, nowNs: number): Received {
    const { segments, last } = to
    const offset = madDataOffset(mad[Mad.mgmtClass]!)
    const lastOne = segments.get(last)!
    const { payloadLength } = rmppCodec.read(lastOne, 0)
    // The payload of a message of one packet is that of all.
    const message = new Uint8Array(offset + last * (Mad.totalLength - offset))
    message.set(segments.get(1)!.subarray(0, offset))
    for (let number = 1; number <= last; number++)
      message.set(segments.get(number)!.subarray(offset), offset + (number - 1) * (Mad.totalLength - offset))
    const length = Math.max(offset, rmppMessageBytes(last, Math.min(payloadLength, rmppSegmentBytes), offset))
    this.#bytes -= segments.size * Mad.totalLength
    to.segments = new Map()
    to.isDone = true
    to.deadline = nowNs + rememberNs
    return { reply: ack(mad, to), message: message.subarray(0, length) }
  }

  /** STOP or ABORT of a sender: its message does not come. */
  ended(mad: Uint8Array, name: string): void {
    const key = `${name} ${keyOf(mad)}`
    const incoming = this.#incoming.get(key)
    if (incoming !== undefined && !incoming.isDone) this.#drop(key, incoming)
  }

  /** Time at which `expire` is next needed. */
  get deadlineNs(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { deadline } of this.#incoming.values()) first = Math.min(first, deadline)
    return first
  }

  /** Gives up what has rested too long: an ABORT for each, and to whom. */
  expire(nowNs: number): { source: Source; reply: Uint8Array }[] {
    const aborts: { source: Source; reply: Uint8Array }[] = []
    for (const [key, incoming] of this.#incoming) {
      if (incoming.deadline > nowNs) continue
      this.#drop(key, incoming)
      if (incoming.isDone) continue
      const mad = new Uint8Array(Mad.totalLength)
      mad.set(incoming.header)
      const { reply } = abort(mad, RmppStatus.totalTimeTooLong)
      aborts.push({ source: incoming.source, reply: reply! })
    }
    return aborts
  }
}

/** Returns the key that packets of one message share: class, version, method and transaction. */
function keyOf(mad: Uint8Array): string {
  const high = u32(mad, Mad.transactionId)
  const low = u32(mad, Mad.transactionId + 4)
  return `${mad[Mad.mgmtClass]} ${mad[Mad.classVersion]} ${mad[Mad.method]} ${high} ${low}`
}

/** The packet back to the sender of `mad`: its headers, and RMPP's of its own. */
function replyTo(mad: Uint8Array, type: number, status: number, segment: number, window: number): Uint8Array {
  const reply = new Uint8Array(Mad.totalLength)
  reply.set(mad.subarray(0, madDataOffset(mad[Mad.mgmtClass]!)))
  reply[Mad.method] = mad[Mad.method]! ^ MadMethod.response
  reply[Rmpp.version] = rmppVersion
  reply[Rmpp.type] = type
  reply[Rmpp.flags] = RmppFlag.active
  reply[Rmpp.status] = status
  put32(reply, Rmpp.segment, segment)
  put32(reply, Rmpp.payloadLength, window)
  return reply
}

function ack(mad: Uint8Array, { upTo, window }: Pick<Incoming<unknown>, 'upTo' | 'window'>): Uint8Array {
  return replyTo(mad, RmppType.ack, RmppStatus.normal, upTo, window)
}

/** Tells the sender of a packet that its message is given up. */
export function abort(mad: Uint8Array, status: number): Received {
  return { reply: replyTo(mad, RmppType.abort, status, 0, 0), message: null }
}
