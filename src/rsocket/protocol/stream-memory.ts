/**
 * The memory of one stream: one range of the device's memory with two registrations, so that the peer can write only
 * where it must.
 *
 *     remote   receive buffer, target SGL, target iomap        the peer writes here
 *     local    outgoing entries of SGLs, send buffer            this end sends from here
 *
 * What an idle connection uses, the entries, is next to each other in the middle: one page of memory.
 */
import type { Context, MemoryRegion, ProtectionDomain, QueuePair } from '../../verbs/index.ts'
import { Access, type QpType } from '../../verbs/provider/index.ts'
import { iomapEntryBytes, sgeBytes } from './messages.ts'
import { controlReserve, type StreamOptions, targetEntries } from './options.ts'

const line = 64
const align = (n: number): number => Math.ceil(n / line) * line

/** Slots for outgoing entries: one for each outstanding control message, each in a cache line of its own. */
export const outgoingSlots: number = 2 * controlReserve

export type StreamQueuePair = QueuePair<typeof QpType.RC>

export class StreamMemory {
  readonly context: Context
  readonly remote: MemoryRegion
  readonly local: MemoryRegion
  /** Device addresses. */
  readonly targetSgl: number
  readonly targetIomap: number
  readonly receiveBuffer: number
  /** All of the receive buffer, and one half of what a peer of version 1 gets of it. */
  readonly receiveBytes: number
  readonly halfBytes: number
  readonly outgoing: number
  readonly iomapSize: number
  /** The first address, and the bytes from there as bytes and words. */
  readonly base: number
  readonly u8: Uint8Array
  readonly i32: Int32Array
  /** Copies between device addresses, four times as fast as between views of shared memory. */
  readonly copy: (to: number, from: number, length: number) => void
  readonly sendBuffer: number
  readonly sendBytes: number
  /** The same, counted from `base`. */
  readonly receiveOffset: number
  readonly sendOffset: number

  constructor(pd: ProtectionDomain, options: StreamOptions) {
    this.context = pd.context
    const sglBytes = targetEntries * sgeBytes
    this.halfBytes = align(options.receiveBufferBytes / 2)
    this.receiveBytes = 2 * this.halfBytes * options.receiveBufferTimes
    this.sendBytes = align(options.sendBufferBytes)
    const remoteBytes = align(sglBytes + options.iomapSize * iomapEntryBytes) + this.receiveBytes
    const localBytes = outgoingSlots * line + this.sendBytes
    this.iomapSize = options.iomapSize
    this.u8 = this.context.alloc(remoteBytes + localBytes)
    this.i32 = new Int32Array(this.u8.buffer, this.u8.byteOffset, this.u8.byteLength >> 2)
    this.copy = this.context.device.host.segment.copy
    const base = this.u8.byteOffset
    this.base = base
    this.receiveBuffer = base
    this.targetSgl = base + this.receiveBytes
    this.targetIomap = this.targetSgl + sglBytes
    this.outgoing = base + remoteBytes
    this.sendBuffer = this.outgoing + outgoingSlots * line
    this.receiveOffset = this.receiveBuffer - base
    this.sendOffset = this.sendBuffer - base
    try {
      this.remote = pd.regMr(this.u8.subarray(0, remoteBytes), Access.LocalWrite | Access.RemoteWrite)
      this.local = pd.regMr(this.u8.subarray(remoteBytes), 0)
    } catch (error) {
      this.context.free(this.u8)
      throw error
    }
  }

  /** After the queue pair is gone. It is used for something else when nobody sends from it, or writes to it, any more. */
  close(): void {
    this.local.discard()
    this.remote.discard(this.u8)
  }
}
