/** Small messages through a stream, both ends in one thread, leave no garbage behind. */
import { expect, test } from 'vitest'
import { leastGrowth } from '../../heap.ts'
import { makePair } from './pair.ts'

const calls = 50_000
/** An object for each message would be 1.6 MB at least; the heap may grow a little by itself. */
const allowedBytes = 4 * calls

test('sending and receiving allocates nothing', () => {
  const pair = makePair()
  const [a, b] = [pair.a.connection, pair.b.connection]
  const bytes = new Uint8Array(16)
  let turns = 0
  const turn = (): void => {
    turns++
    a.send(bytes, 0, 16)
    b.process()
    b.recv(bytes, 0, 16)
    b.send(bytes, 0, 16)
    a.process()
    a.recv(bytes, 0, 16)
  }
  const least = leastGrowth(() => {
    for (let i = 0; i < calls; i++) turn()
  }, allowedBytes)
  expect(a.counters.messagesSent).toBeGreaterThanOrEqual(turns)
  expect(a.error + b.error).toBe(0)
  expect(least).toBeLessThan(allowedBytes)
  pair.close()
})
