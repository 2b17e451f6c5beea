/** The shared-memory device as a rig. */
import { type ConnectOptions, type OpenOptions, openDevice } from '../../src/index.ts'
import { limitTitle } from './a-device.ts'
import type { ComplianceRig } from './rig.ts'

export function shmRig(
  names: readonly [string, string],
  options: OpenOptions = {},
  more: Partial<ComplianceRig> = {},
): ComplianceRig {
  return {
    names,
    options,
    open: (side) => openDevice(names[side], options),
    patienceMs: 10_000,
    quietMs: 15,
    // Polling is all that the device needs; its threads run by themselves.
    settle() {},
    ...more,
  }
}

/** Filling the tables takes long, and they are the same ones in every variant. */
export const sameTables: Readonly<Record<number, string>> = {
  11: 'the limits are those that shm-tables.slow.test.ts reaches',
  71: 'the numbers are given as in shm-tables.slow.test.ts',
}

/** Likewise, but for the smallest of them. */
export const largeTables: Readonly<Record<number | string, string>> = {
  71: sameTables[71]!,
  ...Object.fromEntries(['CQs', 'MRs', 'MWs', 'AHs', 'SRQs', 'QPs'].map((kind) => [limitTitle(kind), sameTables[11]!])),
}

/** On a network of a machine that is busy with other things the 67 ms of the list are no sign of a dead peer: one second. */
export const busyMachine: ConnectOptions = { timeout: 18 }
