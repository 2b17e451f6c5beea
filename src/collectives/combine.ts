/** Combining elements in the device's memory: few of them in JavaScript, many by vector instructions if these are available. */
import { wasmOf } from '../memory/index.ts'
import { type Combine, type ElementType, type Operation, scalarCombines, type Views } from './scalar-combine.ts'
import { turnBytes, vectorCombines } from './vector-combine.ts'

export { type Combine, type ElementType, type Operation, operations, type Views } from './scalar-combine.ts'

/** Bytes from which on the call into WebAssembly pays off. */
const vectorFrom = 4 * turnBytes

export function combines(memory: Views): Record<Operation, Record<ElementType, Combine>> {
  const plain = scalarCombines(memory)
  const wasm = wasmOf(memory.u8.buffer)
  const vectors = wasm === undefined ? null : vectorCombines(wasm)
  if (vectors === null) return plain
  const both = (operation: Operation, type: ElementType): Combine => {
    const few = plain[operation][type]
    const many = vectors(operation, type)
    return (to, base, from, bytes) => {
      if (bytes < vectorFrom) {
        few(to, base, from, bytes)
        return
      }
      const whole = bytes - (bytes % turnBytes)
      many(to, base, from, whole)
      if (whole < bytes) few(to + whole, base + whole, from + whole, bytes - whole)
    }
  }
  const ofTypes = (operation: Operation): Record<ElementType, Combine> => ({
    Int32: both(operation, 'Int32'),
    Float32: both(operation, 'Float32'),
    Float64: both(operation, 'Float64'),
  })
  return { sum: ofTypes('sum'), min: ofTypes('min'), max: ofTypes('max') }
}
