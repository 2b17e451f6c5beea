import { beforeEach, describe, expect, it } from 'vitest'
import { LateWrites } from '../../src/transport/late-writes.ts'
import type { ProcessMemory } from '../../src/transport/process-memory.ts'

const collected = 1000
const pid = 7

describe('payload for memory of another process', () => {
  /** What was copied to the process: place and length; and what it is made of, as [place in the segment, length]. */
  let written: [to: number, from: number, length: number][]
  let gone: boolean
  let isThere: boolean
  let late: LateWrites
  const processes = {
    collected,
    isThere: () => isThere,
    deliverOrdered: (to: number, _: number, from: number, length: number) => {
      written.push([to, from, length])
      return gone ? 1 : 0
    },
  } as unknown as ProcessMemory
  const write = (to: number, length: number, more: boolean, receiver = 1): boolean =>
    late.write(processes, receiver, to, pid, 0, length, more)

  beforeEach(() => {
    written = []
    gone = false
    isThere = true
    late = new LateWrites(() => {})
  })

  it('is copied at once where a message is one packet', () => {
    expect(write(-500, 8, false)).toBe(true)
    expect(written).toEqual([[-500, 0, 8]])
  })

  it('of packets that follow each other is copied by one call, with the last one', () => {
    expect([write(-500, 100, true), write(-400, 100, true)]).toEqual([true, true])
    expect(written).toEqual([])
    expect(write(-300, 50, false)).toBe(true)
    expect(written).toEqual([[-500, collected, 250]])
  })

  it('is copied before what goes elsewhere, and before it needs more room', () => {
    write(-500, 100, true)
    write(-300, 100, true)
    expect(written).toEqual([[-500, collected, 100]])
    write(-800, 8, false, 2)
    expect(written.slice(1)).toEqual([
      [-300, collected, 100],
      [-800, 0, 8],
    ])
    const packet = 4096
    for (let i = 0; i < 17; i++) write(-100_000 + i * packet, packet, true)
    expect(written.slice(3)).toEqual([[-100_000, collected, 16 * packet]])
  })

  it('is copied by a flush, once', () => {
    write(-500, 100, true)
    late.flush(processes)
    late.flush(processes)
    expect(written).toHaveLength(1)
  })

  it('that cannot be written fails with the last packet', () => {
    gone = true
    expect(write(-500, 100, true)).toBe(true)
    expect(write(-400, 100, false)).toBe(false)
    gone = false
    expect(write(-500, 8, false)).toBe(true)
  })

  it('that could not be written when it had to be fails with the next packet of its receiver, and of no other', () => {
    gone = true
    write(-500, 100, true)
    late.flush(processes)
    gone = false
    expect(write(-800, 8, false, 2)).toBe(true)
    expect(write(-400, 100, true)).toBe(false)
    expect(write(-400, 100, false)).toBe(true)
  })

  it('does not fail of another receiver that has got the same number', () => {
    gone = true
    write(-500, 100, true)
    late.flush(processes)
    gone = false
    late.begin(processes, 1)
    expect(write(-400, 100, false)).toBe(true)
  })

  it('of a message whose rest was lost does not fail with the next message', () => {
    gone = true
    write(-500, 100, true)
    late.begin(processes, 1)
    expect(written).toHaveLength(1)
    gone = false
    expect(write(-800, 8, false)).toBe(true)
  })

  it('is not written to what a process executes by then', () => {
    write(-500, 100, true)
    isThere = false
    late.flush(processes)
    expect(written).toEqual([])
    expect(write(-400, 100, true)).toBe(false)
  })
})
