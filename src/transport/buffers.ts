/**
 * Registered memory as the transport reads and writes it, a packet at a time: keys are looked up through a small cache that is void when
 * the epoch of the segment changes, lists of scatter/gather elements are entered at any offset.
 *
 * A location is a byte of the segment, or negative: then it is in another process (`inProcess`), whose number is in `#pid` until the next
 * look-up.
 */
import { Access, type Host, layout, SendFlag, WcStatus } from '../verbs/provider/index.ts'
import { LateWrites } from './late-writes.ts'
import { maxReceiveSges } from './layout.ts'
import type { ProcessMemory } from './process-memory.ts'

const { Key, keyKind, Qp, Rwqe, Sg, Wqe } = layout

const known = 64

/**
 * Maximum number of packets that one QP sends before it is another QP's turn; and maximum bytes that are read ahead of them: the room for
 * them.
 */
export const turnPackets = 16
const stageBytes = 65_536

export class Buffers {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #copy: (dst: number, src: number, length: number) => void
  readonly #epochWord: number
  readonly #keys: Int32Array = new Int32Array(known)
  readonly #epochs: Int32Array = new Int32Array(known)
  readonly #pds: Int32Array = new Int32Array(known)
  readonly #rights: Int32Array = new Int32Array(known)
  readonly #lows: Float64Array = new Float64Array(known)
  readonly #highs: Float64Array = new Float64Array(known)
  readonly #deltas: Float64Array = new Float64Array(known)

  /** Memory of other processes; null if this thread does not reach any. */
  processes: ProcessMemory | null = null
  /** Process of the location that was found last, if that is negative. */
  #pid = 0
  /** Process whose bytes are read ahead, 0 for none, and the locations at which they begin and end. */
  #aheadPid = 0
  #aheadFrom = 0
  #aheadTo = 0
  readonly #late: LateWrites
  /** True if the last failure here was due to the end of the process that had the memory. */
  isGone = false
  /** Receiver for which `#walk` copies: as for `deliver`. */
  #receiver = 0
  #more = false

  constructor(host: Host) {
    this.#host = host
    this.#i32 = host.i32
    this.#f64 = host.f64
    this.#copy = host.segment.copy
    this.#epochWord = host.segment.epochWord
    this.#late = new LateWrites(this.#copy)
  }

  /** Begins a burst: this thread has acquired the adapter's lock. */
  enter(): void {
    this.processes?.beginBurst()
  }

  /** Ends a burst before the lock is released: writes to memory of processes are complete then. */
  leave(): void {
    const { processes } = this
    if (processes === null) return
    this.#late.flush(processes)
    processes.endBurst()
  }

  /** Begins a message of a receiver, as for `deliver`. */
  beginReceiver(receiver: number): void {
    this.#late.begin(this.processes, receiver)
  }

  /** Returns the location of a range, as `Host.resolve`, or −1 if key, domain, rights or bounds forbid it. */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number {
    const slot = (key >>> 8) & (known - 1)
    const epoch = this.#i32[this.#epochWord]!
    if (
      this.#keys[slot] === key &&
      this.#epochs[slot] === epoch &&
      this.#pds[slot] === pd &&
      (this.#rights[slot]! & access) === access &&
      addr >= this.#lows[slot]! &&
      addr + length <= this.#highs[slot]!
    )
      return addr + this.#deltas[slot]!
    const at = this.#host.resolve(key, pd, addr, length, access, qp)
    if (at < 0) return this.#resolveAway(key, pd, addr, length, access, qp)
    const entry = this.#host.findKey(key)
    if (entry < 0 || this.#i32[entry + Key.kind] !== keyKind.region) return at
    const low = this.#f64[(entry + Key.iova) >> 1]!
    this.#keys[slot] = key
    this.#epochs[slot] = epoch
    this.#pds[slot] = pd
    this.#rights[slot] = this.#i32[entry + Key.access]!
    this.#lows[slot] = low
    this.#highs[slot] = low + this.#f64[(entry + Key.length) >> 1]!
    this.#deltas[slot] = at - addr
    return at
  }

  /** Returns the bytes of a request's list; −1 if an element does not permit the access. Nothing is copied. */
  gather(pd: number, wqe: number, access: number): number {
    const i32 = this.#i32
    if ((i32[wqe + Wqe.flags]! & SendFlag.Inline) !== 0) return i32[wqe + Wqe.inlineLength]!
    const sges = i32[wqe + Wqe.sges]!
    let total = 0
    for (let i = 0, sge = wqe + Wqe.data; i < sges; i++, sge += Sg.words) {
      const length = i32[sge + Sg.length]!
      if (length === 0) continue
      if (length < 0 || this.resolve(i32[sge + Sg.lkey]!, pd, this.#f64[sge >> 1]!, length, access, -1) === -1)
        return -1
      total += length
    }
    return total
  }

  #resolveAway(key: number, pd: number, addr: number, length: number, access: number, qp: number): number {
    const { processes } = this
    this.isGone = false
    if (processes === null) return -1
    const at = processes.resolve(key, pd, addr, length, access, qp)
    this.#pid = processes.pid
    this.isGone = processes.isGone
    return at
  }

  /** Does the same for a copy; returns `could`: whether it was made. */
  #made(could: boolean): boolean {
    if (!could) this.isGone = this.processes!.isGone
    return could
  }

  /**
   * Copies from the location that `resolve` found last to the segment; false if nothing is there any more. The next calls will read the
   * following ones of `most` bytes soon.
   */
  fetch(to: number, at: number, length: number, most: number): boolean {
    if (at >= 0) {
      this.#copy(to, at, length)
      return true
    }
    const processes = this.processes!
    const isAhead = this.#aheadPid === this.#pid && at >= this.#aheadFrom && at + length <= this.#aheadTo
    if (!isAhead && !this.#fetchAhead(at, length, most))
      return this.#made(processes.move(to, 0, at, this.#pid, length) === 0)
    this.#copy(to, processes.stage + (at - this.#aheadFrom), length)
    return true
  }

  /** Begins another turn: bytes that were read ahead may have changed. */
  beginTurn(): void {
    this.#aheadPid = 0
  }

  /** Reads as much as one turn sends; false if that is no more than `length`, or not there. */
  #fetchAhead(at: number, length: number, most: number): boolean {
    const processes = this.processes!
    const bytes = Math.min(most, turnPackets * length, stageBytes)
    this.#aheadPid = 0
    if (bytes <= length || processes.move(processes.stage, 0, at, this.#pid, bytes) !== 0) return false
    this.#aheadPid = this.#pid
    this.#aheadFrom = at
    this.#aheadTo = at + bytes
    return true
  }

  /**
   * Copies from the segment to the location that `resolve` found last, its last bytes last; false if nothing is there any more. For
   * memory of a process that may become known only with the next packet, if `more` of the message follows for `receiver`: a QP, or ~QP
   * for responses.
   */
  deliver(receiver: number, at: number, from: number, length: number, more: boolean): boolean {
    if (at >= 0) {
      this.#host.segment.copyOrdered(at, from, length)
      return true
    }
    return this.#made(this.#late.write(this.processes!, receiver, at, this.#pid, from, length, more))
  }

  /** Executes an atomic at a location in another process that `resolve` found last; false if nothing is there any more. `found` follows. */
  atomicAway(at: number, swaps: boolean, compareAdd: bigint, swap: bigint): boolean {
    return this.#made(this.processes!.atomic(at, this.#pid, swaps, compareAdd, swap) === 0)
  }

  /** Value that the last atomic found. */
  get found(): bigint {
    return this.#host.segment.b64[this.processes!.word / 8]!
  }

  /** Copies bytes [offset, offset + length) of a request's data to `to`; false if they may not be read any more. */
  read(pd: number, wqe: number, offset: number, length: number, to: number): boolean {
    if (length === 0) return true
    const i32 = this.#i32
    if ((i32[wqe + Wqe.flags]! & SendFlag.Inline) !== 0) {
      this.#copy(to, (wqe + Wqe.data) * 4 + offset, length)
      return true
    }
    return this.#walk(wqe + Wqe.data, i32[wqe + Wqe.sges]!, pd, offset, length, to, 0) === WcStatus.Success
  }

  /** Copies `length` bytes at `from` into the request's own buffers, which a READ or atomic of `q` fills; `more` as for `deliver`. */
  bringBack(q: number, wqe: number, offset: number, length: number, from: number, more: boolean): boolean {
    if (length === 0) return true
    this.#receiver = ~q
    this.#more = more
    const pd = this.#i32[q + Qp.pd]!
    const sges = this.#i32[wqe + Wqe.sges]!
    return this.#walk(wqe + Wqe.data, sges, pd, offset, length, from, Access.LocalWrite) === WcStatus.Success
  }

  /**
   * Fills a receive of `q` from `offset` on; LOC_LEN_ERR if it is too short, LOC_PROT_ERR if its memory may not be written. `more` as for
   * `deliver`.
   */
  scatter(q: number, pd: number, receive: number, offset: number, length: number, from: number, more: boolean): number {
    if (length === 0) return WcStatus.Success
    this.#receiver = q
    this.#more = more
    this.isGone = false
    const sges = Math.min(this.#i32[receive + Rwqe.sges]!, maxReceiveSges)
    const status = this.#walk(receive + Rwqe.data, sges, pd, offset, length, from, Access.LocalWrite)
    // If both apply, the length error is reported.
    return status === WcStatus.LocProtErr && offset + length > this.roomOf(receive) ? WcStatus.LocLenErr : status
  }

  /** Copies `other` into the list with LocalWrite, else the list to `other`. */
  #walk(
    first: number,
    count: number,
    pd: number,
    offset: number,
    length: number,
    other: number,
    access: number,
  ): number {
    const i32 = this.#i32
    let sge = first
    for (let i = 0; i < count; i++, sge += Sg.words) {
      const size = i32[sge + Sg.length]!
      if (size < 0) return WcStatus.LocProtErr
      if (offset >= size) {
        offset -= size
        continue
      }
      const piece = Math.min(size - offset, length)
      const at = this.resolve(i32[sge + Sg.lkey]!, pd, this.#f64[sge >> 1]! + offset, piece, access, -1)
      if (at < 0) {
        if (at === -1 || !this.#moveAway(at, other, piece, access, size - offset)) return WcStatus.LocProtErr
      } else if (access !== 0) this.#copy(at, other, piece)
      else this.#copy(other, at, piece)
      length -= piece
      if (length === 0) return WcStatus.Success
      other += piece
      offset = 0
    }
    return WcStatus.LocLenErr
  }

  /** Makes the same copy where the location is in another process. */
  #moveAway(at: number, other: number, length: number, access: number, most: number): boolean {
    if (access === 0) return this.fetch(other, at, length, most)
    return this.#made(this.#late.write(this.processes!, this.#receiver, at, this.#pid, other, length, this.#more))
  }

  /** Returns the bytes that a receive holds. */
  roomOf(receive: number): number {
    const i32 = this.#i32
    const sges = Math.min(i32[receive + Rwqe.sges]!, maxReceiveSges)
    let room = 0
    for (let i = 0, sge = receive + Rwqe.data; i < sges; i++, sge += Sg.words)
      room += Math.max(0, i32[sge + Sg.length]!)
    return room
  }
}
