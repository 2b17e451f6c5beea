import { describe, expect, it } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { counting, Lives } from './life.ts'

/** What one end of a connection may take from its beginning to its end. */
const most = { locks: 50, increments: 1 }

describe.each([
  ['shm0', 'shm0'],
  ['roce', loopbackDevice(1)],
])('the life of a connection on %s', (_, device) => {
  it('waits for no grace period, and hardly disturbs others', async () => {
    const context = openDevice(device)
    const lives = await Lives.begin(device, device === 'shm0' ? '127.0.0.1' : loopbackAddress(1))
    for (let i = 0; i < 3; i++) await lives.one()
    const connections = 20
    const each = (count: number): number => count / connections / 2
    let [locks, increments] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    // A busy machine adds some: services look for what is late. It does not do so in each of several rounds.
    for (let round = 0; round < 5 && (locks > most.locks || increments > most.increments); round++) {
      const counts = await counting(context, async () => {
        for (let i = 0; i < connections; i++) await lives.one()
      })
      expect(counts.quiesce).toBe(0)
      // Those of a grace period are for all that ended since the last: on a busy machine that may be one end.
      increments = Math.min(increments, each(counts.bumpEpoch - counts.beginGrace))
      locks = Math.min(locks, each(counts.lock + counts.passLock))
    }
    expect(locks).toBeLessThanOrEqual(most.locks)
    expect(increments).toBeLessThanOrEqual(most.increments)
    await lives.end()
    context.close()
  })
})
