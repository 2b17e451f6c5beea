/** The words of a device that are its driver's: within their part of the record, each of its own, pairs aligned. */
import { expect, it } from 'vitest'
import { RoceDev } from '../../../src/devices/roce/layout.ts'
import { layout } from '../../../src/verbs/provider/index.ts'

it('has words of its own', () => {
  const lengths: Partial<Record<keyof typeof RoceDev, number>> = { identity: 5, sleepsUntil: 2, serviceLooksAt: 2 }
  const taken = new Map<number, string>()
  for (const [name, at] of Object.entries(RoceDev) as [keyof typeof RoceDev, number][])
    for (let word = at; word < at + (lengths[name] ?? 1); word++) {
      expect(taken.get(word), `${name} at ${word}`).toBeUndefined()
      taken.set(word, name)
      expect(word).toBeGreaterThanOrEqual(layout.Dev.driver)
      expect(word).toBeLessThan(layout.Dev.counters)
    }
  expect(RoceDev.sleepsUntil % 2).toBe(0)
  expect(RoceDev.serviceLooksAt % 2).toBe(0)
})
