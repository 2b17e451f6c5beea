/** Codes of times, and the heap of deadlines. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deadlines, type Timed } from '../../src/cm/ib/deadlines.ts'
import { ackTimeoutCode, timeoutCode, timeoutNs } from '../../src/cm/ib/index.ts'
import { holds } from '../property.ts'

test('codes', () => {
  expect(timeoutNs(0)).toBe(4096)
  expect(timeoutNs(20)).toBe(4_294_967_296)
  expect(timeoutNs(31)).toBeCloseTo(8.8e12, -11)
  for (let code = 0; code < 32; code++) {
    expect(timeoutCode(timeoutNs(code))).toBe(code)
    if (code > 0) expect(timeoutCode(timeoutNs(code) - 1)).toBe(code)
  }
  expect(timeoutCode(0)).toBe(0)
  expect(timeoutCode(1e30)).toBe(31)
})

// IBA 12.7.34
test('the local ACK timeout is as Linux rounds it', () => {
  // With comparisons instead of sums: the delay counts if it is at least half of the path's part, and the other way round.
  const compared = (delay: number, lifeTime: number): number => {
    const path = lifeTime + 1
    const [more, less] = path >= delay ? [path, delay] : [delay, path]
    return Math.min(31, less >= more - 1 ? more + 1 : more)
  }
  for (let delay = 0; delay < 32; delay++)
    for (let lifeTime = 0; lifeTime < 32; lifeTime++)
      expect(ackTimeoutCode(delay, lifeTime), `${delay}, ${lifeTime}`).toBe(compared(delay, lifeTime))
})

test('the heap gives what is due first', () => {
  const steps = fc.array(fc.tuple(fc.nat(20), fc.option(fc.nat(50))), { maxLength: 200 })
  holds(
    fc.property(steps, (all) => {
      const heap = new Deadlines<Timed & { name: number }>()
      const items = Array.from({ length: 21 }, (_, name) => ({ name, deadlineNs: 0, place: -1 }))
      const model = new Map<number, number>()
      for (const [name, deadline] of all) {
        if (deadline === null) {
          heap.remove(items[name]!)
          model.delete(name)
        } else {
          heap.set(items[name]!, deadline)
          model.set(name, deadline)
        }
        expect(heap.size).toBe(model.size)
        expect(heap.first?.deadlineNs).toBe(model.size === 0 ? undefined : Math.min(...model.values()))
      }
      while (heap.first) {
        const { first } = heap
        expect(first.deadlineNs).toBe(Math.min(...model.values()))
        model.delete(first.name)
        heap.remove(first)
      }
      expect(model.size).toBe(0)
    }),
    200,
  )
})
