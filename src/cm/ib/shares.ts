/**
 * Items by sender. State that a peer can make this end keep is in one of these, so that when there is no more room, the sender with most
 * items loses one.
 */
export class Shares<T> {
  /** The items of each sender, the oldest first. */
  readonly #of = new Map<string, Set<T>>()
  /** Senders by the number of their items. */
  readonly #withCount: Set<string>[] = [new Set()]
  #most = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Number of items of the sender with most of them. */
  get most(): number {
    return this.#most
  }

  countOf(source: string): number {
    return this.#of.get(source)?.size ?? 0
  }

  add(source: string, item: T): void {
    let items = this.#of.get(source)
    if (items === undefined) {
      items = new Set()
      this.#of.set(source, items)
    }
    const before = items.size
    items.add(item)
    if (items.size === before) return
    this.#size++
    this.#move(source, before, before + 1)
    if (before + 1 > this.#most) this.#most = before + 1
  }

  delete(source: string, item: T): void {
    const items = this.#of.get(source)
    if (items === undefined || !items.delete(item)) return
    this.#size--
    if (items.size === 0) this.#of.delete(source)
    this.#move(source, items.size + 1, items.size)
    if (this.#most > 0 && this.#withCount[this.#most]!.size === 0) this.#most--
  }

  #move(source: string, from: number, to: number): void {
    if (from > 0) this.#withCount[from]!.delete(source)
    if (to === 0) return
    this.#withCount[to] ??= new Set()
    this.#withCount[to].add(source)
  }

  /** The oldest item of a sender with most of them. */
  oldestOfHeaviest(): T | undefined {
    for (const source of this.#withCount[this.#most]!) for (const item of this.#of.get(source)!) return item
    return undefined
  }

  /** Takes the oldest item of a sender with most of them. */
  takeOfHeaviest(): T | undefined {
    for (const source of this.#withCount[this.#most]!)
      for (const item of this.#of.get(source)!) {
        this.delete(source, item)
        return item
      }
    return undefined
  }

  /** Takes the oldest item of each sender in turn. */
  takeInTurn(): T | undefined {
    for (const [source, items] of this.#of)
      for (const item of items) {
        this.delete(source, item)
        if (items.size > 0) {
          this.#of.delete(source)
          this.#of.set(source, items)
        }
        return item
      }
    return undefined
  }
}
