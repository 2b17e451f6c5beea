/** Segments that a process left in the middle of making or deleting them: the next waits some seconds for it, and then replaces them. */
import { existsSync, unlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatSegment, nativeAvailable, pageBytes, Segment, segmentFilePrefix } from '../../src/memory/index.ts'
import { mapShared } from '../../src/memory/native/index.ts'

const namedOptions = { staticBytes: pageBytes, sizeBytes: 4 << 20 }
const name = `segment-left-${process.pid}`

describe.skipIf(!nativeAvailable)('names', () => {
  it('a segment whose last user ended between giving it up and deleting its name is replaced', () => {
    const stale = `${name}-retired`
    const path = `/dev/shm/${segmentFilePrefix}${stale}`
    const { buffer } = mapShared(segmentFilePrefix + stale, namedOptions.sizeBytes, 'create')
    const i32 = new Int32Array(buffer)
    formatSegment(i32, buffer.byteLength, namedOptions.staticBytes)
    const stateWord = 7
    i32[stateWord] = 2
    try {
      const opened = Segment.named(stale, namedOptions)
      opened.release(opened.me)
      expect(existsSync(path)).toBe(false)
    } finally {
      if (existsSync(path)) unlinkSync(path)
    }
  })

  it('a segment whose creator died before it was ready is replaced', () => {
    const stale = `${name}-fresh`
    const path = `/dev/shm/${segmentFilePrefix}${stale}`
    mapShared(segmentFilePrefix + stale, namedOptions.sizeBytes, 'create')
    const opened = Segment.named(stale, namedOptions)
    opened.release(opened.me)
    expect(existsSync(path)).toBe(false)
  })
})
