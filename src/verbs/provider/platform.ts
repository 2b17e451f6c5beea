/**
 * What the tables of a segment need of the platform. It is injected, so that this folder imports nothing of Node and runs in
 * a browser or in virtual time as well.
 */
import type { News } from './news.ts'

export interface Platform {
  /** A random integer of [min, max) from a source that nobody can predict; `max − min` is at most 2^32. */
  randomInt(min: number, max: number): number
  /** Absent where nobody can listen. */
  readonly news?: News
}
