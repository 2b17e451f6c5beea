/** What is combined by vector instructions is what JavaScript makes of it, bit by bit but for the bits of NaN. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { combines, type ElementType, operations, type Views } from '../../src/collectives/combine.ts'
import { vectorCombines } from '../../src/collectives/vector-combine.ts'
import { rememberWasm } from '../../src/memory/wasm-code.ts'
import { holds } from '../property.ts'

const pageBytes = 65_536
const arrays = { Int32: Int32Array, Float32: Float32Array, Float64: Float64Array }
const types = Object.keys(arrays) as ElementType[]

const viewsOf = (buffer: ArrayBufferLike): Views => ({
  u8: new Uint8Array(buffer),
  i32: new Int32Array(buffer),
  f32: new Float32Array(buffer),
  f64: new Float64Array(buffer),
})

const special = [0, -0, 1, -1, Number.NaN, Infinity, -Infinity, 2 ** 31 - 1, -(2 ** 31), 1e-310, 0.1, -0.1, 1e300]
const element = fc.oneof(fc.constantFrom(...special), fc.integer(), fc.double())

describe.each([false, true])('in a WebAssembly memory, shared: %s', (shared) => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared })
  const plain = viewsOf(new ArrayBuffer(pageBytes))
  const inWasm = viewsOf(memory.buffer)
  rememberWasm(memory)
  const combineOf = { plain: combines(plain), inWasm: combines(inWasm) }

  it('there are vector instructions here', () => {
    expect(vectorCombines(memory)).not.toBeNull()
  })

  it('every operation on every type, in any length, also where the result replaces an operand', () => {
    const input = fc.record({
      operation: fc.constantFrom(...operations),
      type: fc.constantFrom(...types),
      count: fc.nat(200),
      values: fc.array(element, { minLength: 1, maxLength: 40 }),
      starts: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)),
      inPlace: fc.boolean(),
    })
    return holds(
      fc.property(input, ({ operation, type, count, values, starts, inPlace }) => {
        const TypedArray = arrays[type]
        const size = TypedArray.BYTES_PER_ELEMENT
        const [to, base, from] = starts.map((start, i) => 16_384 * i + start * size) as [number, number, number]
        const results = (['plain', 'inWasm'] as const).map((where) => {
          const { u8 } = { plain, inWasm }[where]
          u8.fill(7)
          const at = (offset: number) => new TypedArray(u8.buffer as ArrayBuffer, offset, count)
          for (let i = 0; i < count; i++) {
            at(base)[i] = values[i % values.length]!
            at(from)[i] = values[(i * 3 + 1) % values.length]!
          }
          combineOf[where][operation][type](inPlace ? base : to, base, from, count * size)
          // With what lies around it.
          const result = inPlace ? base : to
          return Array.from(new TypedArray(u8.buffer as ArrayBuffer, Math.max(0, result - size), count + 2))
        })
        expect(results[1]).toEqual(results[0])
      }),
      150,
    )
  })
})
