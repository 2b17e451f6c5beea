/** Numbers that a seed determines, so that a run can be repeated. */
import { seeded } from '../src/stats/index.ts'

export { seeded }

/** Whole numbers from 0 to below `limit`. */
export function seededBelow(seed: number): (limit: number) => number {
  const next = seeded(seed)
  return (limit) => Math.floor(next() * limit)
}
