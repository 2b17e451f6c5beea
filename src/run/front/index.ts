/**
 * The front of `verbena run`: programs are started with a filter of their system calls, and a supervisor answers those about RDMA devices.
 *
 *     launcher.ts           starts a program and its threads, waits for all descendants (forwarding.ts: signals; host.ts: what is missing;
 *                           nested.ts: a run below a run)
 *     guardian.ts           ends programs whose supervisor was killed
 *     spawner-thread.ts     the filtered thread
 *     filter.ts, bpf.ts     which calls stop
 *     supervisor.ts         the loop that answers (supervisor-thread.ts: its thread)
 *     paths.ts, path-answers.ts, folder.ts, sysfs.ts   /sys and /dev as programs see them
 *     open-files.ts         files at doors: doorbells, and their end
 *     programs.ts           memory of processes
 *     numbers.ts, program-descriptors.ts   under which numbers programs get descriptors
 */

export type { Ended } from '../../memory/index.ts'
export { endDescendants } from './forwarding.ts'
export { isServed, RunError } from './host.ts'
export { type LaunchOptions, launch, runVariable } from './launcher.ts'
export { launchServed } from './nested.ts'
export { runSupervisor, type Served } from './supervisor-thread.ts'
export { rdmaCmSysfs, type SysfsAdapter, type SysfsGid, sysfsOf } from './sysfs.ts'
