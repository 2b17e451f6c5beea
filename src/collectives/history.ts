/** Calls that a rank has made. Ranks compare them if one has waited for long, and at the end. */
import { callNumbers } from './message.ts'

/** Number of the last calls whose tags are remembered. */
const remembered: number = callNumbers

/** Bytes of the summary that a rank sends at the end: number of calls (8 bytes), and digest of all of them (4). */
const summaryBytes = 12

export class History {
  /** Number of calls so far, which is the number of the last one. */
  count = 0
  #digest = 0x811c9dc5
  readonly #tags = new Uint32Array(remembered)

  /** Records a call that begins. `tag` carries its number modulo `callNumbers`. */
  add(tag: number, root: number, bytes: number): void {
    this.count++
    this.#tags[this.count % remembered] = tag
    // FNV-1a of words.
    this.#digest = Math.imul(
      Math.imul(Math.imul(this.#digest ^ tag, 0x01000193) ^ root, 0x01000193) ^ bytes,
      0x01000193,
    )
  }

  /** Returns the tag of call `number`; -1: the call is in the future, or too old. */
  tagOf(number: number): number {
    return number > 0 && number <= this.count && number > this.count - remembered
      ? this.#tags[number % remembered]!
      : -1
  }

  /** Returns the number of the last call, up to the present one, to which a message with this tag can belong. */
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

  /** Tags that are remembered, in the order of the calls. */
  get tags(): Uint8Array {
    const known = Math.min(this.count, remembered)
    const bytes = new Uint8Array(4 * known)
    const view = new DataView(bytes.buffer)
    for (let i = 0; i < known; i++) view.setUint32(4 * i, this.tagOf(this.count - known + 1 + i))
    return bytes
  }
}

/** Report of another rank at the end. */
export interface Told {
  summary: Uint8Array
  tags: Uint8Array
}

/**
 * Returns the first call in which two ranks differ, as far as they remember: its number, and both tags (-1: the rank has not made it). Null
 * if the remembered calls are the same, or do not overlap.
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

/** Returns the number of calls in a summary. */
export function countOf(summary: Uint8Array): number {
  return new DataView(summary.buffer, summary.byteOffset, summary.length).getFloat64(0)
}
