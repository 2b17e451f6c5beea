/**
 * Short messages between two ranks whose memory is shared: the sender writes each of them by RDMA WRITE into a box, and the receiver
 * looks at the box instead of polling a completion queue. That moves one line of the cache instead of four.
 *
 *     words   … data │ length │ immediate │ SENDs before it │ sequence      a box: 64 bytes, filled from its end
 *
 * The sequence is written last (as `copyOrdered` of the device says), so a box that shows it is whole. A lane also sends messages by
 * SEND; their count keeps the order between both. A receiver that is about to sleep changes a word that the sender reads after each
 * box; the sender then sends it a message that makes an event, once for each change. It also does where the box does not show itself
 * yet: another thread executes the request, perhaps after the receiver has looked. Where all are late, a SEND alone costs less.
 */
import { Opcode, type QueuePair, SendFlag, type SendWorkRequest, sendWr } from '../index.ts'
import type { Memory } from './memory.ts'

const boxes = 16
const boxBytes = 64
const boxWords: number = boxBytes / 4
const headBytes = 16
/** So many boxes that come late one after the other are no accident. */
const mostLate = 16
/** Longest message. */
export const mostBoxed: number = boxBytes - headBytes

/** Where the boxes of a rank for one peer are: offset in the buffer, device address, key. */
export interface BoxPlace {
  at: number
  addr: number
  rkey: number
}

export class Boxes {
  /** The boxes, the word that tells of sleep, and a box to write from. */
  static readonly bytes: number = (boxes + 2) * boxBytes
  readonly #u8: Uint8Array
  readonly #i32: Int32Array
  /** Words: of the first box, of the word that tells of sleep, of the box to write from. */
  readonly #first: number
  readonly #sleep: number
  readonly #out: number
  readonly #outAddr: number
  readonly #wr: SendWorkRequest
  /** Sequence of the next box to be read, and to be written. */
  #read: number
  #written: number
  /** The peer's: address and word of its first box, and what its word that tells of sleep was when it was last woken. */
  #peerAddr = 0
  #peerFirst = 0
  #woken = 0
  /** How many boxes have come late up to the one with this sequence. */
  #late = 0
  #lastLate = 0

  /** Takes `Boxes.bytes` bytes from `at` on, which are zeros. `counted`: boxes that have passed either way. */
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
   * it is free. True if the peer may sleep and has to be woken.
   */
  post(qp: QueuePair, signaled: boolean, immediate: number, sends: number, from: number, length: number): boolean {
    const i32 = this.#i32
    const end = this.#out + boxWords
    const box = this.#written & (boxes - 1)
    const dataBytes = (length + 7) & ~7
    const data = end - (headBytes + dataBytes) / 4
    // Whole words beyond the end of the data are within the region, and the receiver does not look at them.
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
    // A full barrier between the box and the look at the peer's word.
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

  /** Whether another thread executes the requests. */
  get late(): boolean {
    return this.#late >= mostLate
  }

  #fill(data: number, from: number, length: number): void {
    const i32 = this.#i32
    if ((from & 3) === 0 && (length & 3) === 0) for (let i = 0; i < length / 4; i++) i32[data + i] = i32[from / 4 + i]!
    else this.#u8.copyWithin(data * 4, from, from + length)
  }

  /** Whether a box has come, as the next message after `sends` SENDs. */
  has(sends: number): boolean {
    const i32 = this.#i32
    const end = this.#first + ((this.#read & (boxes - 1)) + 1) * boxWords
    return i32[end - 1] === ((this.#read + 1) | 0) && i32[end - 2] === sends
  }

  /** Whether a box has come, whatever its turn is. */
  get came(): boolean {
    return this.#i32[this.#end - 1] === ((this.#read + 1) | 0)
  }

  /** Of the box that has come. */
  get length(): number {
    return this.#i32[this.#end - 4]!
  }

  get immediate(): number {
    return this.#i32[this.#end - 3]!
  }

  /** Where its data are, bytes from the beginning of the buffer. */
  get at(): number {
    return (this.#end - 4) * 4 - ((this.length + 7) & ~7)
  }

  get #end(): number {
    return this.#first + ((this.#read & (boxes - 1)) + 1) * boxWords
  }

  /** The next one. */
  next(): void {
    this.#read = (this.#read + 1) | 0
  }

  /** The receiver will sleep unless something has come before this. */
  sleeps(): void {
    Atomics.add(this.#i32, this.#sleep, 1)
  }
}
