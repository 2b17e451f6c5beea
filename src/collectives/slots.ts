/** Receives of a lane: each is posted for a slot of its own, and posted again when the slot is free, several of them together. */
import { type QueuePair, type RecvWorkRequest, recvWr } from '../index.ts'

/** Number of receives that are posted together; until they are posted, their slots are not free. */
const together = 4

export class Slots {
  readonly #qp: QueuePair
  readonly #at: number
  readonly #bytes: number
  readonly #receives: RecvWorkRequest[]
  /** List of the receives to post again. */
  #freed: RecvWorkRequest | null = null
  #freedCount = 0

  /** Creates `count` slots of `bytes` bytes, from `at` in the buffer and from `addr` in the device's memory on. */
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

  /** Returns the location of a slot, an offset in the buffer. */
  placeOf(slot: number): number {
    return this.#at + slot * this.#bytes
  }

  /** Posts all receives for the first time. */
  post(): void {
    for (const receive of this.#receives) this.#qp.postRecv(receive)
  }

  /** Frees a slot. */
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
