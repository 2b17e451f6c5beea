import fc from 'fast-check'
import { expect, it } from 'vitest'
import { KeyReader } from '../../src/sketch/keys.ts'
import { scalarCount } from '../../src/sketch/sketch.ts'
import { TopTable } from '../../src/sketch/top-table.ts'
import { holds } from '../property.ts'

const capacity = 8

it('is a map with its least entry at hand, whatever is done to it', () => {
  const reader = new KeyReader(5, new Uint8Array(16).fill(3))
  const operations = fc.array(fc.tuple(fc.constantFrom('offer', 'set', 'remove'), fc.nat(15), fc.nat(9)), {
    maxLength: 80,
  })
  holds(
    fc.property(operations, (steps) => {
      const table = new TopTable(
        capacity,
        reader,
        new Float64Array(scalarCount),
        new Int32Array(capacity * 2),
        new Float64Array(capacity),
      )
      const model = new Map<string, number>()
      for (const [operation, id, count] of steps) {
        const key = Uint8Array.of(id, 0, 0, 0, id)
        reader.load(key, 0, 1)
        const [name, hash] = [`${key}`, reader.h1[0]!]
        const slot = table.find(reader.word, 0, hash)
        expect(slot >= 0).toBe(model.has(name))
        if (operation === 'remove' && model.size > 0) {
          const least = `${table.key(table.leastSlot)}`
          expect(model.get(least)).toBe(Math.min(...model.values()))
          table.removeLeast()
          model.delete(least)
        } else if (operation === 'set' && slot >= 0) {
          table.set(slot, count)
          model.set(name, count)
        } else if (operation === 'offer') {
          if (model.size === capacity && count > table.least && slot < 0) model.delete(`${table.key(table.leastSlot)}`)
          const skipped = model.size === capacity && count <= table.least
          table.offer(reader.word, 0, hash, count)
          if (!skipped) model.set(name, count)
        }
        expect(table.size).toBe(model.size)
        expect(table.least).toBe(model.size === 0 ? 0 : Math.min(...model.values()))
      }
      const kept = Array.from({ length: table.size }, (_, slot) => [`${table.key(slot)}`, table.counts[slot]])
      expect(new Map(kept as [string, number][])).toEqual(model)
      expect(table.restored()).toBeUndefined()
      expect(table.size).toBe(model.size)
    }),
    60,
  )
})
