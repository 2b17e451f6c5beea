/**
 * Updates allocate nothing for a key, whatever the kind; a block of 256 packed keys costs a view of them. The profiler tells what was allocated
 * below a function of src/sketch, so that nothing else in the process is counted.
 */
import { type HeapProfiler, Session } from 'node:inspector/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSketch, KeySketch, sketchKinds } from '../../src/sketch/index.ts'
import { exactTrace, keyBytes } from './traces.ts'

const updates = 20_000
/** Less than a sixteenth of the smallest object for each update. */
const allowedBytes = updates

const trace = exactTrace({ flows: 10_000, packets: updates, skew: 1, seed: 3 })
const amounts = Uint32Array.from({ length: updates }, (_, i) => i % 7)
const keys = Array.from({ length: 1000 }, (_, i) => trace.keys.slice(i * keyBytes, (i + 1) * keyBytes))

/** The fast path scans a sample of its keys when it is full; NitroSketch reads a single key only if it is drawn. */
const others = new Set(['fast-path', 'nitro'])
const sketches = sketchKinds
  .filter((kind) => !others.has(kind))
  .map((kind) =>
    createSketch(kind, { bytes: 100_000, keyBytes, seed: 1, ...(kind === 'spread' && { sourceBytes: 4 }) } as never),
  )
  .filter((sketch) => sketch instanceof KeySketch)

const forms: Record<string, (sketch: KeySketch) => void> = {
  'packed keys': (sketch) => sketch.updateMany(trace.keys),
  'packed keys with amounts': (sketch) => sketch.updateMany(trace.keys, amounts),
  'single keys': (sketch) => {
    for (let i = 0; i < updates; i++) sketch.update(keys[i % keys.length]!, 3)
  },
}

const session = new Session()

/** Bytes allocated in functions of files whose path has `part`, or in what these call. */
async function allocated(part: string, body: () => void): Promise<number> {
  const options = {
    samplingInterval: 512,
    includeObjectsCollectedByMinorGC: true,
    includeObjectsCollectedByMajorGC: true,
  }
  await session.post('HeapProfiler.startSampling', options)
  body()
  const { profile } = await session.post('HeapProfiler.stopSampling')
  const sum = (node: HeapProfiler.SamplingHeapProfileNode, below: boolean): number => {
    const inside = below || node.callFrame.url.includes(part)
    return node.children.reduce((all, child) => all + sum(child, inside), inside ? node.selfSize : 0)
  }
  return sum(profile.head, false)
}

beforeAll(() => {
  session.connect()
  // Compiling allocates, and so does what is not compiled yet; what one kind teaches the compiler makes it compile code of all again.
  for (let i = 0; i < 4; i++) for (const sketch of sketches) for (const body of Object.values(forms)) body(sketch)
})

afterAll(() => session.disconnect())

it('would be seen: one object an update', async () => {
  const kept: { i: number }[] = new Array(updates)
  const bytes = await allocated('test/sketch', () => {
    for (let i = 0; i < updates; i++) kept[i] = { i }
  })
  expect(bytes).toBeGreaterThan(8 * updates)
})

describe.each(sketches.map((sketch) => [sketch.kind, sketch] as const))('%s', (_, sketch) => {
  it.each(Object.entries(forms))('%s', async (__, body) => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 30 && least >= allowedBytes; i++)
      least = Math.min(least, await allocated('src/sketch', () => body(sketch)))
    expect(least).toBeLessThan(allowedBytes)
  })
})
