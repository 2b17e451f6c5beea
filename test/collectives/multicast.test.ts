/** Broadcasts by multicast: in shared memory, and where they cannot be. */
import { EventEmitter, once } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { CollectiveError, Communicator } from '../../src/collectives/index.ts'
import { Lane } from '../../src/collectives/lane.ts'
import { Window } from '../../src/collectives/multicast-window.ts'
import { type Context, openDevice } from '../../src/index.ts'
import { broadcasts, repairs, multicastTable as table } from './multicast.ts'
import { together } from './together.ts'

/** The number of the first chunk of all. */
function beginAt(first: number): void {
  const { begin } = Window.prototype
  const begun = new WeakSet<Window>()
  const spy = vi.spyOn(Window.prototype, 'begin').mockImplementation(function (this: Window, broadcast) {
    if (!begun.has(this)) this.next = first
    begun.add(this)
    begin.call(this, broadcast)
  })
  onTestFinished(() => void spy.mockRestore())
}

it('windows that are full and not, chunks that are whole and not, and none, from every root', async () => {
  beginAt(2 ** 32 - 5)
  await together(3, { device: 'shm0', table }, (comm) => broadcasts(comm, [0, 8, 4096, 140_000, 3], 7))
})

it.each([0, 2 ** 32 - 10])(
  'chunks of the next broadcast that come to a rank in this one are kept, the first is %i',
  async (first) => {
    beginAt(first)
    const repaired = repairs()
    const meeting = new EventEmitter()
    await together(3, { device: 'shm0', table }, async (comm) => {
      const data = comm.alloc(Uint8Array, 40_000)
      const fill = (root: number): Uint8Array => (comm.rank === root ? data.fill(root + 1) : data.fill(9))
      // Rank 0 waits for the report of rank 2, while rank 1 goes on to the next, and is its root.
      if (comm.rank === 2) await once(meeting, 'next')
      await comm.broadcastAsync(fill(0), 0)
      expect(data.every((byte) => byte === 1)).toBe(true)
      const next = comm.broadcastAsync(fill(1), 1)
      if (comm.rank === 1) {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        meeting.emit('next')
      }
      await next
      expect(data.every((byte) => byte === 2)).toBe(true)
    })
    expect(repaired()).toBe(0)
  },
)

it('a device that has no multicast is named', async () => {
  const contexts: Context[] = [1, 2].map(() => openDevice('shm0'))
  onTestFinished(() => {
    for (const context of contexts) context.close()
  })
  const attr = contexts[1]!.queryDevice()
  vi.spyOn(contexts[1]!, 'queryDevice').mockReturnValue({ ...attr, maxMcastGrp: 0 })
  const of = (rank: number) => ({ context: contexts[rank]! })
  const multicasting = together(
    2,
    (rank) => ({ ...of(rank), table }),
    async () => {},
  )
  await expect(multicasting).rejects.toThrow(
    'the rules choose multicast, and the device of rank 1 has none: it has no multicast groups',
  )
  // Without such a rule nobody needs it.
  await together(2, of, (comm) => broadcasts(comm, [1], 1))
})

it('ranks that disagree are told', async () => {
  await expect(
    together(3, { device: 'shm0', table }, (comm) =>
      comm.rank === 0 ? comm.broadcastAsync(new Uint8Array(100)) : comm.barrierAsync(),
    ),
  ).rejects.toThrow(
    /barrier as call 1.*broadcast with root 0 as call 1|broadcast with root 0 as call 1.*barrier as call 1/,
  )
})

it('counts for which the rules choose multicast at the root only', async () => {
  const rules = [{ collective: 'broadcast', algorithm: 'binomial', maxBytes: 100 } as const, ...table.rules]
  const errors: CollectiveError[] = []
  const comms: Communicator[] = []
  await together(2, { device: 'shm0', table: { version: 1, rules }, timeoutMs: 5000 }, async (comm) => {
    comms.push(comm)
    const call = comm.broadcastAsync(new Uint8Array(comm.rank === 0 ? 200 : 100))
    await call.catch((error: CollectiveError) => errors.push(error))
    for (const one of comms) one.close()
  })
  expect(errors[0]).toMatchObject({ code: 'EMISMATCH', rank: 0 })
  expect(errors[0]!.message).toContain('rank 0 takes another algorithm: counts or types differ')
})

it('a report of chunks that the window does not have is none', async () => {
  const errors: CollectiveError[] = []
  await together(2, { device: 'shm0', table }, async (comm) => {
    const data = comm.alloc(Uint8Array, 100)
    const words = new Int32Array(data.buffer)
    const { send } = Lane.prototype
    if (comm.rank === 0)
      vi.spyOn(Lane.prototype, 'send').mockImplementationOnce(function (this: Lane, kind, tag, range, offset, length) {
        words[range.at / 4 + 1] = -1
        send.call(this, kind, tag, range, offset, length)
      })
    await comm.broadcastAsync(data).catch((error: CollectiveError) => errors.push(error))
  })
  expect(errors).toMatchObject([{ code: 'EPEER', rank: 1, message: 'rank 1 lacks chunks that there are not' }])
})

it('counts that differ are told, also where the chunks that both have are the same', async () => {
  const counts = [3 * 4096, 2 * 4096, 3 * 4096]
  const differing = together(3, { device: 'shm0', table }, (comm) =>
    comm.broadcastAsync(new Uint8Array(counts[comm.rank]!)),
  )
  await expect(differing).rejects.toThrow(/rank 1 has 8192 bytes where this rank has 12288: counts or types differ/)
})
