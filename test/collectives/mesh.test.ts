/** Which ranks take their memory for common. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Communicator, createCommunicator, type Ranks } from '../../src/collectives/index.ts'
import { Lane } from '../../src/collectives/lane.ts'
import { ranksHere } from './together.ts'

/** By rank, whose memory it takes for its own when rank 1 changes what it tells in its exchanges. */
async function shared(tell: (exchange: number, bytes: Uint8Array) => Uint8Array): Promise<number[]> {
  const share = vi.spyOn(Lane.prototype, 'share')
  const comms: Communicator[] = []
  onTestFinished(() => {
    share.mockRestore()
    for (const comm of comms) comm.close()
  })
  const [first, second] = ranksHere(2)
  let exchanges = 0
  const forger: Ranks = { ...second!, allgather: (bytes) => second!.allgather(tell(exchanges++, bytes)) }
  const made = [first!, forger].map((ranks) => createCommunicator(ranks, { device: 'shm0' }))
  comms.push(...(await Promise.all(made)))
  return share.mock.contexts.map((lane) => 1 - (lane as Lane).rank).sort()
}

it('two that have found what the other has written', async () => {
  expect(await shared((_, bytes) => bytes)).toEqual([0, 1])
})

it('not one that cannot say what this rank has written', async () => {
  expect(await shared((exchange, bytes) => (exchange === 1 ? new Uint8Array(bytes.length) : bytes))).not.toContain(0)
})

it.each([64, 0, 1, -64, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])(
  'not one whose proof is not where it says (%d)',
  async (at) => {
    // In the entry for rank 0, which is the first.
    const forge = (exchange: number, bytes: Uint8Array): Uint8Array => {
      if (exchange === 0) new DataView(bytes.buffer).setFloat64(28 + 8, at)
      return bytes
    }
    expect(await shared(forge)).toEqual([])
  },
)
