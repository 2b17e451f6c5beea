/** The calls that a rank has made: what it compares with the other ranks when one waits for long, and at the end. */
import { callNumbers } from './message.ts'

/** How many of the last calls are known one by one. */
const remembered: number = callNumbers

/** What a rank tells at the end: how many calls (8 bytes), and what follows from all of them (4). */
const summaryBytes = 12

export class History {
  /** Calls so far: the number of the last one. */
  count = 0
  #digest = 0x811c9dc5
  readonly #tags = new Uint32Array(remembered)

  /** A call begins. `tag` carries its number modulo `callNumbers`. */
  add(tag: number, root: number, bytes: number): void {
    this.count++
    this.#tags[this.count % remembered] = tag
    // FNV-1a of words.
    this.#digest = Math.imul(
      Math.imul(Math.imul(this.#digest ^ tag, 0x01000193) ^ root, 0x01000193) ^ bytes,
      0x01000193,
    )
  }

  /** The tag of call `number`; -1: it is yet to come, or too long ago. */
  tagOf(number: number): number {
    return number > 0 && number <= this.count && number > this.count - remembered
      ? this.#tags[number % remembered]!
      : -1
  }

  /** The number of the last call, up to this one, of which a message with such a tag may be. */
  numberOf(tag: number): number {
    return this.count - ((this.count - tag) & (callNumbers - 1))
  }

  get summary(): Uint8Array {
    const bytes = new Uint8Array(summaryBytes)
    const view = new DataView(bytes.buffer)
    view.setFloat64(0, this.count)
    view.setUint32(8, this.#digest >>> 0)
    return bytes
  }

  /** The tags that are remembered, the last call's last. */
  get tags(): Uint8Array {
    const known = Math.min(this.count, remembered)
    const bytes = new Uint8Array(4 * known)
    const view = new DataView(bytes.buffer)
    for (let i = 0; i < known; i++) view.setUint32(4 * i, this.tagOf(this.count - known + 1 + i))
    return bytes
  }
}

/** What another rank has told at the end. */
export interface Told {
  summary: Uint8Array
  tags: Uint8Array
}

/**
 * In which call two ranks differ first, as far as they remember: its number, and both tags (-1: the rank has not made it). Null if what
 * they remember is the same, or does not overlap.
 */
export function firstDifference(own: Told, other: Told): { number: number; here: number; there: number } | null {
  const [a, b] = [recalled(own), recalled(other)]
  for (let number = Math.max(a.first, b.first); number <= Math.max(a.count, b.count); number++) {
    const [here, there] = [a.tagOf(number), b.tagOf(number)]
    if (here !== there) return { number, here, there }
  }
  return null
}

function recalled({ summary, tags }: Told): { first: number; count: number; tagOf: (number: number) => number } {
  const count = countOf(summary)
  const view = new DataView(tags.buffer, tags.byteOffset, tags.length)
  const first = count - tags.length / 4 + 1
  return {
    first,
    count,
    tagOf: (number) => (number > count || number < first ? -1 : view.getUint32(4 * (number - first))),
  }
}

/** The number of calls in a summary. */
export function countOf(summary: Uint8Array): number {
  return new DataView(summary.buffer, summary.byteOffset, summary.length).getFloat64(0)
}
