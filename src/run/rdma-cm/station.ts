/** Interface of this door, and of the files that programs have open, to the parts of the door. */
import type { CmEvent, CmId, EventChannel, EventChannelOptions } from '../../cm/index.ts'
import type { Call, OpenedFile, Result } from '../door.ts'
import type { CmFileWatch, CmWatch } from './cm-watch.ts'
import type { ProgramId, ProgramJoin } from './program-id.ts'

/** Interface of an opened file to commands. */
export interface CmFile {
  readonly door: Station
  readonly channel: EventChannel
  /** Receiver of records about the program's use of the file. */
  readonly watch: CmFileWatch | null
  /** GET_EVENT: `room` bytes of an event at `address`; the call returns `length`. */
  getEvent(call: Call, address: number, room: number, length: number): Result
  /** Marks the file readable if there are events, and restarts the calls that wait for one. */
  showEvents(): void
}

export interface Station {
  readonly channelOptions: EventChannelOptions
  readonly watch: CmWatch | null
  addId(file: CmFile, cm: CmId, uid: bigint): ProgramId
  /** Adds the id that came with a request, which its program has not seen yet; false if there is no room for it. */
  addRequest(file: CmFile, cm: CmId): boolean
  /** Called when the request has been reported to the program. */
  seen(event: CmEvent): void
  /** Returns an id; as the kernel ENOENT for one that does not exist, EINVAL for one of another file. */
  id(verb: string, file: CmFile, number: number): ProgramId
  forgetId(id: ProgramId): void
  /** Drops requests that peers have given up before the program has seen them, or whose listener was destroyed. */
  forgetWithdrawn(): void
  addJoin(id: ProgramId, uid: bigint, address: string): ProgramJoin
  join(verb: string, file: CmFile, number: number): ProgramJoin
  forgetJoin(join: ProgramJoin): void
  /** Returns the file as one of this door, undefined if it is another's. */
  fileOf(opened: OpenedFile | undefined): CmFile | undefined
  /** Called when a file has events, or has lost some. */
  arrived(file: CmFile): void
  /** Notifies programs of the events that have arrived. */
  showEvents(): void
  /** Called when no process has the file open any more. */
  closed(file: CmFile): void
}
