/** What both sides of parking.test.ts know. */
import { pageBytes } from '../../src/memory/index.ts'

export const options = { staticBytes: pageBytes, sizeBytes: 4 << 20 }

/** Words behind the start of a segment's tables. `lost`: waits that a time-out ended although they should have been woken. */
export const Ball = { there: 0, back: 1, waits: 2, woken: 3, lost: 4 } as const

export interface Game {
  /** Segments that it waits for at once; it is thrown to in one after the other. */
  readonly names: readonly string[]
  readonly way: 'futex' | 'descriptors' | 'loop'
  readonly rounds: number
  /** Descriptors of which the kernel is to tell its event loop meanwhile. */
  readonly watched?: readonly number[]
  /** The attachment to wake in the first segment. */
  readonly thrower: number
}
