/** A program as it looks to the door of rdma_cm: librdmacm in TypeScript. Its process is this one, of which its memory is a part. */
import { closeSync, rmSync } from 'node:fs'
import { afterAll } from 'vitest'
import { type Context, openDevice } from '../../../src/index.ts'
import { waitReadable } from '../../../src/memory/native/index.ts'
import type { Call, OpenedFile, Result } from '../../../src/run/door.ts'
import { RdmaCmDoor } from '../../../src/run/rdma-cm/index.ts'
import type { OpenedCm } from '../../../src/run/rdma-cm/opened-cm.ts'
import type { Observer } from '../../../src/run/watch/index.ts'
import { Blocked } from '../blocked.ts'
import { Memory } from '../uverbs/program.ts'

const segment = `rdma-cm-${process.pid}`
afterAll(() => rmSync(`/dev/shm/verbena-${segment}`, { force: true }))

export function openCmDoor(observer?: Observer): { door: RdmaCmDoor; context: Context } {
  const context = openDevice(`shm:${segment}`)
  const watch = observer ? { observer, adapters: [{ name: 'rxe0', device: 'shm:run' }] } : null
  return { door: new RdmaCmDoor([context], watch), context }
}

/** Lets the door work until nothing moves. */
export function settle(door: RdmaCmDoor): void {
  for (let turns = 0; turns < 10_000; turns++) if (!door.progress()) return
  throw new Error('the door never rests')
}

export interface Event {
  uid: bigint
  id: number
  type: number
  status: number
  /** rdma_ucm_conn_param, or rdma_ucm_ud_param. */
  param: Buffer
}

export class CmProgram {
  readonly memory: Memory
  readonly file: OpenedCm
  readonly door: RdmaCmDoor
  readonly blocked: Blocked[] = []
  /** Makes the last command again. */
  #write: () => Result = () => 0
  nonBlocking = true
  /** What descriptors of the program are. */
  readonly files = new Map<number, OpenedFile>()
  #lastUid = 0n

  constructor(door: RdmaCmDoor, memory: Memory = new Memory()) {
    this.door = door
    this.memory = memory
    this.file = door.open(this.call) as OpenedCm
  }

  get call(): Call {
    const { memory, nonBlocking } = this
    return {
      process: memory,
      tid: process.pid,
      nonBlocking,
      block: (left) => {
        const blocked = new Blocked(left, this.#write)
        this.blocked.push(blocked)
        return blocked
      },
      fileAt: (fd) => this.files.get(fd),
      addDescriptor: () => {
        throw new Error('no command of rdma_cm gives descriptors')
      },
    }
  }

  /** A command by number: its answer. `response`: where its address is in the request. */
  command(number: number, request: Uint8Array, out = 0, response = 0): Buffer {
    const answer = this.memory.room(Math.max(out, 8))
    const body = Buffer.from(request)
    if (out > 0) body.writeBigUInt64LE(BigInt(answer), response)
    this.send(number, body, out)
    return this.memory.get(answer, out)
  }

  send(number: number, body: Uint8Array, out = 0, inBytes = body.length): Result {
    const bytes = Buffer.alloc(8 + body.length)
    bytes.writeUInt32LE(number, 0)
    bytes.writeUInt16LE(inBytes, 4)
    bytes.writeUInt16LE(out, 6)
    bytes.set(body, 8)
    const address = this.memory.put(bytes)
    const write = (): Result => {
      this.#write = write
      return this.file.write(this.call, address, bytes.length)
    }
    return write()
  }

  uid(): bigint {
    return ++this.#lastUid
  }

  createId(ps = 0x106, uid: bigint = this.uid(), qpType = 2): number {
    const body = Buffer.alloc(24)
    body.writeBigUInt64LE(uid, 0)
    body.writeUInt16LE(ps, 16)
    body.writeUInt8(qpType, 18)
    return this.command(0, body, 4, 8).readUInt32LE(0)
  }

  /** How many events were reported. */
  destroyId(id: number): number {
    return this.command(1, words(0, 0, id, 0), 4).readUInt32LE(0)
  }

  bind(id: number, address: Uint8Array): void {
    const body = Buffer.alloc(136)
    body.writeUInt32LE(id, 0)
    body.writeUInt16LE(address.length, 4)
    body.set(address, 8)
    this.send(20, body)
  }

  listen(id: number, backlog = 0): void {
    this.send(7, words(id, backlog))
  }

  resolve(id: number, address: Uint8Array): void {
    const body = Buffer.alloc(272)
    body.writeUInt32LE(id, 0)
    body.writeUInt32LE(1000, 4)
    body.writeUInt16LE(address.length, 10)
    body.set(address, 144)
    this.send(21, body)
    this.send(4, words(id, 1000))
  }

  connect(id: number, param: Uint8Array): void {
    this.send(6, Buffer.concat([param, words(id, 0, 0, 0)]))
  }

  accept(id: number, uid: bigint, param: Uint8Array): void {
    const body = Buffer.alloc(296)
    body.writeBigUInt64LE(uid, 0)
    body.set(param, 8)
    body.writeUInt32LE(id, 280)
    this.send(8, body)
  }

  initQpAttr(id: number, state: number): Buffer {
    return this.command(11, words(0, 0, id, state), 144)
  }

  /** GET_EVENT; undefined if there is none. */
  event(): Event | undefined {
    settle(this.door)
    if (!this.nonBlocking) throw new Error('this program would wait')
    try {
      return eventIn(this.command(12, words(0, 0), 336))
    } catch (error) {
      if ((error as { errno?: number }).errno === 11) return undefined
      throw error
    }
  }

  /** The types of all events that are there. */
  types(): number[] {
    const types: number[] = []
    for (let event = this.event(); event !== undefined; event = this.event()) types.push(event.type)
    return types
  }

  get isReadable(): boolean {
    return waitReadable(Int32Array.of(this.file.descriptor), 1, 0) === 1
  }

  end(): void {
    closeSync(this.file.descriptor)
    this.file.closed()
  }
}

export function eventIn(bytes: Buffer): Event {
  return {
    uid: bytes.readBigUInt64LE(0),
    id: bytes.readUInt32LE(8),
    type: bytes.readUInt32LE(12),
    status: bytes.readInt32LE(16),
    param: bytes.subarray(20, 324),
  }
}

export function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value >>> 0, 4 * i)
  })
  return bytes
}

export const inet = (port: number, ...ip: number[]): Buffer =>
  Buffer.from([2, 0, port >> 8, port & 255, ...(ip.length > 0 ? ip : [127, 0, 0, 1]), 0, 0, 0, 0, 0, 0, 0, 0])

export function ib(gid: Uint8Array, portSpace: number, port: number): Buffer {
  const bytes = Buffer.alloc(48)
  bytes.writeUInt16LE(27, 0)
  bytes.set(gid, 8)
  bytes.writeUInt16BE(portSpace, 28)
  bytes.writeUInt16BE(port, 30)
  return bytes
}

export function connParam(qpNum: number, privateData = '', valid = 1): Buffer {
  const bytes = Buffer.alloc(272)
  bytes.writeUInt32LE(qpNum, 0)
  bytes.write(privateData, 8)
  bytes.writeUInt8(privateData.length, 264)
  bytes.set([0, 4, 2, 1, 15, 6, valid], 265)
  return bytes
}
