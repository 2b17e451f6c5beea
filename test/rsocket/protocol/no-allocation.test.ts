/** Small messages through a stream, both ends in one thread, leave no garbage behind. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { makePair } from './pair.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const calls = 50_000
/** An object for each message would be 1.6 MB at least; the heap may grow a little by itself. */
const allowedBytes = 4 * calls

test('sending and receiving allocates nothing', () => {
  const pair = makePair()
  const [a, b] = [pair.a.connection, pair.b.connection]
  const bytes = new Uint8Array(16)
  const turn = (): void => {
    a.send(bytes, 0, 16)
    b.process()
    b.recv(bytes, 0, 16)
    b.send(bytes, 0, 16)
    a.process()
    a.recv(bytes, 0, 16)
  }
  for (let i = 0; i < calls; i++) turn()
  // A number that grows out of a small integer is allocated once in a while: the least of several runs tells.
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 5; run++) {
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < calls; i++) turn()
    least = Math.min(least, process.memoryUsage().heapUsed - before)
  }
  expect(a.counters.messagesSent).toBeGreaterThanOrEqual(6 * calls)
  expect(a.error + b.error).toBe(0)
  expect(least).toBeLessThan(allowedBytes)
  pair.close()
})
