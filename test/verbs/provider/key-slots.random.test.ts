/** Whoever looks for keys that are in use finds all of them and no others, without reading the whole table. */
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { Access, MwType, openDevice } from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { eachKey } from '../../../src/verbs/provider/key-slots.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { holds } from '../../property.ts'

const { Key } = layout
const context = openDevice('shm0')
const { host } = context.device
afterAll(() => context.close())

/** Keys in use, by kind. */
function found(): Map<number, number> {
  const all = new Map<number, number>()
  eachKey(host, (entry, kind) => all.set(host.i32[entry + Key.key]! >>> 8, kind))
  return all
}

it('regions and windows that come and go in any order', () => {
  const pd = context.allocPd()
  const buffer = context.alloc(4096)
  const mine: { key: number; close(): void }[] = []
  const before = found().size
  holds(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('region', 'window', 'close'), fc.nat()), { maxLength: 60 }),
      (steps) => {
        for (const [step, n] of steps) {
          if (step === 'region') {
            const mr = pd.regMr(buffer, Access.LocalWrite)
            mine.push({ key: mr.rkey >>> 8, close: () => mr.close() })
          } else if (step === 'window') {
            const mw = pd.allocMw(MwType.Type2)
            mine.push({ key: mw.rkey >>> 8, close: () => mw.close() })
          } else if (mine.length > 0) mine.splice(n % mine.length, 1)[0]!.close()
          sweepNow(host)
          const keys = found()
          expect(keys.size).toBe(before + mine.length)
          for (const { key } of mine) expect(keys.has(key)).toBe(true)
        }
      },
    ),
    30,
  )
  for (const one of mine) one.close()
  pd.close()
  context.free(buffer)
})

it('it reads the marks and the entries that are in use, and nothing else of the table', () => {
  const table = { from: host.at.keys, to: host.at.keys + layout.keySlots * Key.words }
  const read = new Set<number>()
  const i32 = new Proxy(host.i32, {
    get(target, name) {
      const at = Number(name)
      if (at >= table.from && at < table.to) read.add(at)
      return Reflect.get(target, name, target)
    },
  })
  let keys = 0
  eachKey({ at: host.at, i32 } as typeof host, () => {
    keys++
  })
  expect(read.size).toBe(keys)
})
