/** What was wrong with an input: counted, the first ones with their place. Memory does not grow with their number. */
export interface Problem {
  /** From 1; undefined in a binary format. */
  line: number | undefined
  /** Of the first byte, from 0. */
  offset: number
  what: string
}

const mostKept = 10

export class Problems {
  count = 0
  readonly first: Problem[] = []
  /** Samples that had more values than there are signals; the others were dropped. */
  surplus = 0
  /** Nothing behind the last problem can be read: the format has no mark of a beginning. */
  fatal = false

  add(what: string, offset: number, line?: number): void {
    this.count++
    if (this.first.length < mostKept) this.first.push({ line, offset, what })
  }
}

export function describeProblem({ line, offset, what }: Problem): string {
  return `${line === undefined ? `byte ${offset}` : `line ${line} (byte ${offset})`}: ${what}`
}
