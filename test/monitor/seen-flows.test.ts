import fc from 'fast-check'
import { expect, it } from 'vitest'
import { monitorConfig, Window } from '../../src/monitor/index.ts'
import { keyWords, Word } from '../../src/monitor/key.ts'
import { SeenFlows } from '../../src/monitor/seen-flows.ts'
import { sketchesOf } from '../../src/monitor/window.ts'
import { Service } from '../../src/trace/index.ts'
import { holds } from '../property.ts'

const plan = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })

it('counts each flow and host of a window as if it were added by itself, whatever came before', () => {
  const few = fc.tuple(fc.nat(40), fc.nat(40), fc.constantFrom(Service.RC, Service.UD), fc.nat(3), fc.nat(5), fc.nat(3))
  holds(
    fc.property(fc.array(fc.array(few, { maxLength: 700 }), { maxLength: 3 }), (windows) => {
      const names: Record<'flows' | 'hosts', Set<string>>[] = []
      const seen = new SeenFlows({
        keys: () => {},
        latency: () => {},
        seen: (of, key) => names.at(-1)![of].add(`${key}`),
      })
      for (const keys of windows) {
        names.push({ flows: new Set(), hosts: new Set() })
        const [window, alone] = [new Window(plan, 0), sketchesOf(plan)]
        const expected = { flows: new Set<string>(), hosts: new Set<string>() }
        for (const [from, to, service, srcQp, destQp, kind] of keys) {
          const key = new Int32Array(keyWords)
          key[3] = from
          key[7] = to
          key[Word.sourceQp] = (service << 24) | srcQp
          key[Word.destinationQp] = (0x55 << 24) | destQp
          key[Word.rest] = (kind << 30) | 0x1234
          seen.add(key, window)
          const flow = new Uint8Array(40)
          flow.set([from], 12)
          flow.set([to], 28)
          flow.set([service === Service.UD ? srcQp : 0, 0, 0, service, destQp], 32)
          alone.flows.update(flow)
          expected.flows.add(`${flow}`)
          for (const address of [flow.subarray(0, 16), flow.subarray(16, 32)]) {
            const host = Uint8Array.of(...address, kind)
            alone.hosts.update(host)
            expected.hosts.add(`${host}`)
          }
        }
        seen.end(window)
        expect(names.at(-1)).toEqual(expected)
        for (const of of ['flows', 'hosts'] as const) {
          expect(window.sketches[of].cardinality().lower).toBe(alone[of].cardinality().lower)
          expect(window.sketches[of].total).toBeGreaterThanOrEqual(expected[of].size)
        }
      }
    }),
    20,
  )
})
