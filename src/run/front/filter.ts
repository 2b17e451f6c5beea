/**
 * Selects the system calls of programs that stop for an answer: as few as possible, because each costs two thread switches.
 *
 * Calls with paths stop if the path may be one of ours. A filter cannot read the path, so all calls stop whose path is absolute or relative
 * to the working folder. Of those relative to a descriptor, calls that follow no link do not stop: `find`, `rm -r` and `tar` walk through
 * trees with them, and they name files in a folder that was opened before. If one of them opens a path of ours, it reaches the files of the
 * front's own folder.
 *
 * `ioctl` is recognized by the number of the request, which no other file uses: descriptors that were duplicated, inherited or sent to
 * another process need no list. `write` of 32 bytes is a doorbell of the provider rxe, and goes to the file without stopping. `read` and
 * other writes are recognized by the number of the descriptor, which also determines whether the file has doorbells. So calls that
 * duplicate a polled file stop, and the copy gets a number of ours.
 */
import { type BpfInstruction, errnos, type Processor } from '../../memory/index.ts'
import { doorbellBytes, type OpenedFile, servedRequests } from '../door.ts'
import { Assembler, argumentOffset, Data, Verdict } from './bpf.ts'
import { type NumberRange, numbersFor } from './numbers.ts'

const AT_FDCWD = 0xffffff9c
const AT_SYMLINK_NOFOLLOW = 0x100
const AT_EMPTY_PATH = 0x1000
const F_DUPFD = 0
const F_DUPFD_CLOEXEC = 1030
const AF_NETLINK = 16
const NETLINK_RDMA = 20
/** First number of calls of the x32 ABI. */
const x32 = 0x40000000

export interface FilterOptions {
  readonly processor: Processor
  /** Ranges of numbers of our descriptors in programs. */
  readonly ranges: readonly NumberRange[]
  /**
   * Flag: doorbells stop, too, since their errno is the kernel's. And descriptors of ours are recognized if programs have duplicated them.
   */
  readonly strict?: boolean
}

export function filterProgram({ processor, ranges, strict = false }: FilterOptions): BpfInstruction[] {
  const { calls, openFlags } = processor
  const a = new Assembler()
  const parts: (() => void)[] = []
  const on = (number: number | undefined, label: string): void => {
    if (number !== undefined) a.ifEqual(number, label)
  }
  /** Part of the program for one call, placed after all comparisons of numbers. */
  const handle = (number: number, part: () => void): void => {
    const label = a.newLabel()
    a.ifEqual(number, label)
    parts.push(() => {
      a.label(label)
      part()
    })
  }
  const notify = (): void => a.return(Verdict.notify)
  const allow = (): void => a.return(Verdict.allow)
  const onOthers = strict ? notify : allow
  /**
   * Branches on whether the number of descriptor argument `index` is in one of our ranges; with `kind`, in the part for files of that kind.
   */
  const ifOurs = (index: number, ours: () => void, others: () => void, kind?: OpenedFile['kind']): void => {
    const isOurs = a.newLabel()
    const is = a.newLabel()
    a.load(argumentOffset(index))
    for (const range of ranges) {
      const { from, to } = kind === undefined ? range : numbersFor(kind, range)
      const above = a.newLabel()
      const within = a.newLabel()
      a.ifAtLeast(from, within, is)
      a.label(within)
      a.ifAtLeast(to, above, isOurs)
      a.label(above)
    }
    a.label(is)
    others()
    a.label(isOurs)
    ours()
  }
  /** Handles a call with a path. `flags`: index of the argument that determines whether links are followed. */
  const ofPath = (flags: number, noFollow: number): void => {
    const stops = a.newLabel()
    const walks = a.newLabel()
    a.load(argumentOffset(0))
    a.ifEqual(AT_FDCWD, stops)
    a.load(argumentOffset(flags))
    a.ifAnyBit(noFollow, walks)
    a.label(stops)
    notify()
    a.label(walks)
    allow()
  }
  /** Handles a call whose path may be empty, and then means the descriptor. */
  const ofStat = (flags: number): void => {
    const path = a.newLabel()
    const empty = a.newLabel()
    const stops = a.newLabel()
    const others = a.newLabel()
    a.load(argumentOffset(flags))
    a.ifAnyBit(AT_EMPTY_PATH, empty, path)
    a.label(empty)
    a.load(argumentOffset(0))
    a.ifEqual(AT_FDCWD, stops, others)
    a.label(stops)
    notify()
    a.label(others)
    ifOurs(0, notify, onOthers)
    a.label(path)
    ofPath(flags, AT_SYMLINK_NOFOLLOW)
  }

  const isNative = a.newLabel()
  const other = a.newLabel()
  const stops = a.newLabel()
  a.load(Data.architecture)
  a.ifEqual(processor.auditArch, isNative, other)
  a.label(isNative)
  a.load(Data.number)
  a.ifAtLeast(x32, other)
  handle(calls.write, () => {
    const ours = a.newLabel()
    const ofDoorbell = (isDoorbell: () => void, isNone: () => void): void => {
      const doorbell = a.newLabel()
      a.load(argumentOffset(2))
      a.ifEqual(doorbellBytes, doorbell)
      isNone()
      a.label(doorbell)
      isDoorbell()
    }
    ifOurs(
      0,
      () => a.goto(ours),
      () => (strict ? ofDoorbell(notify, allow) : allow()),
    )
    a.label(ours)
    if (strict) notify()
    else ofDoorbell(() => ifOurs(0, allow, notify, 'queues'), notify)
  })
  handle(calls.read, () => ifOurs(0, notify, allow))
  handle(calls.ioctl, () => {
    const served = a.newLabel()
    a.load(argumentOffset(1))
    for (const request of servedRequests) a.ifEqual(request, served)
    allow()
    a.label(served)
    notify()
  })
  handle(calls.openat, () => ofPath(2, openFlags.noFollow))
  handle(calls.newfstatat, () => ofStat(3))
  handle(calls.statx, () => ofStat(2))
  handle(calls.fstat, () => ifOurs(0, notify, onOthers))
  handle(calls.socket, () => {
    const netlink = a.newLabel()
    const refused = a.newLabel()
    a.load(argumentOffset(0))
    a.ifEqual(AF_NETLINK, netlink)
    allow()
    a.label(netlink)
    a.load(argumentOffset(2))
    a.ifEqual(NETLINK_RDMA, refused)
    allow()
    a.label(refused)
    a.return(Verdict.fail(errnos.EPROTONOSUPPORT))
  })
  const copies = a.newLabel()
  for (const name of ['dup', 'dup2', 'dup3'] as const) on(calls[name], copies)
  handle(calls.fcntl, () => {
    a.load(argumentOffset(1))
    a.ifEqual(F_DUPFD, copies)
    a.ifEqual(F_DUPFD_CLOEXEC, copies)
    allow()
  })
  parts.push(() => {
    a.label(copies)
    ifOurs(0, notify, allow, 'polled')
  })
  for (const name of ['open', 'stat', 'lstat', 'access', 'readlink'] as const) on(calls[name], stops)
  for (const name of ['readlinkat', 'faccessat', 'faccessat2', 'openat2'] as const) on(calls[name], stops)
  // `ls -l` queries access control lists.
  for (const name of ['getxattr', 'lgetxattr', 'listxattr', 'llistxattr'] as const) on(calls[name], stops)
  a.label(other)
  allow()
  a.label(stops)
  notify()
  for (const part of parts) part()
  return a.assemble()
}
