/**
 * A program as it looks to the door: libibverbs with the rxe provider, in TypeScript. It encodes commands into its memory, maps the
 * queues of the file, writes requests and polls completions. Its process is this one, of which its memory is a part.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { afterAll } from 'vitest'
import { type Context, openDevice } from '../../../src/index.ts'
import { mapDescriptor, mapPrivate, unmap } from '../../../src/memory/index.ts'
import { addressOf } from '../../../src/memory/native/index.ts'
import { type Call, Errno, notifyBytes, type ProgramProcess, type QueueFile } from '../../../src/run/door.ts'
import { processWaist, UverbsDoor } from '../../../src/run/uverbs/index.ts'
import type { Observer } from '../../../src/run/watch/index.ts'

const verbsIoctl = 0xc0181b01
const commandsBytes = 1 << 16

const segment = `uverbs-${process.pid}`
afterAll(() => rmSync(`/dev/shm/verbena-${segment}`, { force: true }))

/** A door as `verbena run` has one, on an adapter of this process alone. */
export function openDoor(
  observer?: Observer,
  onOldLibrary: (pid: number) => void = () => {},
  now: () => number = () => 0,
): { door: UverbsDoor; context: Context } {
  const context = openDevice(`shm:${segment}`)
  const watch = observer ? { observer, device: 'rxe0', seesPeers: true } : null
  return { door: new UverbsDoor(processWaist(context), 0, { watch, onOldLibrary, now }), context }
}

/** Lets the door work until nothing moves. */
export function settle(door: UverbsDoor): void {
  for (let turns = 0; turns < 10_000; turns++) if (!door.progress()) return
  throw new Error('the door never rests')
}

/** Lets the door work until something is so: what waits for a receive asks for it again when its RNR timer has run. */
export function until(door: UverbsDoor, isSo: () => boolean): void {
  const end = performance.now() + 20_000
  while (!isSo()) {
    door.progress()
    if (performance.now() > end) throw new Error('it never comes')
  }
}

/** Memory of a program, by address and as its bytes. */
export interface Mapped {
  readonly address: number
  readonly bytes: Uint8Array
}

/** What the program has mapped itself; the rest of this process is not its own, so that wrong addresses hurt no test. */
export class Memory implements ProgramProcess {
  readonly pid: number = process.pid
  readonly #mapped: Mapped[] = []
  readonly #commands: Mapped = this.map(commandsBytes)
  #next = 0

  map(length: number): Mapped {
    const { buffer } = mapPrivate(length, { hugePages: false })
    const mapped = { address: addressOf(buffer), bytes: new Uint8Array(buffer) }
    this.#mapped.push(mapped)
    return mapped
  }

  #view(address: number, length: number): Uint8Array {
    if (length === 0) return new Uint8Array(0)
    for (const { address: start, bytes } of this.#mapped) {
      const at = address - start
      if (at >= 0 && at + length <= bytes.length) return bytes.subarray(at, at + length)
    }
    throw new Errno(14, `no memory at ${address}`)
  }

  read(address: number, into: Uint8Array): void {
    into.set(this.#view(address, into.length))
  }

  write(address: number, bytes: Uint8Array): void {
    this.#view(address, bytes.length).set(bytes)
  }

  covers(address: number, length: number): boolean {
    try {
      this.#view(address, length)
      return true
    } catch {
      return false
    }
  }

  /** Room for a command, 8 bytes aligned; what was there before may be overwritten soon. */
  room(length: number): number {
    if (this.#next + length > commandsBytes) this.#next = 0
    const at = this.#next
    this.#next += (length + 7) & ~7
    this.#commands.bytes.fill(0, at, at + length)
    return this.#commands.address + at
  }

  put(bytes: Uint8Array): number {
    const at = this.room(bytes.length)
    this.write(at, bytes)
    return at
  }

  get(address: number, length: number): Buffer {
    return Buffer.from(this.#view(address, length))
  }

  unmap(): void {
    for (const { bytes } of this.#mapped.splice(0)) unmap(bytes.buffer as ArrayBuffer)
  }
}

/** An attribute of an ioctl: a value of up to 8 bytes, a structure, room for an answer, or a handle. */
export type Attr =
  | { id: number; value: number | bigint; bytes: number; optional?: boolean }
  | { id: number; data: Uint8Array; optional?: boolean }
  | { id: number; out: number; optional?: boolean }
  | { id: number; handle: number; optional?: boolean }

export interface Answered {
  /** Bytes of each answer, by number of its attribute. */
  out: Map<number, Buffer>
  /** Data of each attribute that is a handle, as it is afterwards. */
  handles: Map<number, number>
  /** Those that were marked as written. */
  valid: Set<number>
}

export class Program {
  readonly context: Context
  readonly memory: Memory = new Memory()
  readonly file: QueueFile
  readonly door: UverbsDoor
  readonly call: Call
  readonly descriptors: Set<number> = new Set()
  readonly #mappings: ArrayBuffer[] = []

  constructor(door: UverbsDoor, context: Context) {
    this.door = door
    this.context = context
    this.call = {
      process: this.memory,
      tid: process.pid,
      nonBlocking: false,
      block: () => {
        throw new Error('no command of uverbs waits')
      },
      fileAt: () => undefined,
      addDescriptor: (descriptor) => {
        const fd = openSync(`/proc/self/fd/${descriptor}`, constants.O_RDONLY | constants.O_NONBLOCK)
        this.descriptors.add(fd)
        return fd
      },
    }
    this.file = door.open(this.call)
  }

  // --- commands ------------------------------------------------------------------------------------------------------

  ioctl(object: number, method: number, attrs: readonly Attr[], driver = 14): Answered {
    const bytes = Buffer.alloc(24 + 16 * attrs.length)
    bytes.writeUInt16LE(bytes.length, 0)
    bytes.writeUInt16LE(object, 2)
    bytes.writeUInt16LE(method, 4)
    bytes.writeUInt16LE(attrs.length, 6)
    bytes.writeUInt32LE(driver, 16)
    const outs = new Map<number, [number, number]>()
    attrs.forEach((attr, i) => {
      const at = 24 + 16 * i
      bytes.writeUInt16LE(attr.id, at)
      bytes.writeUInt16LE(attr.optional ? 0 : 1, at + 4)
      if ('value' in attr) {
        bytes.writeUInt16LE(attr.bytes, at + 2)
        bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(attr.value)), at + 8)
      } else if ('data' in attr) {
        bytes.writeUInt16LE(attr.data.length, at + 2)
        if (attr.data.length <= 8) bytes.set(attr.data, at + 8)
        else bytes.writeBigUInt64LE(BigInt(this.memory.put(attr.data)), at + 8)
      } else if ('out' in attr) {
        const room = this.memory.room(attr.out)
        outs.set(attr.id, [room, attr.out])
        bytes.writeUInt16LE(attr.out, at + 2)
        bytes.writeBigUInt64LE(BigInt(room), at + 8)
      } else bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(attr.handle)), at + 8)
    })
    const address = this.memory.put(bytes)
    // As the supervisor has it.
    const isShort = bytes.length === notifyBytes && this.file.notifies(new Uint32Array(Uint8Array.from(bytes).buffer))
    if (!isShort) this.file.ioctl(this.call, verbsIoctl, address)
    const after = this.memory.get(address, bytes.length)
    const answered: Answered = { out: new Map(), handles: new Map(), valid: new Set() }
    attrs.forEach((attr, i) => {
      const at = 24 + 16 * i
      if ((after.readUInt16LE(at + 4) & 2) !== 0) answered.valid.add(attr.id)
      const out = outs.get(attr.id)
      if (out) answered.out.set(attr.id, this.memory.get(...out))
      if ('handle' in attr) answered.handles.set(attr.id, Number(after.readBigUInt64LE(at + 8)))
    })
    return answered
  }

  /** A write command in an ioctl: response and driver's response. */
  invoke(command: number, core: Uint8Array, coreOut = 0, driverOut = 0, driverIn?: Uint8Array): [Buffer, Buffer] {
    const attrs: Attr[] = [{ id: 2, value: command >>> 0, bytes: 8 }]
    if (core.length > 0) attrs.push({ id: 0, data: core })
    if (coreOut > 0) attrs.push({ id: 1, out: coreOut })
    if (driverIn) attrs.push({ id: 0x1000, data: driverIn })
    if (driverOut > 0) attrs.push({ id: 0x1001, out: driverOut })
    const { out } = this.ioctl(0, 0, attrs)
    return [out.get(1) ?? Buffer.alloc(0), out.get(0x1001) ?? Buffer.alloc(0)]
  }

  /** A plain write command: all of the response. */
  write(command: number, core: Uint8Array, out = 0, hasResponse = out > 0): Buffer {
    const bytes = Buffer.alloc(8 + core.length)
    bytes.writeUInt32LE(command, 0)
    bytes.writeUInt16LE(bytes.length / 4, 4)
    bytes.writeUInt16LE(out / 4, 6)
    bytes.set(core, 8)
    const response = this.memory.room(out)
    if (hasResponse && bytes.length >= 16) bytes.writeBigUInt64LE(BigInt(response), 8)
    this.file.write(this.call, this.memory.put(bytes), bytes.length)
    return this.memory.get(response, out)
  }

  /** `ibv_open_device` as libraries since rdma-core 22 do it: the number of the descriptor for asynchronous events. */
  open(): number {
    this.ioctl(0, 3, [
      { id: 0, out: 4 },
      { id: 1, out: 8 },
    ])
    return this.ioctl(16, 0, [{ id: 0, handle: -1 }]).handles.get(0)!
  }

  // --- mappings and descriptors --------------------------------------------------------------------------------------

  map(mminfo: Buffer): Queue {
    const buffer = mapDescriptor(
      this.file.descriptor,
      mminfo.readUInt32LE(8),
      'a queue',
      Number(mminfo.readBigUInt64LE(0)),
    )
    this.#mappings.push(buffer)
    return new Queue(buffer)
  }

  /** What `read` of so many bytes gives: null if it would block. */
  read(descriptor: number, length: number): Buffer | null {
    const bytes = Buffer.alloc(length)
    try {
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, null))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null
      throw error
    }
  }

  /** The doorbell: 32 bytes that the kernel writes at the position of the descriptor. */
  ring(qp: number): void {
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32LE(28, 0)
    bytes.writeUInt16LE(8, 4)
    bytes.writeUInt16LE(1, 6)
    bytes.writeUInt32LE(qp, 16)
    writeSync(this.file.descriptor, bytes)
    this.file.rung()
    settle(this.door)
  }

  /** Writes something else than a doorbell where doorbells go. */
  append(bytes: Uint8Array): void {
    writeSync(this.file.descriptor, bytes)
  }

  /** Tries to take the queues away under the door. */
  cutOff(): void {
    ftruncateSync(this.file.descriptor, 0)
  }

  /** Memory that the file takes. */
  get usedBytes(): number {
    return fstatSync(this.file.descriptor).blocks * 512
  }

  /** Memory of the program that it may register. */
  buffer(length: number): Mapped {
    return this.memory.map(length)
  }

  /** The program ends. */
  end(): void {
    for (const mapping of this.#mappings) unmap(mapping)
    for (const descriptor of this.descriptors) closeSync(descriptor)
    closeSync(this.file.descriptor)
    this.file.closed()
    this.memory.unmap()
  }
}

/** A queue as the provider has it mapped. */
export class Queue {
  readonly i32: Int32Array
  readonly bytes: Buffer
  readonly mask: number
  readonly entryBytes: number

  constructor(buffer: ArrayBuffer) {
    this.i32 = new Int32Array(buffer)
    this.bytes = Buffer.from(buffer)
    this.entryBytes = 2 ** this.i32[0]!
    this.mask = this.i32[1]!
  }

  get producer(): number {
    return Atomics.load(this.i32, 32)
  }
  set producer(index: number) {
    Atomics.store(this.i32, 32, index)
  }
  get consumer(): number {
    return Atomics.load(this.i32, 64)
  }
  set consumer(index: number) {
    Atomics.store(this.i32, 64, index)
  }
  get count(): number {
    return (this.producer - this.consumer) & this.mask
  }

  entry(index: number): Buffer {
    return this.bytes.subarray(384 + index * this.entryBytes, 384 + (index + 1) * this.entryBytes)
  }

  /** Writes an entry behind the last one; false if the queue is full. */
  push(fill: (entry: Buffer) => void): boolean {
    const next = (this.producer + 1) & this.mask
    if (next === this.consumer) return false
    const entry = this.entry(this.producer & this.mask)
    entry.fill(0)
    fill(entry)
    this.producer = next
    return true
  }

  /** Takes the oldest entry. */
  pop(): Buffer | null {
    if (this.count === 0) return null
    const entry = Buffer.from(this.entry(this.consumer & this.mask))
    this.consumer = (this.consumer + 1) & this.mask
    return entry
  }
}
