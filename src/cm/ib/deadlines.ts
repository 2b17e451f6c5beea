/** The deadlines of all connections: a binary heap in which each item knows its place, so that any can be moved. */

export interface Timed {
  /** Nanoseconds; meaningless while `place` is -1. */
  deadlineNs: number
  /** Index in the heap, -1 outside. Belongs to `Deadlines`. */
  place: number
}

export class Deadlines<T extends Timed> {
  readonly #heap: T[] = []

  /** Item that is due first; it stays. */
  get first(): T | undefined {
    return this.#heap[0]
  }

  get size(): number {
    return this.#heap.length
  }

  /** Puts the item in, or moves it. */
  set(item: T, deadlineNs: number): void {
    item.deadlineNs = deadlineNs
    if (item.place < 0) item.place = this.#heap.push(item) - 1
    this.#up(item.place)
    this.#down(item.place)
  }

  remove(item: T): void {
    const { place } = item
    if (place < 0) return
    item.place = -1
    const last = this.#heap.pop()!
    if (last === item) return
    this.#put(last, place)
    this.#up(place)
    this.#down(last.place)
  }

  #put(item: T, place: number): void {
    this.#heap[place] = item
    item.place = place
  }

  #up(from: number): void {
    const item = this.#heap[from]!
    let place = from
    while (place > 0) {
      const above = this.#heap[(place - 1) >> 1]!
      if (above.deadlineNs <= item.deadlineNs) break
      this.#put(above, place)
      place = (place - 1) >> 1
    }
    this.#put(item, place)
  }

  #down(from: number): void {
    const heap = this.#heap
    const item = heap[from]!
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.deadlineNs < heap[child]!.deadlineNs) child++
      if (heap[child]!.deadlineNs >= item.deadlineNs) break
      this.#put(heap[child]!, place)
      place = child
    }
    this.#put(item, place)
  }
}
