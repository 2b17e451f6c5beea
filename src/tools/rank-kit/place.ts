/** Placement of ranks: the devices that all of them reach, and their cores. */
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Group } from '../../collectives/launch/index.ts'
import { currentCores, nativeAvailable, pinThread } from '../../memory/index.ts'
import { UsageError } from '../kit/index.ts'

/** Exchanges values as JSON; returns `mine` of each rank. */
export async function tell<T>(group: Pick<Group, 'allgather'>, mine: T): Promise<T[]> {
  const all = await group.allgather(Buffer.from(JSON.stringify(mine)))
  return all.map((bytes) => JSON.parse(Buffer.from(bytes).toString()) as T)
}

/** Returns the devices of a run: those that were named, or one that all ranks reach. `purpose` is in the name of one for this run. */
export async function deviceNames(group: Group, asked: readonly string[], purpose: string): Promise<string[]> {
  const oneHost = group.members.every(({ host }) => host === group.members[0]!.host)
  const own = `shm:${purpose}-${randomBytes(4).toString('hex')}`
  const names = asked.length > 0 ? [...asked] : [oneHost && nativeAvailable ? own : 'roce']
  const all = await tell(group, names)
  const first = asked.length > 0 ? names : all[0]!
  for (const name of first) {
    if (!oneHost && name.startsWith('shm'))
      throw new UsageError('--device', `${name} is memory of one host, and the ranks are on several: take roce`)
    if (/^shm[01]$/.test(name))
      throw new UsageError(
        '--device',
        `${name} lives within one process, and the ranks are several: name a segment, for example shm:lab`,
      )
  }
  return first
}

/** Returns the ranks of the caller's host. */
export function ranksHere({ rank, members }: Pick<Group, 'rank' | 'members'>): number[] {
  const { host } = members[rank]!
  return members.filter((member) => member.host === host).map((member) => member.rank)
}

/** Gives each rank of this host a core, if there are enough; returns whether there are fewer. A collective call of all ranks. */
export async function placeRanks(group: Pick<Group, 'rank' | 'members' | 'allgather'>, pin: boolean): Promise<boolean> {
  const mine = currentCores()
  const all = await tell(group, { cores: mine, count: availableParallelism() })
  const here = ranksHere(group)
  const cores = [...new Set(here.flatMap((rank) => all[rank]!.cores))]
  const available = cores.length > 0 ? cores.length : Math.max(...here.map((rank) => all[rank]!.count))
  if (here.length > available) return true
  // A launcher's own binding takes precedence.
  const bound = here.some((rank) => all[rank]!.cores.length < cores.length)
  if (pin && !bound && cores.length > 1) pinThread([cores[here.indexOf(group.rank)]!])
  return false
}
