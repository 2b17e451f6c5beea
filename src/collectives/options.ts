/** Parameters of a communicator: its ranks and its options. */
import type { Context } from '../index.ts'
import type { DecisionTable } from './choose.ts'

/** Interface to the processes or threads that a communicator connects: `joinGroup` supplies it. */
export interface Ranks {
  readonly rank: number
  readonly size: number
  /** Host of each rank, by rank, so that ranks that share cores do not keep each other from them. */
  readonly members?: readonly { readonly host: string }[]
  /** Signal that is aborted when a rank has died. */
  readonly signal?: AbortSignal
  /** Returns the contributions of all ranks. All ranks call it when they connect, and once or twice when they end. */
  allgather(bytes: Uint8Array): Promise<Uint8Array[]>
  /** Resolves when all ranks have called it. `timeoutMs` 0: no limit. */
  barrier(options?: { timeoutMs?: number }): Promise<void>
}

export interface CommunicatorOptions {
  /**
   * Name of the device: `shm:NAME` between processes, `shm0` between threads, `roce:ADDRESS` between hosts. Default: shared memory of its
   * own, if all ranks are on one host.
   */
  device?: string
  /** Open device to use instead, which stays open when the communicator is closed. */
  context?: Context
  /** Index in the port's GID table. Default: 0. */
  gidIndex?: number
  /** Milliseconds that a call may wait for other ranks, checked every 500; 0 (default): no limit while they live. */
  timeoutMs?: number
  /**
   * Microseconds of polling before a wait; default: 1000, during which other ranks run if this host has more ranks than cores that they
   * share; 5 if this rank cannot yield to them (no koffi).
   */
  spinUs?: number
  /**
   * Bytes above which the receiver reads a message in place, while the sender waits for it; between ranks whose memory is shared. Default:
   * 2048; the maximum of a slot, if this host has more ranks than cores that they share.
   */
  directBytes?: number
  /**
   * Rules that choose the algorithms, the same at all ranks: the output of `verbena collective tune`. Default: the file that VERBENA_TABLE
   * names. In both cases the rules derived from the algorithms' costs follow.
   */
  table?: DecisionTable
}
