/** Broadcasts by multicast: in shared memory, and where they cannot be. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Context, openDevice } from '../../src/index.ts'
import { broadcasts, multicastTable as table } from './multicast.ts'
import { together } from './together.ts'

it('windows that are full and not, chunks that are whole and not, and none, from every root', async () => {
  await together(3, { device: 'shm0', table }, (comm) => broadcasts(comm, [0, 8, 4096, 140_000, 3], 7))
})

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

it('counts that differ are told, also where the chunks that both have are the same', async () => {
  const counts = [3 * 4096, 2 * 4096, 3 * 4096]
  const differing = together(3, { device: 'shm0', table }, (comm) =>
    comm.broadcastAsync(new Uint8Array(counts[comm.rank]!)),
  )
  await expect(differing).rejects.toThrow(/rank 1 has 8192 bytes where this rank has 12288: counts or types differ/)
})
