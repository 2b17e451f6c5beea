/** Problem of an input. Problems are counted, and the first ones kept with their place: memory does not grow with their number. */
export interface Problem {
  /** Number of the line, from 1; undefined in a binary format. */
  line: number | undefined
  /** Offset of the first byte, from 0. */
  offset: number
  what: string
}

const mostKept = 10

export class Problems {
  count = 0
  readonly first: Problem[] = []
  /** Samples that had more values than there are signals; the others were dropped. */
  surplus = 0
  /** True if nothing after the last problem can be read: the format has no mark of a beginning. */
  fatal = false

  add(what: string, offset: number, line?: number): void {
    this.count++
    if (this.first.length < mostKept) this.first.push({ line, offset, what })
  }
}

export function describeProblem({ line, offset, what }: Problem): string {
  return `${line === undefined ? `byte ${offset}` : `line ${line} (byte ${offset})`}: ${what}`
}
