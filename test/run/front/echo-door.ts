/**
 * A door for tests of the front: its ioctl reads what the argument points to, a number of 32 bits and a text, and does what the number says.
 * It tells a file what it sees, a line each.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import {
  closeFd,
  isSoleDescription,
  makeEventFd,
  makeMemoryFile,
  reopenMemoryFile,
  Segment,
} from '../../../src/memory/index.ts'
import { type Call, type Door, Errno, type PolledFile, type QueueFile } from '../../../src/run/door.ts'
import { EventFile } from '../../../src/run/event-file.ts'
import type { SysfsAdapter } from '../../../src/run/front/index.ts'

export const echoAdapter: SysfsAdapter = {
  name: 'rxe0',
  index: 0,
  device: [231, 192],
  nodeGuid: 0x020000fffe000001n,
  linkLayer: 'Ethernet',
  gids: [{ gid: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1), type: 'RoCE v2', netdev: 'lo' }],
  state: 4,
  lid: 0,
  smLid: 0,
  rate: '10 Gb/sec (4X SDR)',
  capMask: 0x890000,
  firmware: '1.0',
  live: {},
}

/** What an ioctl is to do. */
export const Echo = {
  /** Returns 7, and writes the text in capitals over itself. */
  capitals: 1,
  /** Fails with EBUSY. */
  busy: 2,
  /** Returns a new descriptor of an event. */
  descriptor: 3,
  /** Throws what no call should. */
  broken: 4,
  /** Returns how many calls of this kind the file has had. */
  count: 5,
  /** Kills the process that asks. */
  kill: 6,
} as const

export const textBytes = 16

/** A segment whose first word the door waits for. */
export const segmentOptions = { staticBytes: 65_536, sizeBytes: 32 << 20 } as const

export function echoDoor(log: string): Door {
  const say = (line: string): void => appendFileSync(log, `${line}\n`)
  let opened = 0
  let asleep = 0
  const segment = existsSync(`${log}.segment`)
    ? Segment.named(readFileSync(`${log}.segment`, 'utf8'), segmentOptions)
    : null
  let seen = 0
  const word = (): number => (segment === null ? 0 : Atomics.load(segment.i32, segment.staticStart / 4))
  if (segment !== null) say(`waits as ${segment.me}`)
  return {
    path: '/dev/infiniband/uverbs0',
    device: [231, 192],
    hasQueues: true,
    parkings: segment === null ? [] : [segment.parking],
    open(call): QueueFile {
      const number = ++opened
      let count = 0
      const opener = call.process
      say(`open ${number} by ${opener.pid}`)
      if (existsSync(`${log}.kill`)) process.kill(opener.pid, 'SIGKILL')
      const own = makeMemoryFile('echo', 1 << 20)
      return {
        kind: 'queues',
        notifies: () => false,
        descriptor: reopenMemoryFile(own, 0),
        ioctl(call: Call, request, argument) {
          const bytes = new Uint8Array(4 + textBytes)
          call.process.read(argument, bytes)
          const what = bytes[0]!
          const text = Buffer.from(bytes.subarray(4)).toString('latin1')
          const image = call.process === opener ? '' : ', another image'
          if (what !== Echo.count)
            say(`ioctl ${number} 0x${request.toString(16)} ${what} by ${call.process.pid}${image}`)
          if (what === Echo.capitals) call.process.write(argument + 4, Buffer.from(text.toUpperCase(), 'latin1'))
          else if (what === Echo.busy) throw new Errno(16, 'it is busy')
          else if (what === Echo.descriptor) {
            const event = makeEventFd()
            try {
              return call.addDescriptor(event, true)
            } finally {
              closeFd(event)
            }
          } else if (what === Echo.broken) throw new TypeError('this door is broken')
          else if (what === Echo.count) return ++count
          else if (what === Echo.kill) process.kill(call.process.pid, 'SIGKILL')
          return 7
        },
        write(call, address, length) {
          const bytes = new Uint8Array(length)
          call.process.read(address, bytes)
          say(`write ${number} ${Buffer.from(bytes).toString('latin1')}`)
          return length
        },
        read: () => 0,
        rung: () => say(`rung ${number}`),
        isLeft: () => isSoleDescription(own),
        closed() {
          closeFd(own)
          say(`closed ${number}`)
        },
      }
    },
    progress() {
      if (word() === seen) return false
      seen = word()
      say(`progress ${seen}`)
      return true
    },
    arm() {
      asleep++
      return word() === seen
    },
    restMs: () => Number.POSITIVE_INFINITY,
    close: () => say(`end, slept ${asleep > 0}`),
  }
}

/**
 * A door whose files are polled. What is written is done: `post` adds an event, `wait` takes one, and waits until there is one.
 * Reading gives how many there are.
 */
export function pollDoor(log: string): Door {
  const say = (line: string): void => appendFileSync(log, `${line}\n`)
  return {
    path: '/dev/infiniband/rdma_cm',
    device: [10, 121],
    hasQueues: false,
    parkings: [],
    open(opening): PolledFile {
      const file = new EventFile(opening.nonBlocking, 'write')
      let events = 0
      return {
        kind: 'polled',
        asks: 'write',
        descriptor: file.descriptor,
        otherEnd: file.otherEnd,
        write(call, address, length) {
          const bytes = new Uint8Array(length)
          call.process.read(address, bytes)
          const what = Buffer.from(bytes).toString('latin1')
          if (what === 'wait') {
            if (events > 0) events--
            else if (call.nonBlocking) throw new Errno(11, 'no event')
            else {
              say('waits')
              return file.block(call)
            }
          } else if (what === 'post') {
            events++
          } else throw new Errno(22, what)
          file.readable = events > 0
          return length
        },
        read(call, address) {
          call.process.write(address, Uint8Array.of(events))
          return 1
        },
        ioctl: (call, request, argument) =>
          request === 0x1b03 ? (call.fileAt(argument)?.kind === 'polled' ? 1 : 0) : call.fileAt(argument)!.descriptor,
        closed() {
          file.close()
          say('closed polled')
        },
      }
    },
    progress: () => false,
    arm: () => true,
    restMs: () => Number.POSITIVE_INFINITY,
    close: () => {},
  }
}
