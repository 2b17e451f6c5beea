/**
 * The verbs of this process, as the door uses them: the one place that determines how memory of a program becomes a region, and how a queue
 * pair requests receives that the program has written to its queue meanwhile.
 */
import type {
  Context,
  MemoryRegion,
  ProtectionDomain,
  QpInit,
  QueuePair,
  SharedReceiveQueue,
} from '../../verbs/index.ts'
import type { ProgramProcess } from '../door.ts'

/** Range of memory that a program registers. */
export interface ProgramRange {
  /** Address in the program. */
  address: number
  length: number
  /** Bits of `Access`. */
  access: number
  /** The address that work requests use for its first byte. */
  iova: number
}

/** Owner of a receive queue of a program: called when a message finds no receive, posts the receives that are there by now. */
export interface Refilled {
  refill(): void
}

export interface Waist {
  /** Context of the device that the door serves; of the door alone. */
  readonly context: Context
  /** The largest region, bytes. */
  readonly maxMrBytes: number
  regMr(pd: ProtectionDomain, process: ProgramProcess, range: ProgramRange): MemoryRegion
  createQp(pd: ProtectionDomain, init: QpInit<ProgramQpType>, owner: Refilled): QueuePair
  createSrq(pd: ProtectionDomain, init: { maxWr: number; maxSge: number }, owner: Refilled): SharedReceiveQueue
  /** Drops a queue that was closed: its owner is not called any more. */
  forget(queue: QueuePair | SharedReceiveQueue): void
}

/** RC, UC and UD. */
export type ProgramQpType = 2 | 3 | 4
