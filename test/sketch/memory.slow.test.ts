/** Four million different keys: every kind stays in the memory that it was given, and answers. */
import { expect, it } from 'vitest'
import { AmountSketch, createSketch, KeySketch, sketchKinds } from '../../src/sketch/index.ts'
import { heldBytes } from '../heap.ts'
import { keyBytes } from './traces.ts'

const flows = 4_000_000
const bytes = 600_000
const chunk = 100_000
/** For compiled code and what else a process does meanwhile. */
const allowed = 2_000_000

const keyed = sketchKinds
  .map((kind) =>
    createSketch(kind, { bytes, keyBytes, seed: 1, ...(kind === 'spread' && { sourceBytes: 4 }) } as never),
  )
  .filter((sketch) => sketch instanceof KeySketch)

it.each(keyed.map((sketch) => [sketch.kind, sketch] as const))('%s', { timeout: 200_000 }, (_, sketch) => {
  const keys = new Uint8Array(chunk * keyBytes)
  const view = new DataView(keys.buffer)
  const before = heldBytes()
  for (let flow = 0; flow < flows; flow++) {
    const at = flow % chunk
    view.setUint32(at * keyBytes, Math.imul(flow, 0x9e3779b1))
    view.setUint32(at * keyBytes + 6, flow)
    if (at === chunk - 1) sketch.updateMany(keys)
  }
  expect(heldBytes() - before).toBeLessThan(allowed)
  expect(sketch.total).toBe(flows)
  expect(sketch.bytes).toBeLessThanOrEqual(bytes)
  expect(sketch.toBytes().length).toBeLessThanOrEqual(bytes + 200)
  if (!(sketch instanceof AmountSketch)) return
  const { lower, upper } = sketch.estimate(keys.subarray(0, keyBytes))
  expect(lower).toBeLessThanOrEqual(1)
  expect(upper).toBeGreaterThanOrEqual(1)
})
