/** Interface of the door, which serves all queues of programs, to these queues. */
import type { QueuePair, WorkCompletion } from '../../verbs/index.ts'
import type { ProgramCq } from './program-cq.ts'
import type { Translation } from './translation.ts'

/** A queue that could not be emptied for want of room; it is taken from again after a completion. */
export interface Taken {
  pending: boolean
  take(): boolean
  /** Ends it: its requests cannot be executed. */
  fatal?(): void
}

/** A queue pair whose completion found no room. */
export interface Broken {
  fatal(): void
}

/** The queue pair whose message took a receive of an SRQ. */
export interface SharedReceiver {
  receivedShared(wc: WorkCompletion, wrIdLow: number, wrIdHigh: number): void
}

export interface Work {
  readonly translation: Translation
  /** Called when completions may be there: the queue is polled in the next turns. */
  activate(cq: ProgramCq): void
  /** Writes all completions that there are to the program's queue; true if there were any. */
  poll(cq: ProgramCq): boolean
  takeLater(queue: Taken): void
  /**
   * Called when `count` requests of a queue pair were posted. `hasWaited`: its program may have waited for the one before them to complete.
   */
  took(qp: QueuePair, count: number, hasWaited: boolean): void
  broke(qp: Broken): void
  /** Gives asynchronous events to the objects to which they happened. */
  takeAsyncEvents(): boolean
  forgetQp(slot: number): void
  forgetSrq(slot: number): void
}
