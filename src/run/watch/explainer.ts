/**
 * `--explain`: a sentence for each failure, once for each program. Repetitions are counted, and the counts are written at the end. Of
 * sentences that differ in their numbers alone a few are written.
 */
import type { Observed } from './observer.ts'

/** Maximum number of sentences of a kind that are written; for further ones only their number. */
const saidOfAKind = 3
/** Kinds that are remembered; a program that fails in more ways is not helped by more sentences. */
const maxKinds = 4096

interface Kind {
  readonly program: Observed
  readonly said: Map<string, number>
  /** Number of sentences that were not written. */
  others: number
}

export class Explainer {
  readonly #say: (line: string) => void
  readonly #kinds = new Map<string, Kind>()

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  explain(program: Observed, reason: string): void {
    const key = `${program.pid} ${program.program} ${reason.replace(/0x[0-9a-f]+|\d+/g, '#')}`
    let kind = this.#kinds.get(key)
    if (kind === undefined) {
      if (this.#kinds.size >= maxKinds) return
      kind = { program, said: new Map(), others: 0 }
      this.#kinds.set(key, kind)
    }
    const times = kind.said.get(reason)
    if (times === undefined && kind.said.size >= saidOfAKind) {
      kind.others++
      return
    }
    kind.said.set(reason, (times ?? 0) + 1)
    if (times === undefined) this.#say(lineOf(program, reason))
  }

  /** Writes the number of repetitions of each sentence. */
  end(): void {
    for (const { program, said, others } of this.#kinds.values()) {
      for (const [reason, times] of said) if (times > 1) this.#say(lineOf(program, `${times} times: ${reason}`))
      if (others > 0) this.#say(lineOf(program, `${others} more like: ${[...said.keys()].at(-1)}`))
    }
    this.#kinds.clear()
  }
}

export const lineOf = ({ program, pid }: Observed, text: string): string => `${program}[${pid}]: ${text}`
