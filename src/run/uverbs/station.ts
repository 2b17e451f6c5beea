/** Interface of the door to commands: registration of queues, and the verbs of this process. */
import type { CompletionChannel, Context } from '../../verbs/index.ts'
import type { AdapterWatch } from './device-watch.ts'
import type { EventPipe } from './event-pipe.ts'
import type { ProgramCq } from './program-cq.ts'
import type { ProgramQp } from './program-qp.ts'
import type { ProgramSrq } from './program-srq.ts'
import type { Waist } from './waist.ts'
import type { Taken, Work } from './work.ts'

export interface Station extends Work {
  readonly waist: Waist
  /** Observer of programs; null without one. */
  readonly watch: AdapterWatch | null
  /** Called when a program whose library sends commands by write(2) has opened the device. */
  onOldLibrary(pid: number): void
  /** Pipes whose events wait until the program has read earlier ones. */
  readonly blockedPipes: Set<EventPipe>
  /** Takes the requests that the program has written to a queue; true if there were any. */
  takeFrom(queue: Taken): boolean
  /** `make` gets the context of the device and the channel that wakes this thread. */
  addCq(make: (context: Context, wakes: CompletionChannel) => ProgramCq): ProgramCq
  forgetCq(cq: ProgramCq): void
  /** Assigns the next number to a queue pair or SRQ; if `make` throws, it stays free. */
  addQp(make: (slot: number) => ProgramQp): ProgramQp
  addSrq(make: (slot: number) => ProgramSrq): ProgramSrq
}
