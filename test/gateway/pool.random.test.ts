/** The queue of numbers and the pool of samples, against a small model. What threads do to them is in queue-threads.test.ts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IndexQueue } from '../../src/gateway/index-queue.ts'
import { Pool } from '../../src/gateway/pool.ts'
import { holds } from '../property.ts'

describe('a queue', () => {
  it('is first in, first out, and bounded, also when its turns wrap around', () => {
    holds(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        // Where its counts begin: any 32-bit number, such as those just below the wrap.
        fc.oneof(
          fc.constant(0),
          fc.integer({ min: -50, max: 50 }).map((n) => (0x7fffffff + n) | 0),
          fc.constant(-20),
        ),
        fc.array(fc.oneof(fc.nat(1000), fc.constant(-1)), { maxLength: 200 }),
        (log2, begin, commands) => {
          const capacity = 2 ** log2
          const queue = new IndexQueue(capacity, begun(capacity, begin))
          const model: number[] = []
          for (const value of commands) {
            if (value < 0) expect(queue.shift()).toBe(model.shift() ?? -1)
            else {
              const fits = model.length < capacity
              expect(queue.push(value)).toBe(fits)
              if (fits) model.push(value)
            }
            expect(queue.length).toBe(model.length)
          }
        },
      ),
      300,
    )
  })

  it.each([0, 1, 3, 6])('has no capacity of %d: it is a power of 2, at least 2', (capacity) => {
    expect(() => new IndexQueue(capacity)).toThrow(/is not a power of 2 of at least 2/)
  })
})

/** The memory of an empty queue that so many numbers have passed through. */
function begun(capacity: number, count: number): SharedArrayBuffer {
  const { buffer } = new IndexQueue(capacity)
  const words = new Int32Array(buffer)
  words[0] = count
  words[16] = count
  for (let i = 0; i < capacity; i++) {
    const turn = (count + i) | 0
    words[32 + 2 * (turn & (capacity - 1))] = turn
  }
  return buffer
}

describe('a pool', () => {
  it('gives each sample to one, and takes it back from the last who holds it', () => {
    holds(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.tuple(fc.constantFrom('take', 'hold', 'drop'), fc.nat(31)), { maxLength: 200 }),
        (log2, commands) => {
          const pool = Pool.create(2 ** log2, 1)
          const holders = new Map<number, number>()
          const out = new Int32Array(1)
          for (const [command, choice] of commands) {
            const held = [...holders.keys()]
            const index = held[choice % Math.max(1, held.length)]
            if (command === 'take') {
              const taken = pool.take(out, 0, 1)
              expect(taken).toBe(holders.size < pool.capacity ? 1 : 0)
              if (taken === 0) continue
              expect(holders.has(out[0]!)).toBe(false)
              holders.set(out[0]!, 1)
            } else if (index === undefined) continue
            else if (command === 'hold') {
              pool.hold(index)
              holders.set(index, holders.get(index)! + 1)
            } else {
              pool.drop(index)
              if (holders.get(index) === 1) holders.delete(index)
              else holders.set(index, holders.get(index)! - 1)
            }
            for (const [each, count] of holders) expect(pool.isAlone(each)).toBe(count === 1)
            expect(pool.available).toBe(pool.capacity - holders.size)
          }
        },
      ),
      200,
    )
  })

  it('notices a sample that is given back twice', () => {
    const pool = Pool.create(2, 1)
    const out = new Int32Array(1)
    pool.take(out, 0, 1)
    pool.drop(out[0]!)
    expect(() => pool.drop(out[0]!)).toThrow(/sample 0 was given back twice/)
  })
})
