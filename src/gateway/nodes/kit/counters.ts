/** Counts of the events of a node since its start, by name; losses are also logged once. */
import type { NodeContext } from '../../index.ts'

export class Counters {
  readonly #context: NodeContext
  readonly #counts: Record<string, number> = {}

  constructor(context: NodeContext) {
    this.#context = context
  }

  add(name: string, by = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + by
  }

  /** Counts an error; the first time `what` is a warning. */
  warn(name: string, what: string, by = 1): void {
    if (this.#counts[name] === undefined) this.#context.log('warn', `${what} (counted as ${name}; this is said once)`)
    this.add(name, by)
  }

  get all(): Readonly<Record<string, number>> {
    return this.#counts
  }
}
