/** The receives of a lane: each is posted for a slot of its own, and again when the slot is free, some of them together. */
import { type QueuePair, type RecvWorkRequest, recvWr } from '../index.ts'

/** Receives are posted so many at once; as long as they are not, their slots are not free. */
const together = 4

export class Slots {
  readonly #qp: QueuePair
  readonly #at: number
  readonly #bytes: number
  readonly #receives: RecvWorkRequest[]
  /** Receives to post again, linked. */
  #freed: RecvWorkRequest | null = null
  #freedCount = 0

  /** `count` slots of `bytes` bytes, from `at` in the buffer and from `addr` in the device's memory on. */
  constructor(
    qp: QueuePair,
    { count, bytes, at, addr, lkey }: { count: number; bytes: number; at: number; addr: number; lkey: number },
  ) {
    this.#qp = qp
    this.#at = at
    this.#bytes = bytes
    this.#receives = Array.from({ length: count }, (_, slot) =>
      recvWr({ wrId: slot, sgList: [{ addr: addr + slot * bytes, length: bytes, lkey }] }),
    )
  }

  /** Where a slot is, an offset in the buffer. */
  placeOf(slot: number): number {
    return this.#at + slot * this.#bytes
  }

  /** All of them, for the first time. */
  post(): void {
    for (const receive of this.#receives) this.#qp.postRecv(receive)
  }

  /** A slot is free. */
  free(slot: number): void {
    const receive = this.#receives[slot]!
    receive.next = this.#freed
    this.#freed = receive
    if (++this.#freedCount < together) return
    this.#qp.postRecv(receive)
    this.#freed = null
    this.#freedCount = 0
  }
}
