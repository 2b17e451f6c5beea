/**
 * Short messages between two ranks whose memory is shared: the sender writes each of them by RDMA WRITE into a box, and the receiver
 * polls the box instead of a completion queue. That moves one cache line instead of four.
 *
 *     words   … data │ length │ immediate │ SENDs before it │ sequence      a box: 64 bytes, filled from its end
 *
 * The sequence is written last (see `copyOrdered` of the device), so a box that shows it is complete. A lane also sends messages by
 * SEND; the count of SENDs keeps the order between boxes and SENDs. A receiver that is about to sleep changes a word (the sleep word) that
 * the sender reads after each box; the sender then sends a message that generates an event, once for each change. It also does so if the
 * box is not visible yet: another thread executes the request, perhaps after the receiver has polled. If all boxes are late, a SEND alone
 * costs less.
 */
import { Opcode, type QueuePair, SendFlag, type SendWorkRequest, sendWr } from '../index.ts'
import type { Memory } from './memory.ts'

const boxes = 16
const boxBytes = 64
const boxWords: number = boxBytes / 4
const headBytes = 16
/** Number of consecutive late boxes that cannot be a coincidence. */
const mostLate = 16
/** Maximum bytes of a message in a box. */
export const mostBoxed: number = boxBytes - headBytes

/** Location of the boxes of a rank for one peer: offset in the buffer, device address, key. */
export interface BoxPlace {
  at: number
  addr: number
  rkey: number
}

export class Boxes {
  /** Bytes of the boxes, the sleep word, and a box to write from. */
  static readonly bytes: number = (boxes + 2) * boxBytes
  readonly #u8: Uint8Array
  readonly #i32: Int32Array
  /** Word index of the first box, of the sleep word, and of the box to write from. */
  readonly #first: number
  readonly #sleep: number
  readonly #out: number
  readonly #outAddr: number
  readonly #wr: SendWorkRequest
  /** Sequence of the last box that was read, and of the last that was written. */
  #read: number
  #written: number
  /** Peer's boxes: address and word index of the first, and the value of the peer's sleep word at its last wake-up. */
  #peerAddr = 0
  #peerFirst = 0
  #woken = 0
  /** Number of consecutive late boxes up to the one with the sequence `#lastLate`. */
  #late = 0
  #lastLate = 0

  /** Takes `Boxes.bytes` bytes from `at` on, which are zeros. `counted`: number of boxes that have already passed in each direction. */
  constructor({ u8, i32 }: Memory, { at, addr }: BoxPlace, lkey: number, counted: number) {
    this.#read = this.#written = counted
    this.#u8 = u8
    this.#i32 = i32
    this.#first = at / 4
    this.#sleep = this.#first + boxes * boxWords
    this.#out = this.#sleep + boxWords
    this.#outAddr = addr + (boxes + 1) * boxBytes
    this.#wr = sendWr({
      ...{ opcode: Opcode.Write, sendFlags: SendFlag.Inline, remoteAddr: 0, rkey: 0 },
      sgList: [{ addr: 0, length: 0, lkey }],
    })
  }

  connect({ at, addr, rkey }: BoxPlace): void {
    this.#peerAddr = addr
    this.#peerFirst = at / 4
    this.#wr.rkey = rkey
  }

  /**
   * Writes `length` bytes (at most `mostBoxed`) at `from`, an offset in the buffer, to the peer's next box. The caller knows that
   * it is free. Returns true if the peer may be asleep and has to be woken.
   */
  post(qp: QueuePair, signaled: boolean, immediate: number, sends: number, from: number, length: number): boolean {
    const i32 = this.#i32
    const end = this.#out + boxWords
    const box = this.#written & (boxes - 1)
    const dataBytes = (length + 7) & ~7
    const data = end - (headBytes + dataBytes) / 4
    // Whole words beyond the end of the data are within the region, and the receiver does not read them.
    this.#fill(data, from, length)
    i32[end - 4] = length
    i32[end - 3] = immediate
    i32[end - 2] = sends
    this.#written = (this.#written + 1) | 0
    i32[end - 1] = this.#written
    const wr = this.#wr
    const sge = wr.sgList[0]!
    sge.length = headBytes + dataBytes
    sge.addr = this.#outAddr + boxBytes - sge.length
    wr.remoteAddr = this.#peerAddr + (box + 1) * boxBytes - sge.length
    wr.sendFlags = signaled ? SendFlag.Inline | SendFlag.Signaled : SendFlag.Inline
    qp.postSend(wr)
    // A full barrier between the write of the box and the read of the peer's word.
    Atomics.exchange(i32, this.#out, 0)
    if (i32[this.#peerFirst + (box + 1) * boxWords - 1] !== this.#written) {
      this.#late = this.#lastLate === ((this.#written - 1) | 0) ? this.#late + 1 : 1
      this.#lastLate = this.#written
      return true
    }
    const sleep = i32[this.#peerFirst + boxes * boxWords]!
    if (sleep === this.#woken) return false
    this.#woken = sleep
    return true
  }

  /** True if another thread executes the requests. */
  get late(): boolean {
    return this.#late >= mostLate
  }

  #fill(data: number, from: number, length: number): void {
    const i32 = this.#i32
    if ((from & 3) === 0 && (length & 3) === 0) for (let i = 0; i < length / 4; i++) i32[data + i] = i32[from / 4 + i]!
    else this.#u8.copyWithin(data * 4, from, from + length)
  }

  /** Returns true if a box has arrived that is the next message after `sends` SENDs. */
  has(sends: number): boolean {
    const i32 = this.#i32
    const end = this.#first + ((this.#read & (boxes - 1)) + 1) * boxWords
    return i32[end - 1] === ((this.#read + 1) | 0) && i32[end - 2] === sends
  }

  /** True if a box has arrived, whatever its position in the order of messages. */
  get came(): boolean {
    return this.#i32[this.#end - 1] === ((this.#read + 1) | 0)
  }

  /** Bytes of the box that has arrived. */
  get length(): number {
    return this.#i32[this.#end - 4]!
  }

  get immediate(): number {
    return this.#i32[this.#end - 3]!
  }

  /** Location of the box's data, in bytes from the beginning of the buffer. */
  get at(): number {
    return (this.#end - 4) * 4 - ((this.length + 7) & ~7)
  }

  get #end(): number {
    return this.#first + ((this.#read & (boxes - 1)) + 1) * boxWords
  }

  /** Advances to the next box. */
  next(): void {
    this.#read = (this.#read + 1) | 0
  }

  /** Announces that the receiver sleeps unless a message arrived before this call. */
  sleeps(): void {
    Atomics.add(this.#i32, this.#sleep, 1)
  }
}
