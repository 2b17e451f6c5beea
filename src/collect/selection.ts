/** Selection of the packets of a capture, and of the part of each that is kept, between any source and the files. */
import { randomBytes } from 'node:crypto'
import { CapturedPacket } from '../capture/index.ts'
import { type Anonymiser, Dissection, dissect, Kind, type TraceOptions } from '../trace/index.ts'
import { anonymiserOf, HostAnonymiser } from './anonymous-host.ts'

/** Traffic that is kept: RoCE (and native InfiniBand), one version of it, or all packets. */
export type Wanted = 'roce' | 'v1' | 'v2' | 'all'

export interface SelectionOptions extends TraceOptions {
  readonly wanted: Wanted
  /** Flag: headers are kept without payload; management datagrams are kept whole, since they describe the connections. */
  readonly headersOnly: boolean
  /** Key with which addresses and keys are mapped; payload is replaced by zeros. */
  readonly anonymiseKey?: Uint8Array
}

/** Counts of packets that were left out. */
export interface LeftOut {
  /** Packets of traffic that was not requested. */
  other: number
  /** Packets with addresses at positions where they cannot be mapped. */
  unmappable: number
}

const gsiQp = 1
/** Bytes kept of a packet that is not RDMA: enough for its headers. */
const otherHeaderBytes = 96
const longestPacket = 1 << 18

/** Returns 32 random bytes for `anonymiseKey`. */
export function randomKey(): Uint8Array {
  return randomBytes(32)
}

export class Selection {
  readonly leftOut: LeftOut = { other: 0, unmappable: 0 }
  readonly #options: SelectionOptions
  readonly #dissection: Dissection
  readonly #anonymiser: Anonymiser | undefined
  readonly #host: HostAnonymiser | undefined
  /** Copy of a changed packet, since the memory of the source must not be changed. */
  readonly #changed = new CapturedPacket()

  constructor(options: SelectionOptions) {
    this.#options = options
    this.#dissection = new Dissection(options)
    const key = options.anonymiseKey
    if (key !== undefined) {
      this.#anonymiser = anonymiserOf(key)
      this.#host = new HostAnonymiser(key)
    }
    this.#changed.bytes = new Uint8Array(longestPacket)
  }

  /** True if packets that the kernel's filter passes are kept unchanged. */
  get changesNothing(): boolean {
    return !this.#options.headersOnly && this.#anonymiser === undefined
  }

  /** Returns the name under which an interface is kept. */
  nameOf(name: string): string {
    return this.#host?.text(name) ?? name
  }

  /**
   * Returns the packet in the form in which it is kept, valid until the next one; undefined if it is left out. `chosen`: the kernel's
   * filter has passed it.
   */
  take(packet: CapturedPacket, chosen: boolean): CapturedPacket | undefined {
    const { wanted, headersOnly } = this.#options
    if (chosen && this.changesNothing) return packet
    const d = this.#dissection
    if (!chosen) {
      dissect(packet, d, false)
      if (!isWanted(wanted, d.kind)) {
        this.leftOut.other++
        return undefined
      }
      if (this.changesNothing) return packet
    }
    const kept = this.#copied(packet)
    // Offsets are those in the copy.
    dissect(kept, d, this.#anonymiser !== undefined)
    if (this.#anonymiser !== undefined && !this.#anonymiser.apply(kept, d)) {
      this.leftOut.unmappable++
      return undefined
    }
    if (headersOnly) kept.length = Math.min(kept.length, this.#headers(kept))
    return kept
  }

  /** Returns the number of bytes of the packet before its payload. */
  #headers({ offset, length }: CapturedPacket): number {
    const d = this.#dissection
    if (d.kind === Kind.Other) return otherHeaderBytes
    return d.complete && d.destQp !== gsiQp ? d.payload - offset : length
  }

  #copied(packet: CapturedPacket): CapturedPacket {
    const changed = this.#changed
    const { bytes, offset, length } = packet
    if (length > changed.bytes.length) changed.bytes = new Uint8Array(length)
    changed.bytes.set(bytes.subarray(offset, offset + length))
    changed.offset = 0
    changed.length = length
    changed.number = packet.number
    changed.originalLength = packet.originalLength
    changed.seconds = packet.seconds
    changed.nanoseconds = packet.nanoseconds
    changed.hasTime = packet.hasTime
    changed.linkType = packet.linkType
    changed.interfaceId = packet.interfaceId
    return changed
  }
}

function isWanted(wanted: Wanted, kind: number): boolean {
  if (wanted === 'all') return true
  if (wanted === 'roce') return kind !== Kind.Other
  return kind === (wanted === 'v1' ? Kind.RoceV1 : Kind.RoceV2)
}
