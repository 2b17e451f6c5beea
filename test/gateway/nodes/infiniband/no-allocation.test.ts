/** A sample costs no allocation: neither writing nor reading, inline or not, by infiniband and by shmem. */
import { afterEach, describe, expect, it } from 'vitest'
import { type NodeType, type Pool, SampleField } from '../../../../src/gateway/index.ts'
import { nodeTypes } from '../../../../src/gateway/nodes/index.ts'
import { leastGrowth } from '../../../heap.ts'
import { Bed, type TestNode, until } from './bed.ts'

/**
 * The smallest object there is has 16 bytes. What is allowed is less than a quarter of that for each sample: one call in a thousand looks
 * at the event channel, which takes some 700 bytes.
 */
const samples = 100_000
const allowedBytes = 4 * samples

let bed: Bed | undefined
afterEach(async () => {
  await bed?.stop()
  bed = undefined
})

/** What paths do: takes a sample, fills it, writes it, reads it at the other node, gives it back. */
function pass(pool: Pool, from: TestNode, to: TestNode, list: Int32Array, count: number): number {
  const [destination, source] = [from.running.destination!, to.running.source!]
  let read = 0
  for (let i = 0; i < count; i++) {
    pool.take(list, 0, 1)
    const word = pool.samples.word(list[0]!)
    pool.samples.u32[word + SampleField.length] = 8
    pool.samples.setInt64(word + SampleField.sequence, i)
    destination.write(list, 1)
    pool.release(list, 0, destination.released)
    pool.take(list, 0, 1)
    read += source.read(list, 1)
    pool.release(list, 0, source.released)
  }
  return read
}

async function grows(device: string | undefined, type: NodeType, a: object, b: object): Promise<number> {
  bed = new Bed(device === undefined ? {} : { device })
  const to = await bed.start('b', b, type)
  const from = await bed.start('a', a, type)
  await until(
    () => from.state === 'connected' && to.state === 'connected',
    () => void to.read(),
  )
  for (let i = 0; i < 128; i++) to.read()
  const { pool } = bed
  const list = new Int32Array(1)
  let wrong = 0
  const least = leastGrowth(() => {
    if (pass(pool, from, to, list, samples) !== samples) wrong++
  }, allowedBytes)
  expect(wrong).toBe(0)
  return least
}

describe('allocation', () => {
  it.each([
    ['the pool of the device', 'shm0', 128],
    ['the pool of the device, not inline', 'shm0', 0],
    ['another pool', undefined, 128],
  ] as const)('infiniband, %s', async (_title, device, inline) => {
    const infiniband = await nodeTypes.infiniband!()
    const b = { device: 'shm0', in: { address: '127.0.0.1:1801' } }
    const a = {
      device: 'shm0',
      in: { address: '127.0.0.1:1800' },
      out: { address: '127.0.0.1:1801', max_inline_data: inline },
    }
    expect(await grows(device, infiniband, a, b)).toBeLessThan(allowedBytes)
  })

  it('shmem', async () => {
    const name = `/a${process.pid}`
    const [a, b] = [
      { out: { name: `${name}-0` }, in: { name: `${name}-1` } },
      { in: { name: `${name}-0` }, out: { name: `${name}-1` } },
    ]
    expect(await grows(undefined, await nodeTypes.shmem!(), a, b)).toBeLessThan(allowedBytes)
  })
})
