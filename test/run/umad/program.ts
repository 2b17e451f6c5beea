/** A program as it looks to the doors of umad: libibumad in TypeScript. */
import { rmSync } from 'node:fs'
import { afterAll } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import { type Call, Errno, type OpenedFile, type ProgramProcess, type Result } from '../../../src/run/door.ts'
import { UmadDoor, UmadPort } from '../../../src/run/umad/index.ts'
import type { Observer } from '../../../src/run/watch/index.ts'
import { Blocked } from '../blocked.ts'

const memoryAt = 0x1000
const headerBytes = 64

let segments = 0
/** An adapter that nobody else has; several ports of it are several runs. */
export function newAdapter(): { port: (index?: number) => UmadPort; close: () => void } {
  const name = `umad-${process.pid}-${++segments}`
  afterAll(() => rmSync(`/dev/shm/verbena-${name}`, { force: true }))
  const ports: UmadPort[] = []
  return {
    port(index = 0) {
      const made = new UmadPort(openDevice(`shm:${name}/${index}`))
      ports.push(made)
      return made
    },
    close: () => {
      for (const port of ports) {
        port.close()
        port.context.close()
      }
    },
  }
}

export class Memory implements ProgramProcess {
  readonly pid: number = process.pid
  readonly bytes: Uint8Array = new Uint8Array(1 << 17)

  #view(address: number, length: number): Uint8Array {
    const at = address - memoryAt
    if (!(at >= 0 && at + length <= this.bytes.length)) throw new Errno(14, `no memory at ${address}`)
    return this.bytes.subarray(at, at + length)
  }

  read(address: number, into: Uint8Array): void {
    into.set(this.#view(address, into.length))
  }

  write(address: number, bytes: Uint8Array): void {
    this.#view(address, bytes.length).set(bytes)
  }

  covers(): boolean {
    return true
  }
}

/** What a call returned: its value, the errno, or that it waits. */
export type Outcome = number | { errno: number } | 'waits'

export class Program {
  readonly memory: Memory = new Memory()
  readonly door: UmadDoor
  readonly file: OpenedFile
  nonBlocking = true
  readonly blocked: Blocked[] = []

  constructor(port: UmadPort, observer?: Observer) {
    this.door = new UmadDoor(port, 0, observer ? { observer, device: 'rxe0' } : null)
    this.file = this.door.open(this.#call())
  }

  /** `make`: makes the call again. */
  #call(make: () => Result = () => 0): Call {
    return {
      process: this.memory,
      tid: process.pid,
      nonBlocking: this.nonBlocking,
      block: (left) => {
        const blocked = new Blocked(left, make)
        this.blocked.push(blocked)
        return blocked
      },
      fileAt: () => undefined,
      addDescriptor: () => -1,
    }
  }

  #outcome(call: () => ReturnType<OpenedFile['read']>): Outcome {
    try {
      const result = call()
      return typeof result === 'number' ? result : 'waits'
    } catch (error) {
      if (error instanceof Errno) return { errno: error.errno }
      throw error
    }
  }

  ioctl(request: number, argument: Uint8Array | number): Outcome {
    if (typeof argument !== 'number') this.memory.bytes.set(argument)
    const at = typeof argument === 'number' ? argument : memoryAt
    return this.#outcome(() => this.file.ioctl(this.#call(), request, at))
  }

  enablePkey(): Outcome {
    return this.ioctl(0x1b03, 0)
  }

  /** REGISTER_AGENT; the number that it got, or the errno. */
  register(
    mgmtClass: number,
    options: { version?: number; methods?: readonly number[]; rmpp?: number; oui?: number; qpn?: number } = {},
  ): Outcome {
    const { version = 1, methods = [], rmpp = 0, oui = 0 } = options
    const bytes = new Uint8Array(28)
    for (const method of methods) bytes[4 + (method >> 3)]! |= 1 << (method & 7)
    bytes[20] = options.qpn ?? (mgmtClass === 1 || mgmtClass === 0x81 ? 0 : 1)
    bytes.set([mgmtClass, version, oui >> 16, oui >> 8, oui, rmpp], 21)
    const outcome = this.ioctl(0xc01c1b01, bytes)
    return outcome === 0 ? this.memory.bytes[0]! : outcome
  }

  unregister(agent: number): Outcome {
    return this.ioctl(0x40041b02, Uint8Array.of(agent, 0, 0, 0))
  }

  send(
    agent: number,
    mad: Uint8Array,
    to: { lid?: number; qpn?: number; timeoutMs?: number; retries?: number } = {},
  ): Outcome {
    const { lid = 1, qpn = mad[1] === 1 || mad[1] === 0x81 ? 0 : 1, timeoutMs = 0, retries = 0 } = to
    const bytes = Buffer.alloc(headerBytes + mad.length)
    bytes.writeUInt32LE(agent, 0)
    bytes.writeUInt32LE(timeoutMs, 8)
    bytes.writeUInt32LE(retries, 12)
    bytes.writeUInt32BE(qpn, 20)
    bytes.writeUInt32BE(qpn === 0 ? 0 : 0x80010000, 24)
    bytes.writeUInt16BE(lid, 28)
    bytes.set(mad, headerBytes)
    return this.write(bytes)
  }

  write(bytes: Uint8Array): Outcome {
    this.memory.bytes.set(bytes)
    return this.#outcome(() => this.file.write(this.#call(), memoryAt, bytes.length))
  }

  read(room: number = headerBytes + 256): Outcome {
    const read = (): Result => this.file.read(this.#call(read), memoryAt, room)
    return this.#outcome(read)
  }

  /** The next message, after the door has done what it can; null if there is none. */
  receive(room = 1 << 16): { agent: number; status: number; lid: number; qpn: number; mad: Buffer } | null {
    while (this.door.progress());
    const length = this.read(room)
    if (typeof length !== 'number') return null
    const bytes = Buffer.from(this.memory.bytes.subarray(0, length))
    return {
      agent: bytes.readUInt32LE(0),
      status: bytes.readUInt32LE(4),
      qpn: bytes.readUInt32BE(20),
      lid: bytes.readUInt16BE(28),
      mad: bytes.subarray(headerBytes),
    }
  }
}
