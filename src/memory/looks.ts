/**
 * A waiting thread is woken by the thread that makes the event. Where that wake-up crosses processes, the waiting thread looks by itself
 * too, now and then, so that a lost wake-up costs time and nothing else. No wait depends on such a look: the tests run without them
 * (`npm run test:looks`), and a wake-up that is missing shows.
 *
 * Looks for conditions that make no event are not such looks: a process that is killed, a packet that is lost, a program that has begun to
 * compute.
 */

/** Minimum interval of looks with VERBENA_LOOKS=0: so long that no test passes because of one, and yet nothing waits for ever. */
const rarelyMs = 20_000
const rarely = process.env.VERBENA_LOOKS === '0'

/** Returns the milliseconds that a wait for an event lasts before the thread looks by itself: `ms`, except in tests that turn looks off. */
export function untilLook(ms: number): number {
  return rarely ? Math.max(ms, rarelyMs) : ms
}

/**
 * Milliseconds to the next time, at least half of `ms` from now, at which all of this thread are that come every `ms`: together, since
 * waking a process that rests costs more than most of what it does then.
 */
function untilTogether(ms: number): number {
  const left = ms - (performance.now() % ms)
  return left < ms / 2 ? left + ms : left
}

/**
 * Maximum interval of looks, about: each look that finds nothing is followed by one after twice as long, so that a lost wake-up costs no
 * more time than has passed.
 */
export const seldomMs: number = rarelyMs

/**
 * Times at which a thread that waits for events looks by itself: together with other threads, and more and more seldom while nothing is
 * found lost.
 */
export class Looks {
  readonly #firstMs: number
  #ms: number

  constructor(firstMs: number) {
    this.#firstMs = firstMs
    this.#ms = firstMs
  }

  /** Milliseconds to the next one; `mayRest`: the one after it comes later (`Parking.mayRest`). */
  next(mayRest: boolean): number {
    const ms = this.#ms
    this.#ms = mayRest ? Math.min(2 * ms, seldomMs) : this.#firstMs
    return untilLook(untilTogether(ms))
  }

  /** Starts again with the shortest interval: something has come. */
  startAgain(): void {
    this.#ms = this.#firstMs
  }
}

/** Calls `work` about every `ms`, together with other such, until the function that is returned is called. That does not keep the process alive. */
export function every(ms: number, work: () => void): () => void {
  // Of now: tests of programs may put others in their place for a while.
  const { setTimeout, clearTimeout } = globalThis
  const next = (): NodeJS.Timeout => setTimeout(again, untilTogether(ms)).unref()
  const again = (): void => {
    timer = next()
    work()
  }
  let timer = next()
  return () => clearTimeout(timer)
}
