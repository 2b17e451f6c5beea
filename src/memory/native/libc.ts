/**
 * The C library, called through koffi. This folder is the only one that knows koffi: an optional dependency that is loaded when it is
 * there, on 64-bit Linux. Without it everything here reports "not available".
 *
 * Addresses are passed as numbers: user space ends below 2^47, koffi takes a number where the prototype is `uint64_t`, and a number costs
 * no allocation where its bigint pointers do.
 */
import { createRequire } from 'node:module'
import { NativeError } from './error.ts'
import { gated } from './loading.ts'
import { heldCallsFile, withLooks } from './switching-calls.ts'

/** The part of koffi's interface that is used here; its own types are absent where it is not installed. */
export interface Koffi {
  load(path: string | null): { func(name: string, result: string, parameters: string[]): NativeFunction }
  alloc(type: string, length: number): bigint
  view(pointer: bigint, lengthBytes: number): ArrayBuffer
  address(bytes: Uint8Array): bigint
  proto(result: string, parameters: string[]): unknown
  /** A function at an address, of a type that `proto` has made. */
  decode(pointer: bigint, type: unknown): NativeFunction
  errno(): number
}

export interface NativeFunction {
  (...parameters: (number | bigint | string)[]): number
  async(...parameters: unknown[]): void
}

/** Values that differ between architectures: the numbers of the system calls that have no function in every C library. */
const generic = {
  futex: 98,
  mlock2: 284,
  membarrier: 283,
  schedSetattr: 274,
  schedGetattr: 275,
  io: { setup: 0, destroy: 1, submit: 2, getevents: 4 },
}
const syscallNumbers: Readonly<Record<string, typeof generic>> = {
  x64: {
    ...{ futex: 202, mlock2: 325, membarrier: 324, schedSetattr: 314, schedGetattr: 315 },
    io: { setup: 206, destroy: 207, submit: 209, getevents: 208 },
  },
  arm64: generic,
  riscv64: generic,
  loong64: generic,
}

export interface Libc {
  readonly koffi: Koffi
  readonly futexNumber: number
  readonly mlock2Number: number
  readonly membarrierNumber: number
  readonly schedSetattrNumber: number
  readonly schedGetattrNumber: number
  /** Numbers of io_setup and the like: asynchronous I/O. */
  readonly io: typeof generic.io
  readonly mmap: NativeFunction
  readonly munmap: NativeFunction
  readonly mprotect: NativeFunction
  readonly madvise: NativeFunction
  /** syscall(number, six parameters); those that a call does not take are ignored. */
  readonly syscall: NativeFunction
  readonly clockGettime: NativeFunction
  readonly schedSetaffinity: NativeFunction
  readonly schedGetaffinity: NativeFunction
  readonly schedYield: NativeFunction
  readonly exitNow: NativeFunction
  readonly getrusage: NativeFunction
  readonly prctl: NativeFunction
  readonly socket: NativeFunction
  readonly bind: NativeFunction
  readonly getsockname: NativeFunction
  readonly setsockopt: NativeFunction
  readonly getsockopt: NativeFunction
  readonly listen: NativeFunction
  readonly accept4: NativeFunction
  readonly connect: NativeFunction
  readonly getpeername: NativeFunction
  readonly shutdown: NativeFunction
  readonly send: NativeFunction
  readonly recv: NativeFunction
  readonly sendto: NativeFunction
  readonly recvfrom: NativeFunction
  readonly sendmsg: NativeFunction
  readonly sendmmsg: NativeFunction
  readonly recvmsg: NativeFunction
  readonly ioctl: NativeFunction
  readonly ifNametoindex: NativeFunction
  readonly poll: NativeFunction
  readonly ppoll: NativeFunction
  readonly eventfd: NativeFunction
  readonly timerfdCreate: NativeFunction
  readonly timerfdSettime: NativeFunction
  readonly pipe2: NativeFunction
  readonly memfdCreate: NativeFunction
  readonly fcntl: NativeFunction
  readonly lseek: NativeFunction
  readonly dup3: NativeFunction
  readonly open: NativeFunction
  readonly fallocate: NativeFunction
  readonly futimens: NativeFunction
  readonly flock: NativeFunction
  readonly read: NativeFunction
  readonly write: NativeFunction
  readonly close: NativeFunction
  readonly processVmReadv: NativeFunction
  readonly processVmWritev: NativeFunction
}

function open(): { libc: Libc | null; reason: string } {
  if (process.env.VERBENA_NO_NATIVE === '1') return { libc: null, reason: 'turned off by VERBENA_NO_NATIVE=1' }
  if (process.platform !== 'linux') return { libc: null, reason: `the platform is ${process.platform}, not Linux` }
  const numbers = syscallNumbers[process.arch]
  if (numbers === undefined) return { libc: null, reason: `the architecture ${process.arch} is not supported` }
  try {
    const koffi = createRequire(import.meta.url)('koffi') as Koffi
    const c = koffi.load(null)
    const vmParameters = ['int', 'uint64_t', 'uint64_t', 'uint64_t', 'uint64_t', 'uint64_t']
    return {
      reason: '',
      libc: {
        koffi,
        futexNumber: numbers.futex,
        mlock2Number: numbers.mlock2,
        membarrierNumber: numbers.membarrier,
        schedSetattrNumber: numbers.schedSetattr,
        schedGetattrNumber: numbers.schedGetattr,
        io: numbers.io,
        mmap: c.func('mmap', 'int64_t', ['uint64_t', 'uint64_t', 'int', 'int', 'int', 'int64_t']),
        munmap: c.func('munmap', 'int', ['uint64_t', 'uint64_t']),
        mprotect: c.func('mprotect', 'int', ['uint64_t', 'uint64_t', 'int']),
        madvise: c.func('madvise', 'int', ['uint64_t', 'uint64_t', 'int']),
        syscall: c.func('syscall', 'int64_t', [
          'int64_t',
          'uint64_t',
          'int64_t',
          'int64_t',
          'uint64_t',
          'uint64_t',
          'int64_t',
        ]),
        clockGettime: c.func('clock_gettime', 'int', ['int', 'uint64_t']),
        schedSetaffinity: c.func('sched_setaffinity', 'int', ['int', 'uint64_t', 'uint64_t']),
        schedGetaffinity: c.func('sched_getaffinity', 'int', ['int', 'uint64_t', 'uint64_t']),
        schedYield: c.func('sched_yield', 'int', []),
        exitNow: c.func('_exit', 'void', ['int']),
        getrusage: c.func('getrusage', 'int', ['int', 'uint64_t']),
        prctl: c.func('prctl', 'int', ['int', 'uint64_t', 'uint64_t', 'uint64_t', 'uint64_t']),
        socket: c.func('socket', 'int', ['int', 'int', 'int']),
        bind: c.func('bind', 'int', ['int', 'uint64_t', 'uint32_t']),
        getsockname: c.func('getsockname', 'int', ['int', 'uint64_t', 'uint64_t']),
        setsockopt: c.func('setsockopt', 'int', ['int', 'int', 'int', 'uint64_t', 'uint32_t']),
        getsockopt: c.func('getsockopt', 'int', ['int', 'int', 'int', 'uint64_t', 'uint64_t']),
        listen: c.func('listen', 'int', ['int', 'int']),
        accept4: c.func('accept4', 'int', ['int', 'uint64_t', 'uint64_t', 'int']),
        connect: c.func('connect', 'int', ['int', 'uint64_t', 'uint32_t']),
        getpeername: c.func('getpeername', 'int', ['int', 'uint64_t', 'uint64_t']),
        shutdown: c.func('shutdown', 'int', ['int', 'int']),
        send: c.func('send', 'int64_t', ['int', 'uint64_t', 'uint64_t', 'int']),
        recv: c.func('recv', 'int64_t', ['int', 'uint64_t', 'uint64_t', 'int']),
        sendto: c.func('sendto', 'int64_t', ['int', 'uint64_t', 'uint64_t', 'int', 'uint64_t', 'uint32_t']),
        recvfrom: c.func('recvfrom', 'int64_t', ['int', 'uint64_t', 'uint64_t', 'int', 'uint64_t', 'uint64_t']),
        sendmsg: c.func('sendmsg', 'int64_t', ['int', 'uint64_t', 'int']),
        sendmmsg: c.func('sendmmsg', 'int', ['int', 'uint64_t', 'uint32_t', 'int']),
        recvmsg: c.func('recvmsg', 'int64_t', ['int', 'uint64_t', 'int']),
        ioctl: c.func('ioctl', 'int', ['int', 'uint64_t', 'uint64_t']),
        ifNametoindex: c.func('if_nametoindex', 'uint32_t', ['str']),
        poll: c.func('poll', 'int', ['uint64_t', 'uint64_t', 'int']),
        ppoll: c.func('ppoll', 'int', ['uint64_t', 'uint64_t', 'uint64_t', 'uint64_t']),
        timerfdCreate: c.func('timerfd_create', 'int', ['int', 'int']),
        timerfdSettime: c.func('timerfd_settime', 'int', ['int', 'int', 'uint64_t', 'uint64_t']),
        pipe2: c.func('pipe2', 'int', ['uint64_t', 'int']),
        memfdCreate: c.func('memfd_create', 'int', ['str', 'uint32_t']),
        fcntl: c.func('fcntl', 'int', ['int', 'int', 'int64_t']),
        lseek: c.func('lseek', 'int64_t', ['int', 'int64_t', 'int']),
        dup3: c.func('dup3', 'int', ['int', 'int', 'int']),
        eventfd: c.func('eventfd', 'int', ['uint32_t', 'int']),
        open: c.func('open', 'int', ['str', 'int']),
        flock: c.func('flock', 'int', ['int', 'int']),
        fallocate: c.func('fallocate', 'int', ['int', 'int', 'int64_t', 'int64_t']),
        futimens: c.func('futimens', 'int', ['int', 'uint64_t']),
        read: c.func('read', 'int64_t', ['int', 'uint64_t', 'uint64_t']),
        write: c.func('write', 'int64_t', ['int', 'uint64_t', 'uint64_t']),
        close: c.func('close', 'int', ['int']),
        processVmReadv: c.func('process_vm_readv', 'int64_t', vmParameters),
        processVmWritev: c.func('process_vm_writev', 'int64_t', vmParameters),
      },
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'MODULE_NOT_FOUND')
      return { libc: null, reason: 'the package koffi is not installed: npm install koffi' }
    return { libc: null, reason: `the package koffi does not load: ${(error as Error).message}` }
  }
}

const opened = gated(open)

/** Observer of calls that may switch threads, set by tests: see memory/held.ts. */
let look: (call: string) => void = () => {}
export function lookAtCalls(looker: (call: string) => void): void {
  look = looker
}

export const libc: Libc | null =
  opened.libc !== null && heldCallsFile !== '' ? withLooks(opened.libc, (call) => look(call)) : opened.libc

/** True if the functions of this folder work here. */
export const nativeAvailable: boolean = libc !== null

/** Reason why they are not; empty if they are. */
export const nativeReason: string = opened.reason

/** The C library, or a `NativeError` with code `EOPNOTSUPP` where there is none. */
export function requireLibc(syscall: string): Libc {
  if (libc === null) throw new NativeError('EOPNOTSUPP', 95, syscall, `not available here: ${nativeReason}`)
  return libc
}

/** Memory that the C library may write and JavaScript read: its address, and a view that stays valid for ever. */
export function nativeScratch(sizeBytes: number): { address: number; u32: Uint32Array; u8: Uint8Array } {
  const { koffi } = requireLibc('malloc')
  const pointer = gated(() => koffi.alloc('int64_t', Math.ceil(sizeBytes / 8)))
  const buffer = gated(() => koffi.view(pointer, sizeBytes))
  return { address: Number(pointer), u32: new Uint32Array(buffer), u8: new Uint8Array(buffer).fill(0) }
}
