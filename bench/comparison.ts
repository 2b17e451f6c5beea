/** A row of the comparison: medians of both sides, and their ratio. */

import { medianOf } from '../src/stats/index.ts'

export interface Comparison {
  name: string
  ours: number
  /** Null when there is nothing to compare with, or it is not installed. */
  peer: string | null
  theirs: number | null
  unit: string
  /** Below 1 we are ahead; null without a peer, or when the figure to divide by is 0. */
  ratio: number | null
  /** The ratio that this row is to reach, and whether it does. */
  target?: number
  met?: boolean
}

export type Order = 'less is better' | 'more is better'

/** The medians of the rounds; `theirs` is not looked at without a peer. */
export function compare(
  name: string,
  ours: readonly number[],
  peer: string | null,
  theirs: readonly number[],
  unit: string,
  order: Order,
  target?: number,
): Comparison {
  const our = medianOf(ours)
  if (peer === null) return { name, ours: rounded(our), peer: null, theirs: null, unit, ratio: null }
  const their = medianOf(theirs)
  const [part, whole] = order === 'less is better' ? [our, their] : [their, our]
  const ratio = whole === 0 ? null : Math.round((part / whole) * 1000) / 1000
  const row: Comparison = { name, ours: rounded(our), peer, theirs: rounded(their), unit, ratio }
  return target === undefined ? row : { ...row, target, met: ratio !== null && ratio <= target }
}

/** A row without a peer: what is to be reached takes its place. */
export function compareToGoal(
  name: string,
  ours: readonly number[],
  goal: number,
  unit: string,
  order: Order,
): Comparison {
  return compare(name, ours, 'the target', [goal], unit, order, 1)
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
