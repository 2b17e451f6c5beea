/** State shared by the three threads of a front: their progress, and the descriptor of the filter. */

/** Words of the shared array. `broken`: 1 once programs have lost their supervisor. */
export const Word = { state: 0, listener: 1, killable: 2, ends: 3, broken: 4, adopts: 5, count: 6 } as const

export const State = {
  /** The supervisor opens its doors. */
  opening: 0,
  /** The supervisor is ready: the filter may be installed. */
  ready: 1,
  /** The filter is installed. */
  filtered: 2,
  /** The start has failed. */
  failed: 3,
} as const

export function newState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * Word.count))
}

/** Advances the state; a failed one stays so, and false is returned. */
export function advance(words: Int32Array, from: number, to: number): boolean {
  const was = Atomics.compareExchange(words, Word.state, from, to)
  Atomics.notify(words, Word.state)
  return was === from
}

/** Blocks this thread while the state is `current`; returns the next. */
export function awaitState(words: Int32Array, current: number): number {
  Atomics.wait(words, Word.state, current)
  return Atomics.load(words, Word.state)
}

/** Lets the program start: this process adopts descendants. */
export function letStart(words: Int32Array): void {
  Atomics.store(words, Word.adopts, 1)
  Atomics.notify(words, Word.adopts)
}

/** Blocks this thread until `letStart`, or until the start has failed. */
export function awaitStart(words: Int32Array): void {
  Atomics.wait(words, Word.adopts, 0)
}

/** Sets the state to failed unless the filter is installed, after which a program is started; true if it is. */
export function failUnlessFiltered(words: Int32Array): boolean {
  for (const state of [State.opening, State.ready]) if (advance(words, state, State.failed)) letStart(words)
  return Atomics.load(words, Word.state) === State.filtered
}

export function fail(words: Int32Array): void {
  Atomics.store(words, Word.state, State.failed)
  Atomics.notify(words, Word.state)
  letStart(words)
}
