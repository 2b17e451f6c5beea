/** Collectives and their algorithms, by name. */
import * as allgather from './allgather.ts'
import * as alltoall from './alltoall.ts'
import * as barrier from './barrier.ts'
import * as broadcast from './broadcast.ts'
import * as gather from './gather.ts'
import * as reduce from './reduce.ts'
import type { Schedule, Task } from './schedule.ts'

type Algorithms = Readonly<Record<string, (task: Task) => Schedule>>

export type Collective =
  | 'barrier'
  | 'broadcast'
  | 'scatter'
  | 'gather'
  | 'allgather'
  | 'reduce'
  | 'allreduce'
  | 'alltoall'

/** Algorithms by collective; the first one of each is suitable for any call. */
export const algorithms: Readonly<Record<Collective, Algorithms>> = {
  barrier: { dissemination: barrier.dissemination, linear: barrier.linear },
  broadcast: {
    binomial: broadcast.binomial,
    linear: broadcast.linear,
    chain: broadcast.chain,
    'scatter-allgather': broadcast.scatterAllgather,
    multicast: broadcast.multicast,
  },
  scatter: { binomial: gather.scatterBinomial, linear: gather.scatterLinear },
  gather: { binomial: gather.gatherBinomial, linear: gather.gatherLinear },
  allgather: {
    ring: allgather.ring,
    bruck: allgather.bruck,
    linear: allgather.linear,
    'recursive-doubling': allgather.recursiveDoubling,
  },
  reduce: { binomial: reduce.reduceBinomial, linear: reduce.reduceLinear, ring: reduce.reduceRing },
  allreduce: {
    'recursive-doubling': reduce.allreduceRecursiveDoubling,
    ring: reduce.allreduceRing,
    'halving-doubling': reduce.allreduceHalvingDoubling,
    tree: reduce.allreduceTree,
  },
  alltoall: { pairwise: alltoall.pairwise, linear: alltoall.linear, bruck: alltoall.bruck },
}

export const collectives: readonly Collective[] = Object.keys(algorithms) as Collective[]

/** Returns the algorithms of a collective that work for so many ranks. */
export function algorithmsOf(collective: Collective, size: number): string[] {
  const powerOfTwo = (size & (size - 1)) === 0
  return Object.keys(algorithms[collective]).filter(
    (name) => powerOfTwo || collective !== 'allgather' || name !== 'recursive-doubling',
  )
}

/** Returns the schedule of one rank. Throws a RangeError for an algorithm that the collective does not have, or not for so many ranks. */
export function scheduleOf(collective: Collective, algorithm: string, task: Task): Schedule {
  const names = algorithmsOf(collective, task.size)
  if (!names.includes(algorithm))
    throw new RangeError(
      `${collective} among ${task.size} ranks has no algorithm ${JSON.stringify(algorithm)}: it has ${names.join(', ')}`,
    )
  return algorithms[collective][algorithm]!(task)
}
