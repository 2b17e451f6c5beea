/** Combining elements in the device's memory. */
import type { Memory } from './memory.ts'

export const operations = ['sum', 'min', 'max'] as const
/** How elements are combined. Int32 wraps around; min and max of NaN are NaN. */
export type Operation = (typeof operations)[number]
export type ElementType = 'Int32' | 'Float32' | 'Float64'

/** Combines `n` elements from element `b` of the device's memory into those from element `a`. */
type Loop = (a: number, b: number, n: number) => void
/** Combines `bytes` bytes at `from` into those at `to`: offsets in the device's memory, multiples of the element. */
export type Combine = (to: number, from: number, bytes: number) => void

/**
 * Each loop is a function of its own, although they read alike: V8 compiles a function for the kinds of arrays that it has seen,
 * and one for all kinds is several times slower.
 */
export function combines({ i32, f32, f64 }: Memory): Record<Operation, Record<ElementType, Combine>> {
  const { min, max } = Math
  const words =
    (loop: Loop): Combine =>
    (to, from, bytes) =>
      loop(to / 4, from / 4, bytes >>> 2)
  const doubles =
    (loop: Loop): Combine =>
    (to, from, bytes) =>
      loop(to / 8, from / 8, bytes >>> 3)
  return {
    sum: {
      Int32: words((a, b, n) => {
        for (let i = 0; i < n; i++) i32[a + i] = i32[a + i]! + i32[b + i]!
      }),
      Float32: words((a, b, n) => {
        for (let i = 0; i < n; i++) f32[a + i] = f32[a + i]! + f32[b + i]!
      }),
      Float64: doubles((a, b, n) => {
        for (let i = 0; i < n; i++) f64[a + i] = f64[a + i]! + f64[b + i]!
      }),
    },
    min: {
      Int32: words((a, b, n) => {
        for (let i = 0; i < n; i++) i32[a + i] = min(i32[a + i]!, i32[b + i]!)
      }),
      Float32: words((a, b, n) => {
        for (let i = 0; i < n; i++) f32[a + i] = min(f32[a + i]!, f32[b + i]!)
      }),
      Float64: doubles((a, b, n) => {
        for (let i = 0; i < n; i++) f64[a + i] = min(f64[a + i]!, f64[b + i]!)
      }),
    },
    max: {
      Int32: words((a, b, n) => {
        for (let i = 0; i < n; i++) i32[a + i] = max(i32[a + i]!, i32[b + i]!)
      }),
      Float32: words((a, b, n) => {
        for (let i = 0; i < n; i++) f32[a + i] = max(f32[a + i]!, f32[b + i]!)
      }),
      Float64: doubles((a, b, n) => {
        for (let i = 0; i < n; i++) f64[a + i] = max(f64[a + i]!, f64[b + i]!)
      }),
    },
  }
}
