/** Segments that a process has stopped making or deleting, and has not ended: the next waits some seconds for it, and then replaces them. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatSegment, nativeAvailable, pageBytes, Segment, segmentFilePrefix } from '../../src/memory/index.ts'
import { mapShared, unmap } from '../../src/memory/native/index.ts'

const options = { staticBytes: pageBytes, sizeBytes: 4 << 20 }
const stateWord = 7

describe.skipIf(!nativeAvailable)('a segment that somebody uses and', () => {
  it.each([
    { what: 'has not made ready', state: 0 },
    { what: 'has given up and not deleted', state: 2 },
  ])('$what is replaced', ({ state }) => {
    const name = `segment-left-${process.pid}-${state}`
    const path = `/dev/shm/${segmentFilePrefix}${name}`
    const { buffer } = mapShared(segmentFilePrefix + name, options.sizeBytes, 'create')
    const i32 = new Int32Array(buffer)
    formatSegment(i32, buffer.byteLength, options.staticBytes)
    i32[stateWord] = state
    expect(Segment.removeStale(name)).toBe(false)
    const opened = Segment.named(name, options)
    opened.release(opened.me)
    expect(existsSync(path)).toBe(false)
    unmap(buffer)
  })
})
