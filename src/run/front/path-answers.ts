/** Answers calls on paths of ours, from the front's folder and from the numbers of character devices. */
import {
  accessPath,
  closeFd,
  errnos,
  type Notification,
  openPath,
  type Processor,
  pathResult,
  programBytes,
  readLinkPath,
  readProgram,
  statPath,
  statxBytes,
  statxPath,
  writeProgram,
} from '../../memory/index.ts'
import { type Door, Errno } from '../door.ts'
import type { Folder } from './folder.ts'

const pathMax = 4096
/** Bytes that are read first: most paths are shorter, and the page after them may not be mapped. */
const firstBytes = 256
const pageBytes = 4096

const S_IFCHR = 0o20000
const R_W_OK = 6
const X_OK = 1
/** struct statx. */
const Statx = { mode: 28, rdevMajor: 128, rdevMinor: 132 } as const

/** Flags of open that have a meaning for files that can only be read; the kernel's answer covers the others. */
const O_ACCMODE = 3
const O_CREAT = 0o100
const O_EXCL = 0o200
const O_TRUNC = 0o1000
export const O_NONBLOCK = 0o4000
export const O_CLOEXEC = 0o2000000

const characters = Buffer.from(programBytes.buffer, programBytes.byteOffset, programBytes.length)

/** Reads a path at `address` of a thread; null if it cannot be read or is too long: the kernel then returns that error itself. */
export function readPath(tid: number, address: number): string | null {
  let text = ''
  let room = firstBytes
  for (let at = address; text.length < pathMax; ) {
    const length = Math.min(room, pageBytes - (at % pageBytes))
    if (readProgram(tid, at, length) !== length) return null
    const end = characters.indexOf(0)
    const isEnd = end >= 0 && end < length
    text += characters.toString('latin1', 0, isEnd ? end : length)
    if (isEnd) return text.length < pathMax ? text : null
    at += length
    room = pageBytes
  }
  return null
}

export class PathAnswers {
  readonly #doors: ReadonlyMap<string, Door>
  readonly #processor: Processor
  readonly #folder: Folder

  constructor(folder: Folder, doors: ReadonlyMap<string, Door>, processor: Processor) {
    this.#folder = folder
    this.#doors = doors
    this.#processor = processor
  }

  /** Opens a file or folder for the waiting thread, and so answers its call. */
  open(n: Notification, path: string, flags: number): void {
    const { directory, noFollow } = this.#processor.openFlags
    if ((flags & O_CREAT) !== 0 && (flags & O_EXCL) !== 0) throw new Errno(errnos.EEXIST, `${path} exists`)
    const writes = (flags & O_ACCMODE) !== 0 || (flags & O_TRUNC) !== 0
    const taken = flags & (directory | noFollow | O_NONBLOCK)
    this.#folder.refresh(path)
    const fd = check(openPath(this.#folder.real(path), taken | O_CLOEXEC), path)
    try {
      if (writes) throw new Errno(errnos.EACCES, `${path} can only be read`)
      check(n.addDescriptor(fd, (flags & O_CLOEXEC) !== 0, -1, true), path)
    } finally {
      closeFd(fd)
    }
  }

  /** Writes struct stat to `address`. */
  stat(n: Notification, path: string, address: number, flags: number): void {
    check(statPath(this.#folder.real(path), flags), path)
    const { bytes, mode, rdev } = this.#processor.stat
    const door = this.#doors.get(path)
    if (door !== undefined) {
      set32(mode, S_IFCHR | 0o666)
      set32(rdev, deviceNumber(door.device))
      set32(rdev + 4, 0)
    }
    this.#give(n, address, bytes)
    n.answer(0)
  }

  statx(n: Notification, path: string, address: number, flags: number, mask: number): void {
    check(statxPath(this.#folder.real(path), flags, mask), path)
    const door = this.#doors.get(path)
    if (door !== undefined) {
      pathResult[Statx.mode] = (S_IFCHR | 0o666) & 0xff
      pathResult[Statx.mode + 1] = (S_IFCHR | 0o666) >> 8
      set32(Statx.rdevMajor, door.device[0])
      set32(Statx.rdevMinor, door.device[1])
    }
    this.#give(n, address, statxBytes)
    n.answer(0)
  }

  access(n: Notification, path: string, mode: number, flags: number): void {
    if (this.#doors.has(path)) {
      if ((mode & ~(R_W_OK | X_OK)) !== 0) throw new Errno(errnos.EINVAL, `mode ${mode}`)
      if ((mode & X_OK) !== 0) throw new Errno(errnos.EACCES, `${path} is a device`)
    } else check(accessPath(this.#folder.real(path), mode, flags), path)
    n.answer(0)
  }

  readLink(n: Notification, path: string, address: number, room: number): void {
    if (!(room > 0)) throw new Errno(errnos.EINVAL, 'no room for a path')
    const length = check(readLinkPath(this.#folder.real(path), room), path)
    this.#give(n, address, length)
    n.answer(length)
  }

  #give(n: Notification, address: number, length: number): void {
    programBytes.set(pathResult.subarray(0, length))
    if (writeProgram(n.tid, address, length) !== length) throw new Errno(errnos.EFAULT, 'the result cannot be written')
  }
}

/** Encodes a device number as stat(2) does: the minor number around the major one. */
function deviceNumber([major, minor]: readonly [number, number]): number {
  return ((minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12)) >>> 0
}

function set32(at: number, value: number): void {
  pathResult[at] = value & 0xff
  pathResult[at + 1] = (value >>> 8) & 0xff
  pathResult[at + 2] = (value >>> 16) & 0xff
  pathResult[at + 3] = value >>> 24
}

/** Checks the result of a call, which is an errno if it is negative. */
function check(result: number, path: string): number {
  if (result < 0) throw new Errno(-result, path)
  return result
}
