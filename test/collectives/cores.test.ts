/** Whether ranks take themselves for more than the cores of their host. */
import { expect, it, vi } from 'vitest'
import { areCrowded, coresBytes, describeCores } from '../../src/collectives/cores.ts'
import { type CommunicatorOptions, createCommunicator, type Ranks } from '../../src/collectives/index.ts'
import { Runner } from '../../src/collectives/runner.ts'
import { ranksHere } from './together.ts'

interface Told {
  cores: readonly number[]
  count: number
}

const bound = (core: number): Told => ({ cores: [core], count: 1 })
const unknown = (count: number): Told => ({ cores: [], count })
const free = { cores: [0, 1], count: 2 }
const limited = { cores: [0, 1, 2, 3], count: 1 }

it.each<[string, boolean, Told[]]>([
  ['two on two cores', false, [free, free]],
  ['three on two cores', true, [free, free, free]],
  ['each bound to a core of its own', false, [bound(0), bound(9), bound(1023)]],
  ['two bound to one core', true, [bound(3), bound(3)]],
  ['three bound to two cores', true, [bound(0), bound(1), bound(1)]],
  ['cores unknown, enough threads', false, [unknown(2), unknown(2)]],
  ['cores unknown, too few threads', true, [unknown(1), unknown(1)]],
  ['one that is bound where others know nothing', false, [bound(0), unknown(2)]],
  ['a share of the time of four cores', true, [limited, limited]],
  ['cores that have no bit', true, [bound(1024), bound(1025)]],
])('%s: %s', (_, crowded, told) => {
  expect(areCrowded(told.map(({ cores, count }) => describeCores(cores, count)))).toBe(crowded)
})

/** Makes communicators of ranks whose first exchange is changed, and how long messages must be to be read where they are. */
async function directBytesOf(
  change: (bytes: Uint8Array, rank: number) => Uint8Array,
  hosts?: string[],
  options?: CommunicatorOptions,
): Promise<number[]> {
  const set = vi.spyOn(Runner.prototype, 'directBytes', 'set')
  try {
    const made = ranksHere(2).map((ranks) => {
      let isFirst = true
      const allgather: Ranks['allgather'] = (bytes) => {
        const told = isFirst ? change(bytes, ranks.rank) : bytes
        isFirst = false
        return ranks.allgather(told)
      }
      const members = hosts === undefined ? {} : { members: hosts.map((host) => ({ host })) }
      return createCommunicator({ ...ranks, ...members, allgather }, { device: 'shm0', ...options })
    })
    const settled = await Promise.allSettled(made)
    for (const one of settled) if (one.status === 'fulfilled') one.value.close()
    for (const one of settled) if (one.status === 'rejected') throw one.reason
    return set.mock.calls.map(([bytes]) => bytes)
  } finally {
    set.mockRestore()
  }
}

const on =
  (...cores: number[]) =>
  (bytes: Uint8Array, rank: number): Uint8Array => {
    bytes.set(describeCores([cores[rank]!], 1), bytes.length - coresBytes)
    return bytes
  }

it('ranks that are bound to different cores read short messages where they are, too', async () => {
  expect(await directBytesOf(on(0, 1))).toEqual([2048, 2048])
})

it('ranks that share a core do not', async () => {
  expect(await directBytesOf(on(5, 5))).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
})

it('cores of the same number are of different hosts', async () => {
  expect(await directBytesOf(on(5, 5), ['one', 'other'])).toEqual([2048, 2048])
})

it('what was asked for counts', async () => {
  expect(await directBytesOf(on(5, 5), undefined, { directBytes: 100 })).toEqual([100, 100])
})

it.each([0, 1, coresBytes, coresBytes + 1, 1000])('%d bytes are none that a rank tells', async (length) => {
  await expect(directBytesOf(() => new Uint8Array(length))).rejects.toMatchObject({ code: 'EMISMATCH' })
})
