/** What makes a communicator: its ranks, and what they choose. */
import type { Context } from '../index.ts'
import type { DecisionTable } from './choose.ts'

/** What a communicator needs of the processes or threads that it connects: `joinGroup` gives it. */
export interface Ranks {
  readonly rank: number
  readonly size: number
  /** By rank: the host of each, so that ranks that share cores do not keep each other from them. */
  readonly members?: readonly { readonly host: string }[]
  /** Aborted when a rank has died. */
  readonly signal?: AbortSignal
  /** Called by all ranks when they connect, and once or twice when they end. */
  allgather(bytes: Uint8Array): Promise<Uint8Array[]>
  /** 0: without a limit. */
  barrier(options?: { timeoutMs?: number }): Promise<void>
}

export interface CommunicatorOptions {
  /**
   * `shm:NAME` between processes, `shm0` between threads, `roce:ADDRESS` between hosts. Default: shared memory of its own, where all
   * ranks are on one host.
   */
  device?: string
  /** An opened device instead, which stays open when the communicator is closed. */
  context?: Context
  /** Of the port's table. Default: 0. */
  gidIndex?: number
  /** Milliseconds that a call may wait for what others have to do, looked at every 500; 0 (default): for ever, as long as they live. */
  timeoutMs?: number
  /**
   * Microseconds of polling before a wait; default: 1000, in which others run when the ranks of this host are more than the cores that
   * they share; 5 where this one cannot let them (no koffi).
   */
  spinUs?: number
  /**
   * Between ranks whose memory is shared: the receiver reads longer messages where they are, while the sender waits for it. Default:
   * 2048; the longest that fit into a slot, when the ranks of this host are more than the cores that they share.
   */
  directBytes?: number
  /**
   * Which algorithm to take when, the same at all ranks: what `verbena collective tune` writes. Default: the file that VERBENA_TABLE
   * names; behind the rules of either come those from the algorithms' costs.
   */
  table?: DecisionTable
}
