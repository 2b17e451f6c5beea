/**
 * Records of programs under `verbena run`: one for each event. `--trace --json` writes them, one per line, and `verbena/run` returns them.
 * Names are those of libibverbs. Numbers are numbers; values of 64 bits (addresses, `wr_id`) are text, `0x…`. Handles count from 1 in each
 * opened device, in the order in which objects were made.
 */

/** A value of a command: a number, a name of libibverbs or 64 bits as text, or a structure of these. */
export type TraceValue = number | string | { readonly [name: string]: TraceValue }

interface Base {
  /** Time of the event, for a command of its start: microseconds since 1970. */
  readonly timeUs: number
  readonly pid: number
  /** The name of the program's file. */
  readonly program: string
}

/** An element of a scatter/gather list. */
export interface TraceSge {
  readonly addr: string
  readonly length: number
  readonly lkey: string
}

/** A command has ended: a call of the library that the kernel answers. */
export interface CommandRecord extends Base {
  readonly type: 'command'
  /** Adapter, as the program sees it; `rdma_cm` for a call of librdmacm, whose ids get an adapter by their addresses alone. */
  readonly device: string
  /** The function of the library, as its man page calls it. */
  readonly verb: string
  readonly args: Readonly<Record<string, TraceValue>>
  readonly result: Readonly<Record<string, TraceValue>>
  /** `EINVAL`, …; with the reason, if it has failed. */
  readonly errno?: string
  readonly reason?: string
  /** Flag: a probe of the library, which has a fallback: nothing has failed for the program. */
  readonly expected?: true
  readonly durationUs: number
}

/** A work request was taken from a send queue. */
export interface RequestRecord extends Base {
  readonly type: 'request'
  readonly device: string
  readonly qpNum: number
  readonly wrId: string
  /** `IBV_WR_SEND`, …; a number for one that does not exist. */
  readonly opcode: string
  /** `IBV_SEND_SIGNALED`, …, with bars between. */
  readonly flags: string
  /** Further fields of the operation: destination, keys, operands. */
  readonly fields: Readonly<Record<string, TraceValue>>
  /** Bytes of the message. */
  readonly length: number
  readonly sges: readonly TraceSge[]
  /** Reason that the request cannot be executed, if so. */
  readonly reason?: string
}

/** A receive was taken from the queue of a queue pair (`qpNum`) or of an SRQ (`srq`, its handle). */
export interface ReceiveRecord extends Base {
  readonly type: 'receive'
  readonly device: string
  readonly qpNum?: number
  readonly srq?: number
  readonly wrId: string
  readonly length: number
  readonly sges: readonly TraceSge[]
}

/** A completion was written to the program's completion queue; `lost`: it was full. */
export interface CompletionRecord extends Base {
  readonly type: 'completion'
  readonly device: string
  /** Handle of the completion queue. */
  readonly cq: number
  readonly qpNum: number
  readonly wrId: string
  /** `IBV_WC_SUCCESS`, … */
  readonly status: string
  /** `IBV_WC_SEND`, … */
  readonly opcode: string
  readonly byteLen: number
  /** Immediate data, or the key that was invalidated. */
  readonly imm?: string
  readonly srcQp?: number
  readonly lost?: true
  /** Reason for an error. */
  readonly reason?: string
}

/** An asynchronous event was given to a program; `lost`: it was dropped, since no thread reads the events. */
export interface EventRecord extends Base {
  readonly type: 'event'
  readonly device: string
  /** `IBV_EVENT_QP_FATAL`, … */
  readonly event: string
  /** Object of the event: its handle, or the number of the port. */
  readonly element: string
  readonly lost?: true
  readonly reason?: string
}

/** An event of the RDMA CM was handed to a program. */
export interface CmEventRecord extends Base {
  readonly type: 'cm-event'
  readonly device: string
  /** `RDMA_CM_EVENT_ESTABLISHED`, … */
  readonly event: string
  /** Number of the id, as commands name it; for a group its number. A request to connect comes with a new id, and was for `listenId`. */
  readonly id: number
  readonly listenId?: number
  /** 0, a negative errno, or the reason of a rejection. */
  readonly status: number
  /** Bytes of private data that came with it. */
  readonly privateDataLength: number
  /** Reason for a failure. */
  readonly reason?: string
}

/** A management datagram was sent by a program, was handed to it, or had no response in time. */
export interface MadRecord extends Base {
  readonly type: 'mad'
  readonly device: string
  readonly direction: 'sent' | 'received' | 'unanswered'
  /** Class, method and attribute as the specification calls them: `SubnGet(NodeInfo)`, … */
  readonly name: string
  /** Numbers of the same. */
  readonly mgmtClass: number
  readonly method: number
  readonly attributeId: number
  readonly transactionId: string
  /** Status of the datagram, as its sender set it. */
  readonly status: number
  /** LID of the other end; 0xffff for a datagram with a purely directed route, given by `route`: `0,1`. */
  readonly lid: number
  readonly qpNum: number
  readonly route?: string
  /** Bytes: those of all packets of a message. */
  readonly length: number
  /** Reason for a response with an error status, or for a missing response. */
  readonly reason?: string
}

/** Something that is no error of a call and that its author should know: a request that waits for a state, for example. */
export interface NoteRecord extends Base {
  readonly type: 'note'
  readonly device: string
  readonly reason: string
}

/** Counts of events of a program, or of an adapter. */
export interface RunCounts {
  commands: number
  /** Commands that have failed. */
  failures: number
  /** Work requests of send queues, and their bytes. */
  requests: number
  requestBytes: number
  /** Messages that took a receive, and their bytes. */
  received: number
  receivedBytes: number
  completions: number
  /** Events of the RDMA CM that the program has received. */
  cmEvents: number
  /** Management datagrams that the program has sent and received. */
  madsSent: number
  madsReceived: number
  /**
   * Completions with an error, without those of flushed requests; events of the RDMA CM and responses that report one; datagrams without a
   * response.
   */
  errors: number
  /** Completions and events for which the program has left no room. */
  drops: number
}

export interface ProgramCounts extends RunCounts {
  readonly pid: number
  readonly program: string
}

export interface AdapterCounts extends RunCounts {
  /** Name for programs, and the one that `openDevice` takes. */
  readonly name: string
  readonly device: string
  /** Counters of the adapter itself for the duration of the run, whichever process caused them: those that are not 0. */
  readonly counters: Readonly<Record<string, number>>
}

/** The last record, at the end of the run. */
export interface CountersRecord {
  readonly type: 'counters'
  readonly timeUs: number
  readonly adapters: readonly AdapterCounts[]
  readonly programs: readonly ProgramCounts[]
}

/** Records of the events of programs, in order. */
export type ProgramRecord =
  | CommandRecord
  | RequestRecord
  | ReceiveRecord
  | CompletionRecord
  | EventRecord
  | CmEventRecord
  | MadRecord
  | NoteRecord

export type TraceRecord = ProgramRecord | CountersRecord
