/**
 * Groups of processes: the rank of this process, how the ranks find each other, barriers and the exchange of addresses. Groups use TCP, and
 * no MPI library: `mpirun`, `mpiexec`, `srun`, Kubernetes or `runRanks` start the processes, and the ranks meet at rank 0.
 */
export { GroupError, type GroupErrorCode } from './error.ts'
export type { Group, GroupOptions, Member, WaitOptions } from './group.ts'
export { joinGroup } from './join.ts'
export { endWithParent, type LocalRanks, runRanks } from './local.ts'
export { type Environment, type Place, type PlaceOptions, placeOf } from './place.ts'
