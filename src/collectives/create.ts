/** Creation of communicators. */
import { randomBytes } from 'node:crypto'
import { Communicator } from './communicator.ts'
import { CollectiveError } from './error.ts'
import type { CommunicatorOptions, Ranks } from './options.ts'

/**
 * Connects all ranks of a group with each other. All ranks call it. Throws a CollectiveError, the reason of the ranks' signal if that is
 * aborted (of `joinGroup` a GroupError: a rank died, for example), or a VerbsError of the device.
 */
export async function createCommunicator(ranks: Ranks, options: CommunicatorOptions = {}): Promise<Communicator> {
  const { device = options.context ? undefined : await ownSegment(ranks) } = options
  const communicator = new Communicator(ranks, { ...options, ...(device === undefined ? {} : { device }) })
  try {
    await communicator.connect()
    return communicator
  } catch (error) {
    communicator.close()
    throw error
  }
}

/** Returns the name of a shared-memory device for these ranks alone, which rank 0 chooses. */
async function ownSegment(ranks: Ranks): Promise<string> {
  const hosts = new Set(ranks.members?.map(({ host }) => host))
  if (hosts.size > 1) {
    const message = `the ranks are on ${hosts.size} hosts: name a device that connects them, such as roce:ADDRESS`
    throw new CollectiveError('EINVAL', message)
  }
  const [name] = await ranks.allgather(randomBytes(8))
  return `shm:collectives-${Buffer.from(name!).toString('hex')}`
}
