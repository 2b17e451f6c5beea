/**
 * The processes that have files of ours, and whose memory commands are read from. A process is one image: after `execve` it is another one,
 * of the same number, which does not have what the first registered.
 */
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import {
  errnos,
  isImageThere,
  programBytes,
  programMemoryBytes,
  readProgram,
  writeProgram,
} from '../../memory/index.ts'
import { Errno, type ProgramProcess } from '../door.ts'

const efault = (address: number, length: number): Errno =>
  new Errno(errnos.EFAULT, `${length} bytes at 0x${address.toString(16)} are not all mapped`)

class Program implements ProgramProcess {
  readonly pid: number
  /** The thread that called last: its process may have lost its first one. */
  tid: number
  /** /proc/PID/mem, which belongs to the image. */
  readonly #image: number

  constructor(pid: number, tid: number) {
    this.pid = pid
    this.tid = tid
    try {
      this.#image = openSync(`/proc/${tid}/mem`, 'r')
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code === 'EMFILE') throw new Errno(errnos.EMFILE, `verbena run itself has too many files open: ${message}`)
      throw new Errno(errnos.EACCES, `process ${pid} cannot be traced: ${message}`)
    }
  }

  get isThere(): boolean {
    return isImageThere(this.#image)
  }

  has(tid: number): boolean {
    return existsSync(`/proc/${this.pid}/task/${tid}`)
  }

  close(): void {
    closeSync(this.#image)
  }

  read(address: number, into: Uint8Array): void {
    for (let at = 0; at < into.length; ) {
      const length = Math.min(into.length - at, programMemoryBytes)
      if (readProgram(this.tid, address + at, length) !== length) throw efault(address, into.length)
      into.set(programBytes.subarray(0, length), at)
      at += length
    }
  }

  write(address: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const length = Math.min(bytes.length - at, programMemoryBytes)
      programBytes.set(bytes.subarray(at, at + length))
      if (writeProgram(this.tid, address + at, length) !== length) throw efault(address, bytes.length)
      at += length
    }
  }

  covers(address: number, length: number, writable: boolean): boolean {
    let covered = address
    const end = address + length
    for (const line of readMaps(this.tid).split('\n')) {
      // 7f0000000000-7f0000021000 rw-p …, ascending.
      const dash = line.indexOf('-')
      const blank = line.indexOf(' ', dash)
      if (blank < 0) break
      const to = Number.parseInt(line.slice(dash + 1, blank), 16)
      if (to <= covered) continue
      const from = Number.parseInt(line.slice(0, dash), 16)
      if (from > covered || line[blank + 1] !== 'r' || (writable && line[blank + 2] !== 'w')) return false
      covered = to
      if (covered >= end) return true
    }
    return length === 0
  }
}

function readMaps(tid: number): string {
  try {
    return readFileSync(`/proc/${tid}/maps`, 'latin1')
  } catch {
    return ''
  }
}

export class Programs {
  readonly #byPid = new Map<number, Program>()
  readonly #byTid = new Map<number, Program>()

  /** Returns the process of a thread that waits for an answer. Throws an Errno if its memory cannot be accessed. */
  of(tid: number): ProgramProcess {
    const known = this.#byTid.get(tid)
    if (known?.isThere && known.has(tid)) {
      known.tid = tid
      return known
    }
    this.#sweep()
    const pid = threadGroup(tid)
    let program = this.#byPid.get(pid)
    if (program === undefined) {
      program = new Program(pid, tid)
      this.#byPid.set(pid, program)
    }
    program.tid = tid
    this.#byTid.set(tid, program)
    return program
  }

  /** Drops the images that have gone, and the threads of other images that have ended. */
  #sweep(): void {
    for (const [pid, program] of this.#byPid) {
      if (program.isThere) continue
      this.#byPid.delete(pid)
      program.close()
    }
    for (const [tid, program] of this.#byTid)
      if (this.#byPid.get(program.pid) !== program || !program.has(tid)) this.#byTid.delete(tid)
  }

  close(): void {
    for (const program of this.#byPid.values()) program.close()
    this.#byPid.clear()
    this.#byTid.clear()
  }
}

function threadGroup(tid: number): number {
  try {
    const pid = Number(/^Tgid:\s*(\d+)/m.exec(readFileSync(`/proc/${tid}/status`, 'latin1'))?.[1])
    if (pid > 0) return pid
  } catch {
    // It has ended.
  }
  throw new Errno(errnos.ENOENT, `thread ${tid} has gone`)
}
