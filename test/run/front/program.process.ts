/**
 * A program that front.test.ts starts below a front: what it does is named by its argument. It writes its results as JSON, and knows nothing
 * of Verbena but functions of the C library.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import {
  adoptDescendants,
  callNumber,
  DescriptorServer,
  drainEventFd,
  fetchDescriptors,
  signalEventFd,
  waitReadable,
} from '../../../src/memory/native/index.ts'
import { nativeScratch, requireLibc } from '../../../src/memory/native/libc.ts'
import { verbsRequest } from '../../../src/run/door.ts'
import { Echo, textBytes } from './echo-door.ts'

const path = '/dev/infiniband/uverbs0'
const [name, ...args] = process.argv.slice(2)
const c = requireLibc('ioctl')
const command = nativeScratch(4 + textBytes + 4)

function ioctl(fd: number, what: number, text = ''): number | string {
  command.u8.fill(0)
  command.u8[0] = what
  command.u8.set(Buffer.from(text), 4)
  const result = c.ioctl(fd, verbsRequest, command.address)
  return result >= 0 ? result : `errno ${c.koffi.errno()}`
}

const text = (): string =>
  Buffer.from(command.u8.subarray(4, 4 + textBytes))
    .toString('latin1')
    .replace(/\0.*$/, '')

function ended(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)))
}

function self(...more: string[]): [string, string[]] {
  return [process.execPath, [process.argv[1]!, ...more]]
}

/** openat of a path at an address. */
function openAt(address: number): number | string {
  const fd = Number(c.syscall(callNumber('openat'), 0xffffff9c, address, 0, 0, 0, 0))
  if (fd < 0) return `errno ${c.koffi.errno()}`
  closeSync(fd)
  return 'open'
}

const programs: Record<string, () => unknown> = {
  commands() {
    const fd = openSync(path, 'r+')
    const { rdev } = fstatSync(fd)
    const capitals = ioctl(fd, Echo.capitals, 'verbs')
    const said = text()
    const busy = ioctl(fd, Echo.busy)
    const broken = ioctl(fd, Echo.broken)
    const event = ioctl(fd, Echo.descriptor) as number
    signalEventFd(event)
    const drained = drainEventFd(event)
    const unreadable = c.ioctl(fd, verbsRequest, 4096) < 0 ? c.koffi.errno() : 0
    const far = c.dup3(fd, 700, 0)
    const onCopy = ioctl(700, Echo.capitals, 'copy')
    const doorbell = writeSync(fd, Buffer.alloc(32, 'd'))
    const order = writeSync(fd, 'an order')
    const device = fstatSync(fd).isCharacterDevice()
    const foreign = c.ioctl(1, verbsRequest, command.address) < 0
    return {
      ...{ fd, rdev, device, capitals, said, busy, broken, drained, unreadable, far, onCopy, doorbell, order, foreign },
      socket: c.socket(16, 3, 20) < 0 ? c.koffi.errno() : 0,
      route: c.socket(16, 3, 0) >= 0,
    }
  },

  paths() {
    const page = 4096
    const base = Number(c.mmap(0, 3 * page, 3, 0x22, -1, 0))
    c.mprotect(base + 2 * page, page, 0)
    const bytes = new Uint8Array(c.koffi.view(BigInt(base), 2 * page))
    const target = '/sys/class/infiniband_verbs/abi_version'
    const put = (text: string, at: number): number => {
      bytes.set(Buffer.from(text, 'latin1'), at)
      return base + at
    }
    const crossing = openAt(put(`${target}\0`, page - 20))
    const atEnd = openAt(put(`${target}\0`, 2 * page - target.length - 1))
    const notEnded = openAt(put(target, 2 * page - target.length))
    const long = openAt(put(`${'/'.repeat(page - target.length)}${target}`.padEnd(2 * page, '/').slice(0, 2 * page), 0))
    const fits = openAt(put(`${'/'.repeat(page - target.length - 1)}${target}\0`, 0))
    return { crossing, atEnd, notEnded, long, fits, nowhere: openAt(8) }
  },

  async inherited() {
    const fd = openSync(path, 'r+')
    const [file, args] = self('child', '3')
    const child = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit', fd, 'pipe'] })
    closeSync(fd)
    await ended(child)
    return { fd }
  },

  child() {
    return { onInherited: ioctl(Number(args[0]), Echo.capitals, 'child') }
  },

  async count() {
    const fd = openSync(path, 'r+')
    const storm = spawn('sh', ['-c', `while kill -USR1 ${process.pid}; do :; done`], { stdio: 'ignore' })
    await new Promise<void>((resolve) => process.on('SIGUSR1', resolve))
    let last: number | string = 0
    for (let i = 0; i < 1500; i++) last = ioctl(fd, Echo.count)
    storm.kill('SIGKILL')
    // So many signals can fill libuv's own pipe of signals, and that its child has ended is not told then.
    storm.unref()
    return { last }
  },

  many() {
    const files = Array.from({ length: 2000 }, () => openSync('/dev/null', 'r'))
    const fd = openSync(path, 'r+')
    const result = ioctl(fd, Echo.capitals, 'x')
    for (const file of files) readSync(file, Buffer.alloc(1))
    return { fd, result, others: files.includes(fd), device: fstatSync(fd).isCharacterDevice() }
  },

  /** Opens, and waits to be killed. */
  hang() {
    openSync(path, 'r+')
    writeSync(1, `hangs ${process.pid}\n`)
    return new Promise(() => setInterval(() => {}, 100_000))
  },

  /** Starts a command, adopts what that leaves and never asks for it, as the first process of some containers. */
  keeps() {
    adoptDescendants()
    const { pid } = spawn(args[0]!, args.slice(1), { stdio: 'inherit' })
    writeSync(1, `keeps ${pid}\n`)
    return new Promise(() => setInterval(() => {}, 100_000))
  },

  /** Sends a descriptor of ours to another process, and ends without it. */
  async passed() {
    const fd = openSync(path, 'r+')
    const name = `\0verbena-passed-${process.pid}`
    const server = new DescriptorServer(name.slice(1), () => [{ fd, tag: 1 }])
    const child = spawn(...self('receives', name.slice(1)), { stdio: 'inherit' })
    await ended(child)
    return { served: server.served }
  },

  receives() {
    const [received] = fetchDescriptors(args[0]!, 5000)
    return { onReceived: ioctl(received!.fd, Echo.capitals, 'passed') }
  },

  /** Counts signals until SIGTERM comes. */
  signals() {
    let interrupts = 0
    process.on('SIGINT', () => interrupts++)
    const term = new Promise((resolve) => process.on('SIGTERM', () => resolve({ interrupts })))
    const alive = setInterval(() => {}, 100_000)
    writeSync(1, `ready ${process.ppid}\n`)
    return term.finally(() => clearInterval(alive))
  },

  killed() {
    return { killed: ioctl(openSync(path, 'r+'), Echo.kill) }
  },

  /** Starts processes that open and close, and kills each at any moment. */
  async moments() {
    const loop = 'while :; do exec 5<>/dev/infiniband/uverbs0; exec 5>&-; done'
    for (let i = 0; i < 6; i++) {
      const children = Array.from({ length: 4 }, () => spawn('sh', ['-c', loop], { stdio: 'ignore' }))
      const all = children.map(ended)
      for (const child of children) setTimeout(() => child.kill('SIGKILL'), 1 + 20 * Math.random())
      await Promise.all(all)
    }
    return { after: ioctl(openSync(path, 'r+'), Echo.capitals, 'x') }
  },

  /** Files that are polled: what does not wait. */
  polled() {
    const fd = openSync('/dev/infiniband/rdma_cm', 'r+')
    const isReadable = (): boolean => waitReadable(Int32Array.of(fd), 1, 0) === 1
    const states = [isReadable()]
    const say = (what: string, file = fd): number | string => {
      try {
        return writeSync(file, what)
      } catch (error) {
        return (error as NodeJS.ErrnoException).code!
      }
    }
    say('post')
    states.push(isReadable())
    const counted = Buffer.alloc(4)
    const read = readSync(fd, counted)
    const taken = say('wait')
    states.push(isReadable())
    say('post')
    const copies = [Number(c.syscall(callNumber('dup'), fd, 0, 0, 0, 0, 0)), c.fcntl(fd, 1030, 10), c.dup3(fd, 600, 0)]
    const onCopies = copies.map((copy) => say('post', copy))
    const readsCopy = waitReadable(Int32Array.of(copies[2]!), 1, 0) === 1
    const other = openSync(path, 'r+')
    const isDevice = fstatSync(fd).isCharacterDevice()
    const nonBlocking = openSync('/dev/infiniband/rdma_cm', 0o4002)
    return {
      ...{
        onCopies,
        readsCopy,
        states,
        read,
        posted: counted[0],
        taken,
        isDevice,
        empty: say('wait', nonBlocking),
        wrong: say('wrong'),
      },
      same: c.ioctl(fd, 0x1b03, nonBlocking),
      foreign: c.ioctl(fd, 0x1b03, other),
    }
  },

  /** Opens as `again` does, and ends once it is told to. */
  interrupted() {
    const result = programs.again!()
    writeSync(1, 'opened\n')
    readSync(0, Buffer.alloc(1))
    return result
  },

  again() {
    const numbers = Array.from({ length: 300 }, () => {
      const fd = openSync(path, 'r+')
      closeSync(fd)
      return fd
    })
    return { numbers: [...new Set(numbers)].length }
  },
}

process.stdout.write(`${JSON.stringify(await programs[name!]!())}\n`)
