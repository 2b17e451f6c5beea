/**
 * The supervisor: one unfiltered thread answers the calls of all programs below a front, notifies doors of doorbells and of files that have
 * gone, and lets them make progress. When there is nothing to do it sleeps until a call, a doorbell, a door's completion or the end of the
 * front wakes it; it polls nothing at intervals.
 *
 * The data of a call are read first, then the kernel is queried whether the caller still waits, and only then the call is executed. A call
 * is left to the kernel only if its path is not one of ours: a program that changes a path meanwhile opens what it could open anyway.
 */
import {
  closeFd,
  drainEventFd,
  errnoName,
  errnos,
  loopAgain,
  NativeError,
  Notification,
  type Parking,
  type Processor,
  programBytes,
  readAgain,
  readProgram,
  sleepMs,
  waitReadable,
} from '../../memory/index.ts'
import {
  type Call,
  type Door,
  doorbellPosition,
  Errno,
  mostDescriptors,
  notifyBytes,
  type OpenedFile,
  type PolledFile,
  type Result,
  type SysfsTree,
  verbsRequest,
} from '../door.ts'
import { BlockedCalls } from './blocked-calls.ts'
import { Folder } from './folder.ts'
import { type NumberRange, numbersFor, preferredRanges } from './numbers.ts'
import type { OpenFile, OpenFiles } from './open-files.ts'
import { O_CLOEXEC, O_NONBLOCK, PathAnswers, readPath } from './path-answers.ts'
import { Paths } from './paths.ts'
import { fileSizeLimit, freeNumber, isNonBlocking } from './program-descriptors.ts'
import { Programs } from './programs.ts'

/** Time for which programs that post many requests may go on before their queues are checked, in ms; the kernel adds as much. */
const gatherMs = 0.03
/** Number of calls that are answered after that before doors make progress. */
const callsAtOnce = 4

const AT_FDCWD = -100
const AT_SYMLINK_NOFOLLOW = 0x100
const AT_EMPTY_PATH = 0x1000
const F_DUPFD_CLOEXEC = 1030
/** Minimum limit on the size of files of programs: their doorbells are written at `doorbellPosition` and beyond. */
const leastFileSize = 2 * doorbellPosition
/** struct open_how begins with the flags. */
const openHowBytes = 24
/** Number of descriptors that are always waited for: calls, doorbells, ends of polled files, the end of the front. */
const ownDescriptors = 4

/** Words that `readProgram` has read of a call that may be for `QueueFile.notifies`. */
const notifyWords = new Uint32Array(programBytes.buffer, programBytes.byteOffset, notifyBytes / 4)

export interface SupervisorOptions {
  /** Descriptor of the filter's listener. */
  readonly listener: number
  /** Event descriptor: once it is signalled and `ends` returns true, the supervisor returns. */
  readonly wake: number
  readonly ends: () => boolean
  readonly processor: Processor
  readonly ranges: readonly NumberRange[]
  readonly doors: readonly Door[]
  readonly sysfs: SysfsTree
  /** Open files, none yet. Made before there are programs, since it needs a resource of which a user has few. */
  readonly files: OpenFiles
  /** Path for the front's own folder. */
  readonly folder: string
  /** Reports what cannot be answered though it should be. */
  readonly onProblem: (text: string) => void
  /** Called when a program could not open a device, or a call on one has failed whose door does not report that itself. */
  readonly onRefused?: (pid: number, reason: string) => void
  /** Reports what programs do, for an observer. */
  readonly onNote?: (text: string) => void
}

/** Supervises until the end of the front; closes doors and files. */
export function supervise(options: SupervisorOptions): void {
  const supervisor = new Supervisor(options)
  try {
    supervisor.run()
  } finally {
    supervisor.close()
  }
}

class Supervisor {
  readonly #options: SupervisorOptions
  readonly #n: Notification
  readonly #folder: Folder
  readonly #paths: Paths
  readonly #doors: ReadonlyMap<string, Door>
  readonly #answers: PathAnswers
  readonly #files: OpenFiles
  readonly #programs = new Programs()
  readonly #blocked: BlockedCalls
  readonly #parkings: readonly Parking[]
  readonly #ranges: readonly NumberRange[]
  /** Handlers by number of the call. */
  readonly #handlers = new Map<number, () => void>()
  readonly #fds: Int32Array
  readonly #readable: Uint8Array
  /** Door of the file of the call that is being answered. */
  #door: Door | null = null
  #inPlace = false
  /** True if the call that was answered last was `ibv_req_notify_cq`. */
  #notified = false
  /** True if the call that was answered last has changed nothing here: it was left to the kernel, or was `ibv_req_notify_cq`. */
  #left = false

  constructor(options: SupervisorOptions) {
    const { listener, wake, doors, processor, sysfs, ranges, folder } = options
    this.#options = options
    this.#n = new Notification(listener)
    this.#blocked = new BlockedCalls(this.#n)
    this.#files = options.files
    this.#doors = new Map(doors.map((door) => [door.path, door]))
    this.#folder = new Folder(folder, sysfs, [...this.#doors.keys()])
    this.#paths = new Paths(this.#folder.path)
    this.#answers = new PathAnswers(this.#folder, this.#doors, processor)
    this.#parkings = [...new Set(doors.flatMap(({ parkings }) => parkings))]
    this.#ranges = preferredRanges(ranges)
    this.#fds = new Int32Array(ownDescriptors + doors.length * mostDescriptors + 2 * this.#parkings.length)
    this.#fds.set([listener, this.#files.descriptor, this.#files.endsDescriptor, wake])
    this.#readable = new Uint8Array(this.#fds.length)
    this.#handle(processor)
  }

  #handle({ calls }: Processor): void {
    const n = this.#n
    const on = (number: number | undefined, handler: () => void): void => {
      if (number !== undefined) this.#handlers.set(number, handler)
    }
    const cwd = AT_FDCWD
    on(calls.open, () => this.#open(cwd, 0, n.word(1)))
    on(calls.openat, () => this.#open(n.word(0) | 0, 1, n.word(2)))
    on(calls.openat2, () => this.#openHow())
    on(calls.stat, () => this.#stat(cwd, 0, n.argument(1), 0))
    on(calls.lstat, () => this.#stat(cwd, 0, n.argument(1), AT_SYMLINK_NOFOLLOW))
    on(calls.newfstatat, () => this.#stat(n.word(0) | 0, 1, n.argument(2), n.word(3)))
    on(calls.fstat, () => this.#statFile(n.word(0), n.argument(1)))
    on(calls.statx, () => this.#statx())
    on(calls.access, () => this.#access(cwd, 0, n.word(1), 0))
    on(calls.faccessat, () => this.#access(n.word(0) | 0, 1, n.word(2), 0))
    on(calls.faccessat2, () => this.#access(n.word(0) | 0, 1, n.word(2), n.word(3)))
    on(calls.readlink, () => this.#readLink(cwd, 0, n.argument(1), n.argument(2)))
    on(calls.readlinkat, () => this.#readLink(n.word(0) | 0, 1, n.argument(2), n.word(3)))
    for (const number of [calls.getxattr, calls.lgetxattr]) on(number, () => this.#attribute(-errnos.ENODATA))
    for (const number of [calls.listxattr, calls.llistxattr]) on(number, () => this.#attribute(0))
    on(calls.ioctl, () => this.#ioctl())
    on(calls.write, () => this.#transfer('write'))
    on(calls.read, () => this.#transfer('read'))
    on(calls.dup, () => this.#copy(0, false))
    on(calls.fcntl, () => this.#copy(n.word(2), n.word(1) === F_DUPFD_CLOEXEC))
    on(calls.dup2, () => this.#copyTo(n.word(1), false))
    on(calls.dup3, () => this.#copyTo(n.word(1), (n.word(2) & O_CLOEXEC) !== 0))
  }

  run(): void {
    const { ends, doors } = this.#options
    while (!ends()) {
      this.#blocked.restMs()
      let moved = false
      for (const door of doors) if (this.#progress(door)) moved = true
      if (moved) this.#wait(0, ownDescriptors)
      else if (this.#gathers()) {
        sleepMs(gatherMs)
        // Other programs do not wait for a turn each.
        for (let calls = 0; calls < callsAtOnce && this.#wait(0, ownDescriptors) > 0; calls++);
      } else this.#sleep()
    }
  }

  #gathers(): boolean {
    let any = false
    for (const door of this.#options.doors) any = door.gathers?.() || any
    return any
  }

  /** Lets a door make progress; an error that one program causes must not end the others. */
  #progress(door: Door): boolean {
    try {
      return door.progress()
    } catch (error) {
      this.#options.onProblem(`${door.path} could not go on: ${reasonOf(error)}`)
      return false
    }
  }

  #sleep(): void {
    // A file may have been opened.
    if (this.#inPlace && !this.#notified) this.#wakeFor(false)
    for (const parking of this.#parkings) parking.beginWait()
    let isArmed = true
    let count = ownDescriptors
    for (const door of this.#options.doors) {
      const more = door.arm() ? (door.descriptors?.(this.#fds, count) ?? 0) : -1
      if (more < 0) isArmed = false
      else count += more
    }
    // Doors that are armed need not be asked again after a call that has changed nothing, which took as long as the answer; until something is due.
    let restMs = isArmed ? this.#restMs() : 0
    for (;;) {
      this.#left = false
      if (this.#wait(restMs, count) !== 1 || !this.#left || !isArmed) break
      restMs = this.#restMs()
      if (restMs <= 0) break
    }
    for (const parking of this.#parkings) parking.endWait()
  }

  /** Returns for how long all may rest, while doors are armed, in ms. */
  #restMs(): number {
    let restMs = Number.POSITIVE_INFINITY
    for (const door of this.#options.doors) restMs = Math.min(restMs, door.restMs())
    // After the doors, which restart calls.
    return Math.min(restMs, this.#blocked.restMs())
  }

  /**
   * Selects, for the call that is answered, `ibv_req_notify_cq` or another, whether callers and this thread wake each other on the
   * processor on which they run. Each open and stat then takes a fourth of the time of a wake-up on another one; `ibv_req_notify_cq`, whose
   * callers sleep, takes less CPU time. Other calls on files do not, since they would bring programs that poll later together on one
   * processor: 35 µs a message were 2,000.
   */
  #wakeFor(notifies: boolean): void {
    this.#notified = notifies
    const inPlace = notifies || this.#files.count === 0
    if (inPlace === this.#inPlace) return
    this.#inPlace = inPlace
    this.#n.wakeInPlace(inPlace)
  }

  /** Waits at most that long, and answers one call; between two calls doors make progress. Returns the number of readable descriptors. */
  #wait(ms: number, descriptors: number): number {
    const readable = this.#readable
    const count = waitReadable(this.#parkings, this.#fds, descriptors, ms, readable)
    if (count === 0) return 0
    if (readable[1] !== 0) this.#files.look()
    if (readable[2] !== 0) this.#files.lookForEnds()
    if (readable[3] !== 0) drainEventFd(this.#options.wake)
    if (readable[0] === 1 && this.#n.receive()) {
      this.#blocked.came(this.#n.tid)
      this.#answer()
    }
    // No thread is filtered any more: before Linux 6.11 receiving would wait for ever.
    else if (readable[0] === 2) this.#fds[0] = -1
    return count
  }

  #answer(): void {
    const n = this.#n
    this.#door = null
    // For an ioctl, its handler determines this after examining it.
    if (n.number !== this.#options.processor.calls.ioctl) this.#wakeFor(false)
    const handler = this.#handlers.get(n.number)
    if (handler === undefined) {
      n.proceed()
      return
    }
    try {
      handler()
    } catch (error) {
      if (error instanceof Errno) {
        this.#options.onNote?.(`thread ${n.tid}: ${error.reason}: errno ${error.errno}`)
        const isAsked = error.expected || error.errno === errnos.EAGAIN
        // The handler has set it, of which the compiler knows nothing.
        const door = this.#door as Door | null
        if (door !== null && door.explains !== true && !isAsked) this.#refused(error.reason, error.errno)
        n.fail(error.errno)
        return
      }
      if (error instanceof NativeError) {
        this.#options.onNote?.(`thread ${n.tid}: ${error.message}`)
        n.fail(error.errno)
        return
      }
      this.#options.onProblem(`a call could not be answered: ${reasonOf(error)}`)
      n.fail(errnos.EIO)
    }
  }

  /** Returns the path of ours in argument `index`, relative to `directory`. Otherwise the call is left to the kernel. */
  #pathOf(directory: number, index: number): string | null {
    const n = this.#n
    const path = readPath(n.tid, n.argument(index))
    const meant = path === null ? null : this.#paths.meant(path, n.tid, directory)
    if (meant === null) this.#leave()
    // Of another process that has got the number of one that ended, nothing was meant.
    else if (!n.valid) return null
    return meant
  }

  /** Leaves the call to the kernel. */
  #leave(): void {
    this.#left = true
    this.#n.proceed()
  }

  #open(directory: number, index: number, flags: number): void {
    const path = this.#pathOf(directory, index)
    if (path !== null) this.#openPath(path, flags)
  }

  #openHow(): void {
    const n = this.#n
    const directory = n.word(0) | 0
    if (n.argument(3) < openHowBytes || readProgram(n.tid, n.argument(2), openHowBytes) !== openHowBytes) {
      n.proceed()
      return
    }
    const flags = programBytes[0]! | (programBytes[1]! << 8) | (programBytes[2]! << 16) | (programBytes[3]! << 24)
    this.#open(directory, 1, flags)
  }

  #openPath(path: string, flags: number): void {
    const door = this.#doors.get(path)
    if (door === undefined) {
      this.#answers.open(this.#n, path, flags)
      return
    }
    try {
      this.#openDevice(path, door, flags)
    } catch (error) {
      if (error instanceof Errno) this.#refused(`open: ${error.reason}`, error.errno)
      throw error
    }
  }

  /** Reports why a call has failed, if there is an observer. */
  #refused(reason: string, errno: number): void {
    const { onRefused } = this.#options
    if (onRefused === undefined) return
    const { tid } = this.#n
    let pid = tid
    try {
      pid = this.#programs.of(tid).pid
    } catch {
      // It has ended: its thread's number will do.
    }
    onRefused(pid, `${reason} (${errnoName(errno)})`)
  }

  #openDevice(path: string, door: Door, flags: number): void {
    if ((flags & this.#options.processor.openFlags.directory) !== 0)
      throw new Errno(errnos.ENOTDIR, `${path} is no directory`)
    if (door.hasQueues) this.#checkFileSize(path)
    const file = door.open(this.#call(() => (flags & O_NONBLOCK) !== 0))
    this.#options.onNote?.(`thread ${this.#n.tid} opens ${path}`)
    this.#give(this.#files.add(door, file), file.kind, (flags & O_CLOEXEC) !== 0)
  }

  #checkFileSize(path: string): void {
    const limit = fileSizeLimit(this.#n.tid)
    if (limit >= leastFileSize) return
    const reason = `${path} needs files of ${leastFileSize} bytes, and the limit is ${limit} (ulimit -f): its doorbells would end the program`
    this.#options.onProblem(reason)
    throw new Errno(errnos.EFBIG, reason)
  }

  /** Gives a file to the program, under a number that the filter knows. */
  #give(descriptor: number, kind: OpenedFile['kind'], closeOnExec: boolean, least = 0): void {
    const n = this.#n
    let isBeyond = false
    try {
      for (const range of this.#ranges) {
        const { from, to } = numbersFor(kind, range)
        const number = freeNumber(n.tid, { from: Math.max(from, least), to })
        if (number < 0) continue
        const result = n.addDescriptor(descriptor, closeOnExec, number, true)
        if (result >= 0 || result === -errnos.ENOENT) return
        // The number is beyond the program's limit of open files.
        if (result !== -errnos.EBADF) throw new Errno(-result, 'the file cannot be given to the program')
        isBeyond = true
      }
      const reason = isBeyond
        ? `the limit of open files leaves no number for another one: raise it (ulimit -n ${Math.min(...this.#ranges.map(({ to }) => to))} or more)`
        : 'no number is left for another file'
      throw new Errno(errnos.EMFILE, `${reason}; ${this.#files.count} are open`)
    } finally {
      // If no program has received the descriptor, this closes the file.
      closeFd(descriptor)
    }
  }

  #call(nonBlocking: () => boolean): Call {
    const n = this.#n
    const { tid } = n
    const process = this.#programs.of(tid)
    return {
      process,
      tid,
      get nonBlocking(): boolean {
        return nonBlocking()
      },
      block: (left) => this.#blocked.block(left),
      fileAt: (fd) => this.#files.find(tid, fd)?.file,
      addDescriptor: (descriptor, closeOnExec) => {
        const number = n.addDescriptor(descriptor, closeOnExec, -1, false)
        if (number < 0) throw new Errno(-number, 'no more descriptors in the program')
        return number
      },
    }
  }

  #stat(directory: number, index: number, address: number, flags: number): void {
    if ((flags & AT_EMPTY_PATH) !== 0 && directory !== AT_FDCWD) {
      this.#statFile(directory, address)
      return
    }
    const path = this.#pathOf(directory, index)
    if (path !== null) this.#answers.stat(this.#n, path, address, flags)
  }

  #statFile(fd: number, address: number): void {
    const file = this.#fileOf(fd)
    if (file !== null) this.#answers.stat(this.#n, file.door.path, address, 0)
  }

  #statx(): void {
    const n = this.#n
    const directory = n.word(0) | 0
    const flags = n.word(2)
    const mask = n.word(3)
    const address = n.argument(4)
    if ((flags & AT_EMPTY_PATH) !== 0 && directory !== AT_FDCWD) {
      const file = this.#fileOf(directory)
      if (file !== null) this.#answers.statx(n, file.door.path, address, flags & ~AT_EMPTY_PATH, mask)
      return
    }
    const path = this.#pathOf(directory, 1)
    if (path !== null) this.#answers.statx(n, path, address, flags, mask)
  }

  #access(directory: number, index: number, mode: number, flags: number): void {
    const path = this.#pathOf(directory, index)
    if (path !== null) this.#answers.access(this.#n, path, mode, flags)
  }

  #readLink(directory: number, index: number, address: number, room: number): void {
    const path = this.#pathOf(directory, index)
    if (path !== null) this.#answers.readLink(this.#n, path, address, room)
  }

  /** Files of ours have no extended attributes. */
  #attribute(result: number): void {
    if (this.#pathOf(AT_FDCWD, 0) === null) return
    if (result < 0) this.#n.fail(-result)
    else this.#n.answer(result)
  }

  #ioctl(): void {
    const n = this.#n
    const fd = n.word(0)
    const request = n.word(1)
    const argument = n.argument(2)
    const mayNotify = request === verbsRequest && argument <= Number.MAX_SAFE_INTEGER
    const isRead = mayNotify && readProgram(n.tid, argument, notifyBytes) === notifyBytes
    const file = this.#fileOf(fd)
    if (file === null) return
    const notifies = isRead && file.file.kind === 'queues' && file.file.notifies(notifyWords)
    this.#wakeFor(notifies)
    this.#left = notifies
    if (notifies) n.answer(0)
    else this.#finish(file.file.ioctl(this.#callOn(fd), request, safe(argument)))
  }

  #transfer(how: 'read' | 'write'): void {
    const n = this.#n
    const fd = n.word(0)
    const file = this.#fileOf(fd)
    if (file === null) return
    this.#finish(file.file[how](this.#callOn(fd), safe(n.argument(1)), safe(n.argument(2))))
  }

  /**
   * Duplicates a polled file, under a number of at least `least` that the filter knows. The copy has a description of its own, and so its
   * own O_NONBLOCK.
   */
  #copy(least: number, closeOnExec: boolean): void {
    const fd = this.#n.word(0)
    const file = this.#polledAt(fd)
    if (file !== null)
      this.#give(loopAgain(file.otherEnd, isNonBlocking(this.#n.tid, fd)), 'polled', closeOnExec, least)
  }

  /** Duplicates a polled file to a number that the program has chosen. */
  #copyTo(number: number, closeOnExec: boolean): void {
    const n = this.#n
    const fd = n.word(0)
    const file = this.#polledAt(fd)
    if (file === null) return
    const isKnown = this.#ranges
      .map((range) => numbersFor('polled', range))
      .some(({ from, to }) => from <= number && number < to)
    if (isKnown) {
      n.proceed()
      return
    }
    if (file.asks === 'read') {
      this.#refused(
        `dup2: descriptor ${number} cannot be read: let dup or fcntl(F_DUPFD) choose its number`,
        errnos.EBADF,
      )
      n.fail(errnos.EBADF)
      return
    }
    // Its writes do not stop: they shall fail, rather than reach the pipe.
    const copy = readAgain(file.otherEnd, isNonBlocking(n.tid, fd))
    try {
      const result = n.addDescriptor(copy, closeOnExec, number, true)
      if (result < 0 && result !== -errnos.ENOENT) n.fail(-result)
      else
        this.#refused(
          `dup2: descriptor ${number} can be polled, and nothing else: let dup or fcntl(F_DUPFD) choose its number`,
          errnos.EBADF,
        )
    } finally {
      closeFd(copy)
    }
  }

  #polledAt(fd: number): PolledFile | null {
    const file = this.#fileOf(fd)?.file
    if (file === undefined) return null
    if (file.kind === 'polled') return file
    this.#n.proceed()
    return null
  }

  /** Returns a call on a file of ours that the caller has as `fd`. */
  #callOn(fd: number): Call {
    const { tid } = this.#n
    return this.#call(() => isNonBlocking(tid, fd))
  }

  /** Answers, or leaves a blocked call to its file. */
  #finish(result: Result): void {
    if (typeof result === 'number') this.#n.answer(result)
    else this.#n.proceed()
  }

  /** Returns the file of a descriptor of the caller; if it is not one of ours, the call is left to the kernel. */
  #fileOf(fd: number): OpenFile | null {
    const n = this.#n
    const file = this.#files.find(n.tid, fd)
    if (file === undefined) {
      n.proceed()
      return null
    }
    this.#door = file.door
    return n.valid ? file : null
  }

  close(): void {
    this.#files.close()
    this.#programs.close()
    for (const door of this.#options.doors) door.close()
    this.#folder.remove()
  }
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/** Returns an address or length of a program as a number. */
function safe(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) throw new Errno(errnos.EFAULT, `0x${value.toString(16)} is no address`)
  return value
}
