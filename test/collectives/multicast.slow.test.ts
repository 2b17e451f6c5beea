/** Broadcasts by multicast: whatever is lost, repeated or reordered is repaired. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { faults, openDevice } from '../../src/index.ts'
import { holds, seeds } from '../property.ts'
import { broadcasts, repairs, multicastTable as table } from './multicast.ts'
import { together } from './together.ts'

it('four ranks on a network that loses, repeats and reorders packets', async () => {
  const repaired = repairs()
  await holds(
    fc.asyncProperty(seeds, async (seed) => {
      const contexts = Array.from({ length: 4 }, (_, rank) =>
        openDevice(`roce:127.93.9.${rank + 1}`, {
          wrap: [faults({ loss: 0.1, duplication: 0.05, reordering: 0.1, seed: seed + rank })],
        }),
      )
      try {
        const of = (rank: number) => ({ context: contexts[rank]!, table })
        await together(4, of, (comm) => broadcasts(comm, [1, 0, 5000, 300_000, 17, 131_072], seed))
        const lost = contexts.reduce((sum, context) => sum + (context.counters().injected_losses ?? 0), 0)
        expect(lost).toBeGreaterThan(0)
      } finally {
        for (const context of contexts) context.close()
      }
    }),
    2,
    6,
  )
  expect(repaired()).toBeGreaterThan(0)
})
