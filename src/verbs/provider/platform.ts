/**
 * Functions of the platform that the tables of a segment need. They are injected, so that this folder imports nothing of Node and runs in a
 * browser or in virtual time as well.
 */
import type { News } from './news.ts'

export interface Platform {
  /** Returns a random integer of [min, max) from an unpredictable source; `max − min` is at most 2^32. */
  randomInt(min: number, max: number): number
  /** Receiver of events; absent where there can be no subscribers. */
  readonly news?: News
}
