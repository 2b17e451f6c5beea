/** Collectives over packets that are lost, repeated and reordered. */
import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { collectives, createCommunicator, operations } from '../../src/collectives/index.ts'
import { Lane } from '../../src/collectives/lane.ts'
import { faults, openDevice } from '../../src/index.ts'
import { holds, seeds } from '../property.ts'
import { perform, types } from './reference.ts'
import { ranksHere, together } from './together.ts'

// The ranks of one process have common memory, which hosts do not have.
it.each([
  ['messages', false],
  ['common memory', true],
])('every collective among four ranks by %s gives what it must, whatever becomes of the packets', async (_, common) => {
  const share = vi.spyOn(Lane.prototype, 'share')
  if (!common) share.mockImplementation(() => undefined)
  onTestFinished(() => share.mockRestore())
  await holds(
    fc.asyncProperty(seeds, async (seed) => {
      const contexts = Array.from({ length: 4 }, (_, rank) =>
        openDevice(`roce:127.93.7.${rank + 1}`, {
          wrap: [faults({ loss: 0.03, duplication: 0.03, reordering: 0.03, seed: seed + rank })],
        }),
      )
      try {
        const of = (rank: number) => ({ context: contexts[rank]! })
        await together(4, of, async (comm) => {
          let call = 0
          for (const count of [3, 5000])
            for (const collective of collectives) {
              const type = types[(seed + call) % types.length]!
              const operation = operations[(seed + call) % 3]!
              const root = (seed + call) % 4
              await perform(comm, { collective, type, count, root, operation, allocated: call % 2 === 0 }, call++)
            }
        })
        const lost = contexts.reduce((sum, context) => sum + (context.counters().injected_losses ?? 0), 0)
        expect(lost).toBeGreaterThan(0)
        expect(share).toHaveBeenCalled()
      } finally {
        for (const context of contexts) context.close()
      }
    }),
    1,
    10,
  )
})

it('the last message of a rank arrives before it is gone', async () => {
  await holds(
    fc.asyncProperty(seeds, async (seed) => {
      // Each packet passes both: of eight tries, one arrives and is acknowledged but in one of a million cases.
      const contexts = [1, 2].map((n) =>
        openDevice(`roce:127.93.9.${n}`, { wrap: [faults({ loss: 0.05, seed: seed + n })] }),
      )
      try {
        const comms = await Promise.all(
          ranksHere(2).map((ranks) => createCommunicator(ranks, { context: contexts[ranks.rank]! })),
        )
        const ends = comms.map(async (comm) => {
          await comm.barrierAsync()
          await comm.end()
        })
        await Promise.all(ends)
      } finally {
        for (const context of contexts) context.close()
      }
    }),
    2,
    30,
  )
})
