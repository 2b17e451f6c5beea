/**
 * Assignment of threads to cores. A value of `--pin` lists cores in the order of the roles below; a shorter list starts
 * again from its head. `auto` gives each role a core of its own as far as there are cores: without that, the scheduler
 * now and then puts sender and receiver on the same core for milliseconds, and the measurement then shows that.
 */
import { pinThread, processCores } from '../../memory/index.ts'

export const roles = ['sender', 'receiver', 'engine', 'stamper'] as const
export type Role = (typeof roles)[number]

/** Returns the core for a role; undefined leaves it to the scheduler. */
export function coreFor(pin: string, role: Role, cores: readonly number[] = processCores): number | undefined {
  const place = roles.indexOf(role)
  if (pin === 'none') return undefined
  if (pin === 'auto') return cores.length < 2 ? undefined : cores[place]
  const listed = pin.split(',').map(Number)
  return listed[place % listed.length]
}

/** Puts this thread on the core of its role, or on all of the process. Returns the reason if it was requested and failed. */
export function placeThread(pin: string, role: Exclude<Role, 'engine'>): string | null {
  const core = coreFor(pin, role)
  if (core === undefined) {
    if (processCores.length > 0) pinThread([...processCores])
    return null
  }
  if (pinThread([core]) || pin === 'auto') return null
  return processCores.length === 0
    ? 'threads cannot be pinned here (that takes the koffi package on Linux)'
    : `core ${core} is not one of the cores that this process may use: ${processCores.join(', ')}`
}

/** Returns the cores for an engine thread: its own, or all, because it would inherit those of the thread that starts it. */
export function engineCores(pin: string): number[] {
  const core = coreFor(pin, 'engine')
  return core === undefined ? [...processCores] : [core]
}

/** Returns the cores of this process as a value of `--pin`, for the first roles; `none` where there is but one. */
export function spreadPin(): string {
  return processCores.length < 2 ? 'none' : processCores.slice(0, roles.length).join(',')
}
