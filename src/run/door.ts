/**
 * Interface between the front and the doors of `verbena run`. The front answers the system calls of programs: it opens files, and passes
 * calls on them to the door that served the file. A door serves one kind of kernel file (`/dev/infiniband/uverbs0`), and does not depend on
 * seccomp.
 *
 * All calls arrive in the supervisor's thread, one after the other. Addresses and lengths of programs are numbers; values above
 * `Number.MAX_SAFE_INTEGER` have been rejected with EFAULT before.
 */

import type { Parking } from '../memory/index.ts'

/** Errno (positive, as in errno.h) with which a system call of the program ends. */
export class Errno extends Error {
  readonly errno: number
  /** Reason for `--explain`: the verb, what is wrong, what is allowed. */
  readonly reason: string
  /** Flag: a library makes this call to probe for support and has a fallback, so no call of the program itself fails. */
  readonly expected: boolean

  constructor(errno: number, reason: string, expected = false) {
    super(reason)
    this.name = 'Errno'
    this.errno = errno
    this.reason = reason
    this.expected = expected
  }
}

/** A process of a program: a thread group that has executed one image. */
export interface ProgramProcess {
  /** Process id of its thread group, as this process sees it. */
  readonly pid: number
  /** Reads memory; throws an Errno (EFAULT) where not all of it can be read. */
  read(address: number, into: Uint8Array): void
  /** Writes memory; throws an Errno (EFAULT) where not all of it can be written. */
  write(address: number, bytes: Uint8Array): void
  /**
   * True if all `length` bytes from `address` on are mapped, and writable if `writable` is set, by the process's own protections: the check
   * that the kernel makes when it pins pages.
   */
  covers(address: number, length: number, writable: boolean): boolean
}

/**
 * A call that has no result yet, and blocks. Signals interrupt it as they do in the kernel. It is never answered: it is restarted, as a
 * call like any other, when there may be a result, and by the kernel after a signal.
 */
export interface BlockedCall {
  /** Restarts the call, at once or soon. */
  again(): void
  /** Checks whether it is still blocked. */
  look(): void
  /** Drops the call: no thread waits for it any more, and no thread is to be notified that it is not blocked. */
  forget(): void
}

/** Return value of a call, or the call that blocks. */
export type Result = number | BlockedCall

/** A call on a file of ours, or its opening. */
export interface Call {
  readonly process: ProgramProcess
  /** The thread that calls. */
  readonly tid: number
  /** True if the file does not block (O_NONBLOCK): the file that is opened, or the file of the call. */
  readonly nonBlocking: boolean
  /**
   * Blocks a call that has no result yet: the handler returns the value that this returns. The call goes to the file itself, which has to
   * block. `left` is called once when it does not block any more, for whatever reason.
   */
  block(left: () => void): BlockedCall
  /** The file that descriptor `fd` of the caller is, if it is one of ours. */
  fileAt(fd: number): OpenedFile | undefined
  /**
   * Puts a copy of a descriptor of ours into the program and returns its number there, the lowest that is free. Throws an Errno (EMFILE) if
   * the program may have no more.
   */
  addDescriptor(descriptor: number, closeOnExec: boolean): number
}

/** Calls on a file. Each throws an Errno if it fails. */
interface FileCalls {
  /** Executes `ioctl(2)` with one of `servedRequests`; returns its result. */
  ioctl(call: Call, request: number, argument: number): Result
  /** Executes `write(2)`, on a queue file with other lengths than a doorbell's; returns the number of bytes taken. */
  write(call: Call, address: number, length: number): Result
  /** Executes `read(2)`; returns the number of bytes written to the program. */
  read(call: Call, address: number, length: number): Result
  /** Called when no process has the file open any more. Blocked calls on it have ended before. */
  closed(): void
}

/** A memory file with queues, to which programs write doorbells. */
export interface QueueFile extends FileCalls {
  readonly kind: 'queues'
  /**
   * Descriptor of a memory file, of which the program gets a description with its position at `doorbellPosition`. The front closes this
   * descriptor after it was handed over.
   */
  readonly descriptor: number
  /**
   * True if a call of ioctl(2) that points to these words, `notifyBytes`, is `ibv_req_notify_cq`, which programs that sleep make for each
   * message. The call has then been executed, and no other work needs to be checked after it. All other requests arrive by `ioctl`.
   */
  notifies(argument: Uint32Array): boolean
  /** Called when the program has written a doorbell (its file grew), or other work may be there: checks all queues. */
  rung(): void
  /** True if no program has a descriptor or a mapping of it any more; called after one has gone. */
  isLeft(): boolean
}

/** A file that polls readable while an event waits: see `EventFile`, which implements that. */
export interface PolledFile extends FileCalls {
  readonly kind: 'polled'
  /** Call by which waiting events are requested. */
  readonly asks: 'read' | 'write'
  /** Descriptor that the program gets as it is; the front closes this one after it was handed over. */
  readonly descriptor: number
  /** A descriptor of this process that has an error (POLLERR) once no program has the file any more. */
  readonly otherEnd: number
}

/** A file that a program has open; several descriptors, after fork those of several processes, refer to one file. */
export type OpenedFile = QueueFile | PolledFile

/** Minimum number of GIDs that a port has room for: the entries after its own are empty, as in the kernel's tables. */
export const leastGidSlots = 16

/** File position to which programs write doorbells in their memory file: after all queues. */
export const doorbellPosition: number = 2 ** 30

/** Bytes of a `write(2)` that is a doorbell of the provider rxe. */
export const doorbellBytes = 32
/** Number of bytes that `QueueFile.notifies` reads. */
export const notifyBytes = 56
/** RDMA_VERBS_IOCTL: the request of all calls of ioctl(2) on uverbs devices. */
export const verbsRequest = 0xc0181b01
/**
 * The requests of ioctl(2) that stop, on whatever descriptor: IB_USER_MAD_REGISTER_AGENT, …_UNREGISTER_AGENT, …_ENABLE_PKEY and
 * …_REGISTER_AGENT2 are those of umad devices.
 */
export const servedRequests: readonly number[] = [verbsRequest, 0xc01c1b01, 0x40041b02, 0x1b03, 0xc0281b04]

/** Maximum number of descriptors that a door waits for. */
export const mostDescriptors = 256

/** Serves one path below /dev. */
export interface Door {
  /** `/dev/infiniband/uverbs0`. */
  readonly path: string
  /** Major and minor number of the character device that `stat` shows. */
  readonly device: readonly [major: number, minor: number]
  /** Parkings whose threads wake the supervisor while it sleeps: it begins to wait for each before `arm`, and ends that afterwards. */
  readonly parkings: readonly Parking[]
  /** True if the door itself reports why calls on its files fail, when it is observed. */
  readonly explains?: boolean
  /** True if its files are queue files. */
  readonly hasQueues: boolean
  open(call: Call): OpenedFile
  /** Makes progress: posts requests, writes completions; true if it did anything. Called until it is false. */
  progress(): boolean
  /**
   * True if programs have posted many requests without waiting for the first since the previous call: letting them post some more is then
   * cheaper than a wake-up for each.
   */
  gathers?(): boolean
  /**
   * Requests wake-ups before the supervisor sleeps; false if work arrived meanwhile. After the supervisor has woken, it calls `progress`.
   */
  arm(): boolean
  /**
   * Called after `arm` was true: writes further descriptors that the supervisor waits for, at most `mostDescriptors`, and returns their
   * number; −1 if work arrived meanwhile. Missing if parkings are all.
   */
  descriptors?(into: Int32Array, from: number): number
  /**
   * Returns for how many milliseconds the supervisor may sleep at most, since requests wait for a time; usually Infinity. Called after
   * `arm` and `descriptors`.
   */
  restMs(): number
  close(): void
}

/** Contents of sysfs, for the front's folder of files. */
export interface SysfsTree {
  /** Contents of files by path, which begins with /sys. */
  readonly files: ReadonlyMap<string, string>
  /** Targets of symbolic links by path. */
  readonly links: ReadonlyMap<string, string>
  /** Contents of files, by their own path rather than that of a link, that are read whenever the file is opened. */
  readonly live: ReadonlyMap<string, () => string>
}
