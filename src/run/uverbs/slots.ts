/** Objects by small numbers, which are reused. */
export class Slots<T> {
  readonly #things: (T | undefined)[] = []
  readonly #free: number[] = []

  /** Assigns the next number; it stays free if `make` throws. */
  add(make: (slot: number) => T): T {
    const slot = this.#free.at(-1) ?? this.#things.length
    const thing = make(slot)
    if (slot === this.#things.length) this.#things.push(thing)
    else {
      this.#free.pop()
      this.#things[slot] = thing
    }
    return thing
  }

  at(slot: number): T | undefined {
    return this.#things[slot]
  }

  remove(slot: number): T | undefined {
    const thing = this.#things[slot]
    if (thing === undefined) return undefined
    this.#things[slot] = undefined
    this.#free.push(slot)
    return thing
  }

  *[Symbol.iterator](): Generator<T> {
    for (const thing of this.#things) if (thing !== undefined) yield thing
  }
}
