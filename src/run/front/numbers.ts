/**
 * The numbers that descriptors of ours get in programs. The filter has to know them by their numbers alone: for `fstat`, and for `write`
 * of anything but a doorbell. So they come from ranges below the usual limits of open files, at their ends, because a program
 * takes the lowest number that is free and comes there last; a smaller range is for programs that have lowered their limit.
 */

export interface NumberRange {
  readonly from: number
  /** The first that does not belong to it. */
  readonly to: number
}

const usualLimits = [
  { limit: 256, numbers: 32 },
  { limit: 1024, numbers: 128 },
  { limit: 4096, numbers: 128 },
  { limit: 65_536, numbers: 128 },
] as const
/** Tables of descriptors are as long as the highest number: one up to here takes 32 KiB. */
const cheapLimit = 4096
const leastNumbers = 8

/** For programs that start with these limits of open files (`ulimit -n`, `ulimit -Hn`), ascending. */
export function numberRanges(soft: number, hard: number): NumberRange[] {
  const ranges: NumberRange[] = usualLimits
    .filter(({ limit }) => limit <= hard)
    .map(({ limit, numbers }) => ({ from: limit - numbers, to: limit }))
  const cheapest = Math.min(soft, hard, cheapLimit)
  const fits = ranges.some(({ to }) => to === cheapest)
  if (!fits) {
    const from = cheapest - Math.max(leastNumbers, Math.min(128, cheapest >> 3))
    const overlaps = ranges.some((range) => from < range.to && range.from < cheapest)
    if (!overlaps) ranges.push({ from: Math.max(from, 3), to: cheapest })
  }
  return ranges.sort((a, b) => a.from - b.from)
}

/** In which order they are tried: the highest that is cheap first, then downwards, then what costs a long table. */
export function preferredRanges(ranges: readonly NumberRange[]): NumberRange[] {
  const cheap = ranges.filter(({ to }) => to <= cheapLimit).reverse()
  return [...cheap, ...ranges.filter(({ to }) => to > cheapLimit)]
}
