/**
 * An id of a program: the number by which commands name it, and the id of our RDMA CM. The queue pair belongs to the program: it passes the
 * number when it connects, and modifies the queue pair with the attributes that INIT_QP_ATTR returns.
 */
import type { CmId, EventChannel } from '../../cm/index.ts'

/** The file whose program has an id. */
export interface IdFile {
  readonly channel: EventChannel
}

export class ProgramId {
  readonly kind = 'id'
  readonly number: number
  /** File that receives the events: that of the program that created it, or to which it migrated. */
  file: IdFile
  cm: CmId
  /** Identifier of the id in events; 0 for an id that came with a request and was not accepted yet: there are no events for it. */
  uid: bigint
  /** Flag: an event has been dropped because no file could receive it; the connection will not be established. */
  isLost = false
  /** Flag: its addresses are to be shown as GIDs, as they were given. */
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
