/** The node-type shmem: two sides in one process. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { SampleField } from '../../../src/gateway/index.ts'
import { nodeTypes } from '../../../src/gateway/nodes/index.ts'
import { Region } from '../../../src/gateway/nodes/shmem/region.ts'
import { nativeAvailable } from '../../../src/index.ts'
import { Bed, parseNode, type TestNode, until } from './infiniband/bed.ts'

const shmem = await nodeTypes.shmem!()
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
let name = 0
let beds: Bed[] = []
afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.stop()
  expect(readdirSync('/dev/shm').filter((file) => file.startsWith(`verbena-shmem-t${process.pid}`))).toEqual([])
})

/** Two gateways, and a node in each of them: what `a` writes `b` reads, and the other way round. */
async function pair(rest: object = {}, values = 8): Promise<[a: TestNode, b: TestNode]> {
  const names = [`/t${process.pid}-${name++}`, `/t${process.pid}-${name++}`]
  beds = [new Bed({ values: 8 }), new Bed({ values })]
  const settings = (out: string, inside: string) => ({ out: { name: out }, in: { name: inside }, ...rest })
  const a = await beds[0]!.start('a', settings(names[0]!, names[1]!), shmem)
  const b = await beds[1]!.start('b', settings(names[1]!, names[0]!), shmem)
  return [a, b]
}

describe.skipIf(!nativeAvailable)('shmem', () => {
  it.each(['pthread', 'polling'])('mode %s: samples arrive as they were sent, in both directions', async (mode) => {
    const [a, b] = await pair({ mode })
    expect([a.state, b.state]).toEqual(['connected', 'connected'])
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const got: number[] = []
      expect(to.read()).toEqual([])
      for (const i of numbers(300)) {
        expect(from.write([i])).toBe(1)
        got.push(...to.read())
      }
      expect(got).toEqual(numbers(300))
    }
    for (const bed of beds) expect(await bed.stop()).toBe(0)
  })

  it("both directions may be one memory, as in VILLASnode's examples", async () => {
    beds = [new Bed({ values: 8 })]
    const one = `/t${process.pid}-${name++}`
    const both = await beds[0]!.start('both', { in: { name: one }, out: { name: one } }, shmem)
    for (const i of numbers(3)) expect(both.write([i])).toBe(1)
    expect(numbers(3).flatMap(() => both.read())).toEqual(numbers(3))
    expect(await beds[0]!.stop()).toBe(0)
  })

  it('loses what finds the queue full, and counts it', async () => {
    const [a, b] = await pair({ queuelen: 5 })
    for (const i of numbers(12)) expect(a.write([i])).toBe(i < 8 ? 1 : 0)
    expect(a.counters).toEqual({ overruns: 4 })
    expect(numbers(8).flatMap(() => b.read())).toEqual(numbers(8))
    expect(b.read()).toEqual([])
    expect(a.write([20])).toBe(1)
    expect(b.read()).toEqual([20])
  })

  it.each([2 ** 31 - 3, -3])('is as long, and in order, where its counts wrap: from %i on', (counted) => {
    const writer = new Region(`shmem-t${process.pid}-wrap`, 'writer')
    writer.make(8, 1, counted | 0)
    const reader = new Region(`shmem-t${process.pid}-wrap`, 'reader')
    expect(reader.find()).toBe(true)
    const values = (region: Region): Float64Array => region.ring!.f64
    for (let i = 0, read = 0; i < 40; ) {
      for (; !writer.isFull; writer.written()) values(writer)[(writer.writeWord + SampleField.data) >> 1] = i++
      expect([reader.length, writer.length]).toEqual([8, 8])
      for (let k = 0; k < 5; k++, reader.haveRead())
        expect(values(reader)[(reader.readWord + SampleField.data) >> 1]).toBe(read++)
    }
    reader.close()
    writer.close()
  })

  it('keeps nothing for a reader that is not there', async () => {
    const [a, b] = await pair()
    await b.stop()
    expect(a.state).toBe('started')
    expect(a.write([1])).toBe(0)
    expect(a.counters).toEqual({ no_reader: 1 })
  })

  it('a reader waits for the writer, and for samples', async () => {
    const [a, b] = await pair()
    a.write([1])
    b.running.source!.wait!(60_000)
    expect(b.read()).toEqual([1])
  })

  it('counts samples that do not fit', async () => {
    const [a, b] = await pair({}, 4)
    a.write([1, 2], (sequence) => sequence * 4)
    expect(b.read(2)).toEqual([1])
    expect(b.counters).toEqual({ too_long: 1 })
  })

  it('has one reader and one writer', async () => {
    await pair()
    const bed = new Bed()
    beds.push(bed)
    const taken = { in: { name: `/t${process.pid}-${name - 1}` } }
    await expect(bed.start('c', taken, shmem)).rejects.toThrow('another process is the reader')
    const written = { out: { name: `/t${process.pid}-${name - 1}` } }
    await expect(bed.start('d', written, shmem)).rejects.toThrow('another process is the writer')
  })

  it('a side that is killed is noticed, counted, and may come again', async () => {
    const [inside, out] = [`/t${process.pid}-${name++}`, `/t${process.pid}-${name++}`]
    const bed = new Bed()
    beds = [bed]
    const a = await bed.start('a', { in: { name: inside }, out: { name: out } }, shmem)
    const region = new URL('../../../src/gateway/nodes/shmem/region.ts', import.meta.url).href
    const program = `const { Region } = await import('${region}')
      const writer = new Region('shmem-${inside.slice(1)}', 'writer')
      writer.make(16, 8)
      new Region('shmem-${out.slice(1)}', 'reader').find()
      process.kill(process.pid, 'SIGKILL')`
    for (let round = 1; round <= 2; round++) {
      const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', program]
      expect(spawnSync(process.execPath, args, { stdio: 'inherit' }).signal).toBe('SIGKILL')
      await until(
        () => a.counters.peers_lost === 2 * round,
        () => {
          a.read()
          a.flush()
        },
      )
      expect(a.state).toBe('started')
    }
  })

  it('starts a program, and ends it', async () => {
    const [a] = await pair({ exec: ['sleep', '1000'] })
    await a.stop()
  })

  it('says that a program does not run', async () => {
    const [a, b] = await pair({ exec: ['/no/such/program'] })
    await until(() => a.failures.length === 1 && b.failures.length === 1)
    expect(a.failures[0]!.message).toContain('ENOENT')
  })
})

it.each([
  [{}, 'neither in.name nor out.name'],
  [{ in: { name: '/a/b' } }, 'a slash and a name'],
  [{ in: { name: '/a' }, mode: 'eventfd' }, 'one of "pthread", "polling"'],
  [{ in: { name: '/a', nme: 1 } }, "Did you mean 'name'?"],
])('rejects %j', (settings, message) => {
  expect(() => parseNode(shmem, 'a', settings)).toThrow(message)
})
