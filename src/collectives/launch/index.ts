/**
 * Groups of processes: which rank this is, how the ranks find each other, barriers and the exchange of addresses. Over TCP, and with no
 * MPI library: `mpirun`, `mpiexec`, `srun`, Kubernetes or `runRanks` start the processes, and rank 0 is where they meet.
 */
export { GroupError, type GroupErrorCode } from './error.ts'
export type { Group, GroupOptions, Member, WaitOptions } from './group.ts'
export { joinGroup } from './join.ts'
export { endWithParent, type LocalRanks, runRanks } from './local.ts'
export { type Environment, type Place, type PlaceOptions, placeOf } from './place.ts'
