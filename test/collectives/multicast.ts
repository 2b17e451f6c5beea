/** Broadcasts by multicast, for the tests of it. */
import { onTestFinished, vi } from 'vitest'
import { type Communicator, type DecisionTable, operations } from '../../src/collectives/index.ts'
import { Lane } from '../../src/collectives/lane.ts'
import { Kind } from '../../src/collectives/message.ts'
import { perform } from './reference.ts'

export const multicastTable: DecisionTable = {
  version: 1,
  rules: [{ collective: 'broadcast', algorithm: 'multicast' }],
}

/** Broadcasts of these counts of bytes, each from another root, some begun before the one before is over. */
export async function broadcasts(comm: Communicator, counts: readonly number[], seed: number): Promise<void> {
  const under: Promise<void>[] = []
  for (const [i, count] of counts.entries()) {
    const root = (seed + i) % comm.size
    const step = {
      collective: 'broadcast',
      type: Uint8Array,
      operation: operations[0],
      allocated: i % 2 === 0,
    } as const
    under.push(perform(comm, { ...step, count, root }, seed + i))
    if (i % 3 === 0) await Promise.all(under.splice(0))
  }
  await Promise.all(under)
}

/** Chunks that went again, on a lane: all that is sent there but reports, which have 16 bytes. */
export function repairs(): () => number {
  const sends = vi.spyOn(Lane.prototype, 'send')
  onTestFinished(() => void sends.mockRestore())
  return () => sends.mock.calls.filter(([kind, , , , length]) => kind === Kind.Data && length !== 16).length
}
