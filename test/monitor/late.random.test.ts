/** Losses are what is missing without what came late: late is only what was missing, whatever was lost, sent again, or only counted. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../property.ts'
import { Traffic } from './traffic.ts'

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), lost: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('back' as const), by: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('ack' as const), by: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('nak' as const), by: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('swap' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('overload' as const), on: fc.boolean() }) },
)

it('no more is late than was missing', () => {
  holds(
    fc.property(fc.nat(2), fc.array(step, { maxLength: 60 }), (paired, steps) => {
      const traffic = new Traffic({ memoryBytes: 2 ** 20 })
      let next = 100
      // Perhaps the two directions are known to belong together before anything else.
      for (; next < 100 + paired; next++) {
        traffic.send(next)
        traffic.ack(next)
      }
      for (const one of steps) {
        if (one.do === 'overload') traffic.overloaded = one.on
        else if (one.do === 'send') {
          if (!one.lost) traffic.send(next)
          next++
        } else if (one.do === 'swap') {
          traffic.send(next + 1)
          traffic.send(next)
          next += 2
        } else if (one.do === 'back') for (let psn = Math.max(50, next - one.by); psn < next; psn++) traffic.send(psn)
        else traffic.ack(next - 1 - one.by, one.do === 'ack' ? 0x1f : 0x60)
      }
      traffic.send(next)
      const { missing, late } = traffic.end().totals()
      expect(late).toBeLessThanOrEqual(missing)
    }),
    40,
  )
})
