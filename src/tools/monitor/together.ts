/** Windows of several captures, merged as a collector does it, and the exact counts of each time. */
import type { Pace } from '../../monitor/host/index.ts'
import { type Budget, type Comparer, ExactWindow, Merger, type Window } from '../../monitor/index.ts'

/** Maximum number of windows that a source may be ahead of the slowest one. */
const mostAhead = 4

export interface Member {
  witness: ExactWindow
  /** Returns the pace of a source, which waits until the slowest one is near, or the signal is aborted. */
  pace(signal: AbortSignal): Pick<Pace, 'isFull' | 'room'>
  /** Takes a window of the source, whose witness then begins again. */
  add(window: Window): void
  /** Ends the source: it has no more windows. */
  end(): void
}

export class Together {
  readonly #comparer: Comparer
  readonly #budget: Budget
  #members = 0
  readonly #merger: Merger
  /** Exact counts by window. */
  readonly #exact = new Map<number, ExactWindow>()
  readonly #free: ExactWindow[] = []

  constructor(comparer: Comparer, budget: Budget) {
    this.#comparer = comparer
    this.#budget = budget
    this.#merger = new Merger({
      mostWaiting: Number.POSITIVE_INFINITY,
      onWindow: (window) => {
        const exact = this.#exact.get(window.index)!
        this.#exact.delete(window.index)
        comparer.add(window, exact)
        exact.clear()
        this.#free.push(exact)
      },
    })
  }

  /** Adds a source. All have to join before the first of them has a window. */
  join(name: string): Member {
    const merger = this.#merger
    merger.join(name)
    this.#members++
    const witness = new ExactWindow(this.#budget)
    return {
      witness,
      pace: (signal) => {
        const isFull = (): boolean => merger.lead(name) > mostAhead && !signal.aborted
        const room = async (): Promise<void> => {
          while (isFull()) await new Promise((resolve) => setTimeout(resolve, 1))
        }
        return { isFull, room }
      },
      add: (window) => {
        if (this.#members === 1) {
          // With a single source there is nothing to merge, and no copy of the counts is made.
          this.#comparer.add(window, witness)
          witness.clear()
          return
        }
        const exact = this.#exact.get(window.index) ?? this.#free.pop() ?? new ExactWindow(this.#budget)
        this.#exact.set(window.index, exact)
        exact.merge(witness)
        witness.clear()
        merger.add(name, window)
      },
      end: () => merger.leave(name),
    }
  }
}
