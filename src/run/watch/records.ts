/**
 * What is said of programs under `verbena run`: one record for each thing that happens. `--trace --json` writes them, one a line, and
 * `verbena/run` hands them out. Names are those of libibverbs. Numbers are numbers; what has 64 bits (addresses, `wr_id`) is text,
 * `0x…`. Handles count from 1 in each opened device, in the order in which objects were made.
 */

/** A value of a command: a number, a name of libibverbs or 64 bits as text, or a structure of these. */
export type TraceValue = number | string | { readonly [name: string]: TraceValue }

interface Base {
  /** When it happened, a command when it began: microseconds since 1970. */
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
  /** The adapter, as the program sees it. */
  readonly device: string
  /** The function of the library, as its man page calls it. */
  readonly verb: string
  readonly args: Readonly<Record<string, TraceValue>>
  readonly result: Readonly<Record<string, TraceValue>>
  /** `EINVAL`, …; with why, if it has failed. */
  readonly errno?: string
  readonly reason?: string
  /** A question of the library, which goes another way: nothing has failed for the program. */
  readonly expected?: true
  readonly durationUs: number
}

/** A work request was taken from a send queue. */
export interface RequestRecord extends Base {
  readonly type: 'request'
  readonly device: string
  readonly qpNum: number
  readonly wrId: string
  /** `IBV_WR_SEND`, …; a number for one that there is not. */
  readonly opcode: string
  /** `IBV_SEND_SIGNALED`, …, with bars between. */
  readonly flags: string
  /** What the operation has besides: where it goes, keys, operands. */
  readonly fields: Readonly<Record<string, TraceValue>>
  /** Bytes of the message. */
  readonly length: number
  readonly sges: readonly TraceSge[]
  /** Why it cannot be executed, if so. */
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
  /** Of an error: why. */
  readonly reason?: string
}

/** An asynchronous event was given to a program; `lost`: nobody reads them. */
export interface EventRecord extends Base {
  readonly type: 'event'
  readonly device: string
  /** `IBV_EVENT_QP_FATAL`, … */
  readonly event: string
  /** Of which object: its handle, or the number of the port. */
  readonly element: string
  readonly lost?: true
  readonly reason?: string
}

/** Something that is no error of a call and that its author should know: a request that waits for a state, for example. */
export interface NoteRecord extends Base {
  readonly type: 'note'
  readonly device: string
  readonly reason: string
}

/** What happened to a program, or to all of an adapter, counted. */
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
  /** Completions with an error, those of flushed requests not counted. */
  errors: number
  /** Completions and events for which the program has left no room. */
  drops: number
}

export interface ProgramCounts extends RunCounts {
  readonly pid: number
  readonly program: string
}

export interface AdapterCounts extends RunCounts {
  /** As programs see it, and as `openDevice` takes it. */
  readonly name: string
  readonly device: string
  /** What the adapter itself has counted meanwhile, whoever used it: those that are not 0. */
  readonly counters: Readonly<Record<string, number>>
}

/** The last record, at the end of the run. */
export interface CountersRecord {
  readonly type: 'counters'
  readonly timeUs: number
  readonly adapters: readonly AdapterCounts[]
  readonly programs: readonly ProgramCounts[]
}

/** What happens to programs, in order. */
export type ProgramRecord = CommandRecord | RequestRecord | ReceiveRecord | CompletionRecord | EventRecord | NoteRecord

export type TraceRecord = ProgramRecord | CountersRecord
