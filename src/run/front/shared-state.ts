/** State shared by the three threads of a front: their progress, and the descriptor of the filter. */

/** Words of the shared array. `broken`: 1 once programs have lost their supervisor. */
export const Word = { state: 0, listener: 1, killable: 2, ends: 3, broken: 4, adopts: 5, count: 6 } as const

export const State = {
  /** The supervisor opens its doors. */
  opening: 0,
  /** The supervisor is ready: the filter may be installed. */
  ready: 1,
  /** The filter is there. */
  filtered: 2,
  /** Nothing comes of it. */
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

/** Blocks this thread while the state is `while`; returns the next. */
export function awaitState(words: Int32Array, current: number): number {
  Atomics.wait(words, Word.state, current)
  return Atomics.load(words, Word.state)
}

/** This process adopts descendants: a program may start. */
export function letStart(words: Int32Array): void {
  Atomics.store(words, Word.adopts, 1)
  Atomics.notify(words, Word.adopts)
}

/** Blocks this thread until `letStart`, or until nothing comes of it. */
export function awaitStart(words: Int32Array): void {
  Atomics.wait(words, Word.adopts, 0)
}

/** Fails unless the filter is there, after which a program is started: whether that is so. */
export function failUnlessFiltered(words: Int32Array): boolean {
  for (const state of [State.opening, State.ready]) if (advance(words, state, State.failed)) letStart(words)
  return Atomics.load(words, Word.state) === State.filtered
}

export function fail(words: Int32Array): void {
  Atomics.store(words, Word.state, State.failed)
  Atomics.notify(words, Word.state)
  letStart(words)
}
