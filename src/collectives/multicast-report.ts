/** Report of a rank to the root of a multicast: first chunk of the window, missing chunks, and bytes of the whole call. */
import type { Memory } from './memory.ts'

export const reportBytes = 16

export interface Report {
  first: number
  /** Missing chunks, a bit for each; 0: the rank has all. */
  missing: number
  bytes: number
}

export function writeReport({ i32, f64 }: Memory, at: number, { first, missing, bytes }: Report): void {
  i32[at / 4] = first
  i32[at / 4 + 1] = missing
  f64[at / 8 + 1] = bytes
}

export function readReport({ i32, f64 }: Memory, at: number): Report {
  return { first: i32[at / 4]! >>> 0, missing: i32[at / 4 + 1]! >>> 0, bytes: f64[at / 8 + 1]! }
}
