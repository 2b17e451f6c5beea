/**
 * The numbers that descriptors of ours get in programs. The filter has to know them by their numbers alone: for `fstat`, `read` and
 * `write`. So they come from ranges below the usual limits of open files, at their ends, because a program
 * takes the lowest number that is free and comes there last; a smaller range is for programs that have lowered their limit.
 *
 *     from ── polled files ── queues ── queue files ── to
 *
 * Of a range the upper part is for queue files, to which 32 bytes are written without a stop: commands of rdma_cm may be as long.
 */
import type { OpenedFile } from '../door.ts'

export interface NumberRange {
  readonly from: number
  /** First number for queue files. */
  readonly queues: number
  /** First number after the range. */
  readonly to: number
}

/** A program has one rdma_cm file for each of its ids that wait for their own events. */
const usualLimits = [
  { limit: 256, polled: 32, queues: 32 },
  { limit: 1024, polled: 128, queues: 128 },
  { limit: 4096, polled: 512, queues: 128 },
  { limit: 65_536, polled: 1024, queues: 128 },
] as const
/** Tables of descriptors are as long as the highest number: one up to here takes 32 KiB. */
const cheapLimit = 4096
const leastNumbers = 8

/** Returns the ranges for programs that start with these limits of open files (`ulimit -n`, `ulimit -Hn`), ascending. */
export function numberRanges(soft: number, hard: number): NumberRange[] {
  const ranges: NumberRange[] = usualLimits
    .filter(({ limit }) => limit <= hard)
    .map(({ limit, polled, queues }) => ({ from: limit - queues - polled, queues: limit - queues, to: limit }))
  const cheapest = Math.min(soft, hard, cheapLimit)
  const fits = ranges.some(({ to }) => to === cheapest)
  if (!fits) {
    const each = Math.max(leastNumbers, Math.min(128, cheapest >> 3))
    const from = cheapest - 2 * each
    const overlaps = ranges.some((range) => from < range.to && range.from < cheapest)
    if (!overlaps) ranges.push({ from: Math.max(from, 3), queues: cheapest - each, to: cheapest })
  }
  return ranges.sort((a, b) => a.from - b.from)
}

/**
 * Returns the ranges in the order in which they are tried: the highest cheap one first, then downwards, then those that need a long table.
 */
export function preferredRanges(ranges: readonly NumberRange[]): NumberRange[] {
  const cheap = ranges.filter(({ to }) => to <= cheapLimit).reverse()
  return [...cheap, ...ranges.filter(({ to }) => to > cheapLimit)]
}

export interface Numbers {
  readonly from: number
  readonly to: number
}

/** Returns the part of a range for files of a kind. */
export function numbersFor(kind: OpenedFile['kind'], { from, queues, to }: NumberRange): Numbers {
  return kind === 'queues' ? { from: queues, to } : { from, to: queues }
}
