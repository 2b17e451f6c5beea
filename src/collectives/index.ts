/**
 * `verbena/collectives`: collective operations between threads, processes and hosts, on verbs.
 *
 *     import { createCommunicator, joinGroup } from 'verbena/collectives'
 *
 *     const group = await joinGroup()
 *     const comm = await createCommunicator(group, { device: 'shm:lab' })
 *     const sum = new Float64Array(1)
 *     comm.allreduce(Float64Array.of(comm.rank), sum, 'sum')
 *     await comm.end()
 *     await group.close()
 */
export type { DecisionTable, Rule } from './choose.ts'
export { type ElementType, type Operation, operations } from './combine.ts'
export { Communicator } from './communicator.ts'
export { createCommunicator } from './create.ts'
export { CollectiveError, type CollectiveErrorCode } from './error.ts'
export {
  endWithParent,
  type Group,
  GroupError,
  type GroupOptions,
  joinGroup,
  type LocalRanks,
  runRanks,
} from './launch/index.ts'
export type { AnyArray, ElementArray } from './memory.ts'
export type { CommunicatorOptions, Ranks } from './options.ts'
export { algorithmsOf, type Collective, collectives } from './schedule/index.ts'
