/**
 * What the front and the doors of `verbena run` know of each other. The front answers the system calls of programs: it opens
 * files, and hands calls on these to the door that served the file. A door serves one kind of file of the kernel's
 * (`/dev/infiniband/uverbs0`), and knows nothing of seccomp.
 *
 * All calls come in the supervisor's thread, one after the other. Addresses and lengths of programs are numbers; what is above
 * `Number.MAX_SAFE_INTEGER` was refused with EFAULT before.
 */

import type { Parking } from '../memory/index.ts'

/** A system call ends with this errno (positive, as in errno.h) in the program. */
export class Errno extends Error {
  readonly errno: number
  /** Why, for `--explain`: the verb, what is wrong, what is allowed. */
  readonly reason: string
  /** Libraries ask so to learn what there is, and go another way: nobody's call fails. */
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
  /** Its thread group, as this process sees it. */
  readonly pid: number
  /** Reads memory; throws an Errno (EFAULT) where not all of it can be read. */
  read(address: number, into: Uint8Array): void
  /** Writes memory; throws an Errno (EFAULT) where not all of it can be written. */
  write(address: number, bytes: Uint8Array): void
  /**
   * Whether all of `length` bytes from `address` on are mapped, and writable where that is asked for, by the process's own
   * protections: what the kernel would check when it pins pages.
   */
  covers(address: number, length: number, writable: boolean): boolean
}

/** A call on a file of ours, or its opening. */
export interface Call {
  readonly process: ProgramProcess
  /** The thread that calls. */
  readonly tid: number
  /**
   * Puts a copy of a descriptor of ours into the program and returns its number there, the lowest that is free. Throws an
   * Errno (EMFILE) where the program may have no more.
   */
  addDescriptor(descriptor: number, closeOnExec: boolean): number
}

/** A file that a program has open; several descriptors, after fork those of several processes, are one file. */
export interface OpenedFile {
  /**
   * A memory file that the program gets a description of, with its position at `doorbellPosition`. The front closes this descriptor
   * after it was handed over.
   */
  readonly descriptor: number
  /** `ioctl(2)`: what it returns. Throws an Errno. */
  ioctl(call: Call, request: number, argument: number): number
  /** `write(2)` of other lengths than a doorbell's: how many bytes were taken. Throws an Errno. */
  write(call: Call, address: number, length: number): number
  /** The program has written a doorbell (its file grew), or other work may be there: looks at all queues. */
  rung(): void
  /** Whether no program has a descriptor or a mapping of it any more: asked when one has gone. */
  isLeft(): boolean
  /** Nobody has it any more. */
  closed(): void
}

/** Where doorbells are written to in a memory file of a program: behind all queues. */
export const doorbellPosition: number = 2 ** 30

/** A `write(2)` of so many bytes is a doorbell of the provider rxe. */
export const doorbellBytes = 32
/** RDMA_VERBS_IOCTL: the request of all calls of ioctl(2) on uverbs devices. */
export const verbsRequest = 0xc0181b01

/** What a door waits for, at most. */
export const mostDescriptors = 256

/** Serves one path below /dev. */
export interface Door {
  /** `/dev/infiniband/uverbs0`. */
  readonly path: string
  /** Major and minor number of the character device that `stat` shows. */
  readonly device: readonly [major: number, minor: number]
  /** Whose threads wake the supervisor while it sleeps: it begins to wait for each before `arm`, and ends that afterwards. */
  readonly parkings: readonly Parking[]
  /** Whether it tells by itself why calls on its files fail, where somebody wants to know. */
  readonly explains?: boolean
  open(call: Call): OpenedFile
  /** Moves what can move: requests posted, completions written; true if something did. Called until it is false. */
  progress(): boolean
  /**
   * Whether programs post many requests before they wait for the first, since this was asked last: then it is better to let them post
   * some more than to be woken for each.
   */
  gathers(): boolean
  /** Before the supervisor sleeps: asks for wake-ups; false if something came meanwhile. After it has woken comes `progress`. */
  arm(): boolean
  /**
   * After `arm` was true: writes what else the supervisor waits for, `mostDescriptors` at most, and returns how many that are; −1 if something
   * came meanwhile. Missing where parkings are all.
   */
  descriptors?(into: Int32Array, from: number): number
  /** After `arm`, and `descriptors`: for how many milliseconds the supervisor may sleep at most, since requests wait for a time; usually Infinity. */
  restMs(): number
  close(): void
}

/** What sysfs shows, for the front's folder of files. */
export interface SysfsTree {
  /** By path, which begins with /sys: content. */
  readonly files: ReadonlyMap<string, string>
  /** Symbolic links by path, with what they say. */
  readonly links: ReadonlyMap<string, string>
}
