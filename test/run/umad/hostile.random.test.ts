/** Whatever a program writes, asks for and registers: errnos, and nothing that throws or stays. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { holds, seeds } from '../../property.ts'
import { seededBelow } from '../../random.ts'
import { writing } from '../watch/recording.ts'
import { newAdapter, type Outcome, Program } from './program.ts'

test('any calls', () => {
  const adapter = newAdapter()
  const port = adapter.port()
  const classes = [0, 1, 3, 4, 6, 7, 0x21, 0x32, 0x4f, 0x50, 0x81, 0xff]
  holds(
    fc.property(seeds, (seed) => {
      const random = seededBelow(seed)
      const program = new Program(port, writing)
      if (random(2)) program.enablePkey()
      const some = (length: number): Uint8Array => Uint8Array.from({ length }, () => (random(3) ? 0 : random(256)))
      const oneOf = <T>(list: readonly T[]): T => list[random(list.length)]!
      const isOutcome = (outcome: Outcome): void => {
        if (typeof outcome === 'object') expect([5, 11, 12, 14, 22, 25, 28]).toContain(outcome.errno)
      }
      for (let i = 0; i < 60; i++)
        switch (random(6)) {
          case 0:
            isOutcome(
              program.register(oneOf(classes), {
                version: oneOf([1, 1, 1, 2, 9]),
                methods: random(2) ? [] : [random(128)],
                rmpp: random(3) ? 0 : 1,
                oui: random(3),
              }),
            )
            break
          case 1:
            isOutcome(program.ioctl(oneOf([0xc01c1b01, 0xc0281b04, 0x40041b02, 0x1b03, 7]), random(4) ? some(40) : 5))
            break
          case 2:
            isOutcome(program.write(some(random(700))))
            break
          case 3:
            isOutcome(program.read(random(2) ? 4096 : random(400)))
            break
          default: {
            const bytes = some(oneOf([36, 256, 256, 256, 600]))
            bytes.set([1, oneOf(classes), oneOf([1, 2]), oneOf([1, 2, 5, 7, 0x12, 0x81, 0x92])])
            isOutcome(
              program.send(random(4), bytes, { lid: oneOf([0, 1, 2, 3, 0xffff]), timeoutMs: oneOf([0, 1, 1000]) }),
            )
          }
        }
      for (let i = 0; program.door.progress(); i++) expect(i).toBeLessThan(10_000)
      program.door.close()
      expect(port.restMs()).toBe(Number.POSITIVE_INFINITY)
    }),
    40,
  )
  adapter.close()
})
