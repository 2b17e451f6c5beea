/**
 * Buffers that one end maps for the other. The target iomap, which the peer writes, maps offsets to ranges of the peer's memory; `write`
 * writes there directly, without notice to the peer's program.
 */
import { Opcode, ScatterGather, SendFlag, SendWorkRequest } from '../../verbs/provider/index.ts'
import type { ConnData } from './conn-data.ts'
import { iomapEntryBytes, message, Op, sgeAddr, sgeBytes, writeAddr } from './messages.ts'
import type { SendSide } from './send-side.ts'

// Shared by all connections of this thread: they post requests one after the other.
const entrySge = new ScatterGather(0, iomapEntryBytes, 0)
const entry = new SendWorkRequest(0, Opcode.WriteWithImm, SendFlag.Signaled, [entrySge])
const dataSge = new ScatterGather(0, 0, 0)
const data = new SendWorkRequest(0, Opcode.Write, SendFlag.Signaled, [dataSge])

export class Mapped {
  private readonly out: SendSide
  private peerKey = 0
  private peerIomap = 0
  private peerIomapSize = 0
  private foreign = true

  constructor(out: SendSide) {
    this.out = out
  }

  start(theirs: ConnData, foreign: boolean): void {
    this.foreign = foreign
    this.peerIomap = theirs.targetSgl.addr + theirs.targetSgl.length * sgeBytes
    this.peerIomapSize = Math.max(0, theirs.iomapSize)
    this.peerKey = theirs.targetSgl.key
  }

  /** Number of entries of the peer's target iomap. */
  get peerEntries(): number {
    return this.peerIomapSize
  }

  /**
   * Writes entry `index` of the peer's target iomap, which maps `offset` to the `length` bytes at `addr` with `rkey`; a length of 0 removes
   * the mapping. Returns false if something is missing for now.
   */
  sendEntry(index: number, offset: number, addr: number, rkey: number, length: number): boolean {
    const { out } = this
    if (!out.connected || !out.controlFree || !out.hasCredits) return false
    const slot = out.outgoingSlot()
    writeAddr(out.memory.i32, (slot - out.memory.base) >> 2, offset, out.swap)
    out.writeEntry(slot + 8, addr, rkey, length)
    entrySge.addr = slot
    entrySge.lkey = out.memory.local.lkey
    entry.rkey = this.peerKey
    entry.immData = message(Op.Iomap, index)
    entry.remoteAddr = this.peerIomap + index * iomapEntryBytes
    // librdmacm counts these among the messages that it sends, but not among those that it receives. A peer without extensions that counts
    // both ways is a Verbena end.
    out.postCounted(entry, !this.foreign)
    return true
  }

  /** Returns the word of the entry that contains `offset`; −1 if there is none. */
  private find(offset: number): number {
    const { targetIomap, base, iomapSize, i32 } = this.out.memory
    for (let i = 0; i < iomapSize; i++) {
      const w = (targetIomap - base + i * iomapEntryBytes) >> 2
      const start = sgeAddr(i32, w)
      if (offset >= start && offset < start + (i32[w + 5]! >>> 0)) return w
    }
    return -1
  }

  /** Writes into the peer's memory at `offset` of its mappings; returns the number of bytes taken, −1 if nothing is mapped there. */
  write(buffer: Uint8Array, from: number, length: number, offset: number): number {
    const { out } = this
    const { i32 } = out.memory
    dataSge.lkey = out.memory.local.lkey
    let taken = 0
    while (taken < length) {
      const w = this.find(offset + taken)
      if (w < 0) return taken > 0 ? taken : -1
      const within = offset + taken - sgeAddr(i32, w)
      data.remoteAddr = sgeAddr(i32, w + 2) + within
      data.rkey = i32[w + 4]! >>> 0
      if (!Number.isSafeInteger(data.remoteAddr)) return taken > 0 ? taken : -1
      const left = (i32[w + 5]! >>> 0) - within
      const n = out.postWrite(data, buffer, from + taken, Math.min(length - taken, left))
      if (n === 0) break
      taken += n
    }
    return taken
  }
}
