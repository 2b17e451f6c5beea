/** Where a chunk of HTTP/2 is cut, whatever chunks the bytes come in. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cut, FrameCutter } from '../../../src/node/preload/frames.ts'
import { holds } from '../../property.ts'

const data = 0
const headers = 1
const rstStream = 3
const settings = 4
const goaway = 7

function frame(type: number, payloadBytes: number): Buffer {
  const bytes = Buffer.alloc(9 + payloadBytes, 0x50)
  bytes.writeUIntBE(payloadBytes, 0, 3)
  bytes[3] = type
  return bytes
}

/** The cuts of the whole, as offsets from its beginning. */
function cutAll(whole: Buffer, sizes: readonly number[]): Cut[] {
  const cutter = new FrameCutter()
  const found: Cut[] = []
  for (let at = 0, i = 0; at < whole.length; i++) {
    const chunk = whole.subarray(at, at + sizes[i % sizes.length]!)
    for (const { offset, ticks } of cutter.cuts(chunk)) found.push({ offset: at + offset, ticks })
    at += chunk.length
  }
  return found
}

describe('where Node is to run between two frames', () => {
  it('is before data that follows headers, and before the end of a stream or of the session', () => {
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    const frames = [settings, headers, data, data, rstStream, headers, headers, goaway].map((type) => frame(type, 4))
    const at = (n: number): number => preface.length + 13 * n
    expect(cutAll(Buffer.concat([preface, ...frames]), [1000])).toEqual([
      { offset: at(2), ticks: true },
      { offset: at(4), ticks: false },
      { offset: at(7), ticks: false },
    ])
  })

  it('is at the same frames, whatever chunks they come in', () => {
    const types = fc.array(fc.tuple(fc.constantFrom(data, headers, rstStream, settings, goaway, 8), fc.nat(40)))
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 })
    holds(
      fc.property(types, sizes, (list, chunks) => {
        const whole = Buffer.concat(list.map(([type, payload]) => frame(type, payload)))
        const expected = cutAll(whole, [whole.length + 1])
        const found = cutAll(whole, chunks)
        expect(found.map(({ ticks }) => ticks)).toEqual(expected.map(({ ticks }) => ticks))
        // A header that two chunks share is cut within: what C++ has of it then says nothing yet.
        for (const [i, { offset }] of found.entries()) {
          expect(offset).toBeGreaterThanOrEqual(expected[i]!.offset)
          expect(offset).toBeLessThan(expected[i]!.offset + 9)
        }
      }),
    )
  })
})
