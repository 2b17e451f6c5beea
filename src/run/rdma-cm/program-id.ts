/**
 * An id of a program: the number by which commands name it, and the id of our RDMA CM. The queue pair is the program's own: it tells its
 * number when it connects, and moves it by what INIT_QP_ATTR says.
 */
import type { CmId, EventChannel } from '../../cm/index.ts'

/** The file whose program has an id. */
export interface IdFile {
  readonly channel: EventChannel
}

export class ProgramId {
  readonly kind = 'id'
  readonly number: number
  /** Events go to this file: that of the program that made it, or to which it migrated. */
  file: IdFile
  cm: CmId
  /** What names it in events; 0 for one that came with a request and was not accepted yet: there are no events for it. */
  uid: bigint
  /** An event has been dropped because nobody could be told: nothing will come of the connection. */
  isLost = false
  /** Its addresses are to be shown as GIDs, as they were given. */
  isIb = false
  /** Events that the program has seen, of this id and of requests to it: it waits until it has acknowledged as many. */
  reported = 0
  readonly joins: Set<ProgramJoin> = new Set()

  constructor(number: number, file: IdFile, cm: CmId, uid: bigint) {
    this.number = number
    this.file = file
    this.cm = cm
    this.uid = uid
  }
}

/** A group that an id has joined. */
export class ProgramJoin {
  readonly kind = 'join'
  readonly number: number
  readonly id: ProgramId
  readonly uid: bigint
  readonly address: string
  reported = 0

  constructor(number: number, id: ProgramId, uid: bigint, address: string) {
    this.number = number
    this.id = id
    this.uid = uid
    this.address = address
  }
}
