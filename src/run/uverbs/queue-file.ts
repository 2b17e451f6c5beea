/**
 * The memory file of an opened uverbs device: queues from its beginning on, each mapped by the program and by this process, and after them
 * the records that the program's doorbells write at the position of its description.
 *
 *     0                queues, on whole pages, where there is room
 *     2^30             doorbells: 32 bytes each; the kernel appends them, memory of those read is freed
 *
 * The program can write all of it, and harms only itself: the length of the file cannot shrink, indexes are masked when they are read, and
 * an invalid log only causes all queues to be checked.
 */
import { fstatSync, readSync } from 'node:fs'
import {
  closeFd,
  commitMemoryFile,
  isSoleDescription,
  makeMemoryFile,
  mapDescriptor,
  pageBytes,
  punchMemoryFile,
  reopenMemoryFile,
  unmap,
} from '../../memory/index.ts'
import { doorbellBytes, doorbellPosition } from '../door.ts'
import { fail } from './errors.ts'
import { writeCommands } from './schema.ts'

/** Bytes of queues that one opened device may have: a hundred queue pairs of the largest size. */
const maxQueueBytes: number = 256 * 2 ** 20

/** A range of the file, mapped here. */
export interface QueueSpace {
  readonly offset: number
  readonly bytes: number
  readonly buffer: ArrayBuffer
}

/** A doorbell is this command, as write(2) has it. */
const postSendCommand = writeCommands.POST_SEND.number
/** Offset of the handle of the queue pair in a record: after the header of POST_SEND and the address of its response. */
const handleAt = 16
/** Maximum number of doorbells that are read at a time; more are not worth reading one by one. */
const maxDoorbells = 512
/** Bytes of doorbells whose memory is freed at once. */
const punchBytes = 2 ** 18
/** A program that writes elsewhere in the file than doorbells are can make it longer than any log gets. */
const maxLogBytes = 2 ** 40

export class QueueFile {
  /** Descriptor of this process. */
  readonly #fd: number
  /** Ranges in use, sorted by offset. */
  readonly #spaces: QueueSpace[] = []
  #bytes = 0
  /**
   * Position after the space that was allocated last: freed space is reused as late as possible, since a program may still have it mapped.
   */
  #next = 0
  #logRead = doorbellPosition
  #logKept = doorbellPosition
  readonly #records = new Uint8Array(maxDoorbells * doorbellBytes)
  readonly #words = new DataView(this.#records.buffer)

  constructor() {
    this.#fd = makeMemoryFile('uverbs', doorbellPosition)
  }

  /** Returns a descriptor for the program, at the position of its doorbells. */
  open(): number {
    return reopenMemoryFile(this.#fd, doorbellPosition)
  }

  /** True if no program has it any more. */
  get isLeft(): boolean {
    return isSoleDescription(this.#fd)
  }

  /** `verb` and `what` are for the error, ENOMEM, if there is no room. */
  allocate(sizeBytes: number, verb: string, what: string): QueueSpace {
    const bytes = Math.ceil(sizeBytes / pageBytes) * pageBytes
    if (this.#bytes + bytes > maxQueueBytes)
      fail(
        'ENOMEM',
        `${verb}: ${what} takes ${bytes} bytes; the queues of an opened device may have ${maxQueueBytes}, of which ${this.#bytes} are in use`,
      )
    const offset = this.#gap(bytes)
    commitMemoryFile(this.#fd, offset, bytes)
    const buffer = mapDescriptor(this.#fd, bytes, `${what} could not be mapped`, offset)
    const space = { offset, bytes, buffer }
    const index = this.#spaces.findIndex((other) => other.offset > offset)
    this.#spaces.splice(index < 0 ? this.#spaces.length : index, 0, space)
    this.#bytes += bytes
    this.#next = offset + bytes
    return space
  }

  /** Returns the first gap of this number of bytes from `#next` on, or from the beginning. */
  #gap(bytes: number): number {
    const behind = this.#gapFrom(this.#next, bytes)
    if (behind + bytes <= doorbellPosition) return behind
    const at = this.#gapFrom(0, bytes)
    if (at + bytes <= doorbellPosition) return at
    return fail('ENOMEM', `a queue of ${bytes} bytes finds no gap between those that there are`)
  }

  #gapFrom(from: number, bytes: number): number {
    let at = from
    for (const space of this.#spaces) {
      if (space.offset + space.bytes <= at) continue
      if (space.offset - at >= bytes) break
      at = space.offset + space.bytes
    }
    return at
  }

  free(space: QueueSpace): void {
    const index = this.#spaces.indexOf(space)
    if (index < 0) return
    this.#spaces.splice(index, 1)
    this.#bytes -= space.bytes
    unmap(space.buffer)
    punchMemoryFile(this.#fd, space.offset, space.bytes)
  }

  /**
   * Writes the handles of the queue pairs whose doorbells were rung since the last call to `into`; returns their number, or −1 if they may
   * be any.
   */
  doorbells(into: Uint32Array): number {
    const { size } = fstatSync(this.#fd)
    const from = this.#logRead
    const count = (size - from) / doorbellBytes
    this.#logRead = size
    if (size - doorbellPosition > maxLogBytes) return -1
    if (size - this.#logKept >= punchBytes) {
      punchMemoryFile(this.#fd, this.#logKept, size - this.#logKept)
      this.#logKept = size
      return -1
    }
    if (!Number.isInteger(count) || count > Math.min(maxDoorbells, into.length)) return -1
    if (count === 0) return 0
    if (readSync(this.#fd, this.#records, 0, count * doorbellBytes, from) !== count * doorbellBytes) return -1
    for (let i = 0; i < count; i++) {
      // An invalid doorbell was not written by the provider, or its memory was freed before it was read.
      if (this.#words.getUint32(i * doorbellBytes, true) !== postSendCommand) return -1
      into[i] = this.#words.getUint32(i * doorbellBytes + handleAt, true)
    }
    return count
  }

  close(): void {
    for (const { buffer } of this.#spaces) unmap(buffer)
    this.#spaces.length = 0
    closeFd(this.#fd)
  }
}
