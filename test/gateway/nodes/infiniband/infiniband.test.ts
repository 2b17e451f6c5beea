/** Two nodes in one process: every mode, on shared memory and on UDP. */
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { loopbackAddress } from '../../../loopback.ts'
import { Bed, type BedOptions, type TestNode, until } from './bed.ts'

const modes = ['RC', 'UC', 'UD'] as const
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i)

let bed: Bed | undefined
function bedOn(options: BedOptions): Bed {
  bed = new Bed(options)
  return bed
}
afterEach(async () => {
  await bed?.stop()
  bed = undefined
})

/** Settings of two nodes: `b` listens, `a` connects to it. */
function pair(device: string, rest: { mode?: string; in?: object; out?: object } = {}) {
  const name = device === 'roce' ? {} : { device }
  const [a, b] = device === 'roce' ? [loopbackAddress(1), loopbackAddress(2)] : ['127.0.0.1', '127.0.0.1']
  const common = { rdma_transport_mode: rest.mode ?? 'RC', ...name }
  return {
    a: { ...common, in: { address: `${a}:1400`, ...rest.in }, out: { address: `${b}:1401`, ...rest.out } },
    b: { ...common, in: { address: `${b}:1401`, ...rest.in } },
  }
}

/** Reads until all receives are posted that a node wants. */
async function ready(...nodes: TestNode[]): Promise<void> {
  await until(
    () => nodes.every(({ state }) => state === 'connected'),
    () => nodes.map((node) => node.read()),
  )
  for (let i = 0; i < 128; i++) for (const node of nodes) expect(node.read()).toEqual([])
}

async function transfer(from: TestNode, to: TestNode, first: number, count: number, batch = 1): Promise<number[]> {
  const got: number[] = []
  const read = (): void => void got.push(...to.read())
  let lost = 0
  for (let i = 0; i < count; i += batch) {
    lost += batch - from.write(numbers(first + i, batch))
    await until(() => got.length >= i + batch - lost, read)
  }
  expect(lost).toBe(0)
  return got
}

describe.each([
  ['shm0', 'shm0'],
  ['shm0', undefined],
  ['roce', undefined],
] as const)('on %s, the pool in memory of %s', (device, memory) => {
  it.each(modes)('%s: samples arrive as they were sent', async (mode) => {
    const it = bedOn(memory === undefined ? {} : { device: memory })
    const settings = pair(device, { mode, out: { max_inline_data: 128, periodic_signaling: 10 } })
    const b = await it.start('b', settings.b)
    const a = await it.start('a', settings.a)
    await ready(a, b)
    expect(await transfer(a, b, 0, 100)).toEqual(numbers(0, 100))
    expect(a.counters).toMatchObject({ sent: 100, inline: 90, signaled: 10, send_failed: 0, send_queue_full: 0 })
    expect(b.counters).toMatchObject({ received: 100, malformed: 0, receive_failed: 0 })
    const copies = a.lines.some((line) => line.includes('each sample is copied'))
    expect(copies).toBe(memory === undefined)
    expect(await it.stop()).toBe(0)
  })
})

/** Processor time that this thread has used, milliseconds. */
const usedMs = (): number => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6

describe.skipIf(!existsSync('/proc/thread-self/schedstat'))('without a connection', () => {
  it.each(['shm0', 'roce'])('a thread that waits for a node that listens sleeps, on %s', async (device) => {
    const b = await bedOn({}).start('b', pair(device).b)
    b.read()
    const before = usedMs()
    const began = performance.now()
    b.running.source!.wait!(500)
    // However busy the machine is: it slept all the time, and had not used a quarter of it.
    expect(performance.now() - began).toBeGreaterThan(400)
    expect(usedMs() - before).toBeLessThan(125)
  })
})

it('both directions of a connection', async () => {
  const it = bedOn({ device: 'shm0' })
  const settings = pair('shm0')
  const b = await it.start('b', settings.b)
  const a = await it.start('a', settings.a)
  await ready(a, b)
  expect(await transfer(a, b, 0, 50)).toEqual(numbers(0, 50))
  expect(await transfer(b, a, 100, 50)).toEqual(numbers(100, 50))
  expect(await it.stop()).toBe(0)
})

it('several samples at once', async () => {
  const it = bedOn({ device: 'shm0' })
  const settings = pair('shm0', { in: { vectorize: 8 }, out: { vectorize: 8, max_inline_data: 96 } })
  const b = await it.start('b', settings.b)
  const a = await it.start('a', settings.a)
  await ready(a, b)
  expect(await transfer(a, b, 0, 400, 8)).toEqual(numbers(0, 400))
  expect(await it.stop()).toBe(0)
})
