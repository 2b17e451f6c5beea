/** A peer that speaks the protocol of rsockets over verbs and the RDMA CM, and can say anything. */
import {
  Access,
  CmEventType,
  type CmId,
  type CompletionQueue,
  type Context,
  createEventChannel,
  type EventChannel,
  type MemoryRegion,
  Opcode,
  openDevice,
  PortSpace,
  type ProtectionDomain,
  SendFlag,
  type WorkCompletion,
  workCompletions,
} from '../../src/index.ts'
import { type ConnData, decodeConnData, encodeConnData } from '../../src/rsocket/protocol/conn-data.ts'
import { message, Op } from '../../src/rsocket/protocol/messages.ts'
import { sleep } from './stage.ts'

const bytes = 1 << 18
const entries = 16
const entryBytes = 16
/** Where in the memory things are: the target SGL, the receive buffer, and what is sent from. */
const dataAt = 1 << 16
const dataBytes = 1 << 16
const outAt = 1 << 17
const receives = 512

export interface BadOptions {
  device: string
  host: string
  port: number
  /** Features of Verbena ends; 3 is a trunk, undefined a peer of version 1. */
  features?: number
  /** The private data, whatever it is. */
  raw?: Uint8Array
}

export class BadPeer {
  readonly memory: Uint8Array
  readonly mr: MemoryRegion
  readonly theirs: ConnData
  /** Operations and values that came. */
  readonly came: [number, number][] = []
  /** The peer has ended the connection, in whatever way. */
  ended = false
  readonly #context: Context
  readonly #channel: EventChannel
  readonly #id: CmId
  readonly #pd: ProtectionDomain
  readonly #recvCq: CompletionQueue
  readonly #sendCq: CompletionQueue
  readonly #wc: WorkCompletion[] = workCompletions(64)
  readonly #view: DataView
  #entry = 1
  #allowed: number
  #sent = 0
  #posted = 0
  #done = 0
  #out = 0
  /** Parts of the peer's receive buffer that may be written to. */
  readonly #parts: [number, number][]

  private constructor(ends: {
    context: Context
    channel: EventChannel
    id: CmId
    pd: ProtectionDomain
    recvCq: CompletionQueue
    sendCq: CompletionQueue
    memory: Uint8Array
    mr: MemoryRegion
    theirs: ConnData
  }) {
    this.#context = ends.context
    this.#channel = ends.channel
    this.#id = ends.id
    this.#pd = ends.pd
    this.#recvCq = ends.recvCq
    this.#sendCq = ends.sendCq
    this.memory = ends.memory
    this.mr = ends.mr
    this.theirs = ends.theirs
    this.#view = new DataView(ends.memory.buffer, ends.memory.byteOffset)
    this.#allowed = ends.theirs.credits
    const { addr, length } = ends.theirs.dataBuffer
    this.#parts = [[addr, length * (1 + (ends.theirs.extension?.moreBuffers ?? 0))]]
  }

  /** Connects; undefined if the peer refuses. */
  static async connect({ device, host, port, features, raw }: BadOptions): Promise<BadPeer | undefined> {
    const context = openDevice(device)
    const channel = createEventChannel({ device: context })
    const id = channel.createId(PortSpace.Tcp)
    const pd = context.allocPd()
    const memory = context.alloc(bytes)
    const mr = pd.regMr(memory, Access.LocalWrite | Access.RemoteWrite)
    const [recvCq, sendCq] = [context.createCq(2 * receives), context.createCq(2 * receives)]
    const giveUp = (): undefined => {
      channel.close()
      for (const object of [recvCq, sendCq, mr, pd]) object.close()
      context.free(memory)
      context.close()
    }
    const privateData =
      raw ??
      encodeConnData({
        bigEndian: false,
        iomapSize: -1,
        credits: 384,
        targetSgl: { addr: mr.addr, key: mr.rkey, length: entries },
        dataBuffer: { addr: mr.addr + dataAt, key: mr.rkey, length: dataBytes },
        extension: features === undefined ? null : { features, moreBuffers: 0 },
      })
    id.resolveAddr(undefined, { address: host, port })
    for (;;) {
      const event = channel.tryGetEvent()
      if (event === undefined) {
        await sleep(1)
        continue
      }
      if (event.type === CmEventType.AddrResolved) id.resolveRoute()
      else if (event.type === CmEventType.RouteResolved) {
        const cap = { maxSendWr: receives, maxRecvWr: receives, maxSendSge: 1, maxRecvSge: 1 }
        const qp = id.createQp({ pd, sendCq, recvCq, cap })
        for (let i = 0; i < receives; i++) qp.postRecv({ wrId: i, sgList: [] })
        id.connect({ privateData, responderResources: 0, initiatorDepth: 0, retryCount: 7, rnrRetryCount: 7 })
      } else if (event.type === CmEventType.Established) {
        const theirs = decodeConnData(event.param.privateData)
        if (typeof theirs === 'string') return giveUp()
        return new BadPeer({ context, channel, id, pd, recvCq, sendCq, memory, mr, theirs })
      } else return giveUp()
    }
  }

  /** Takes what has come. */
  poll(): void {
    for (let n = this.#recvCq.poll(this.#wc); n > 0; n = this.#recvCq.poll(this.#wc))
      for (let i = 0; i < n; i++) {
        const { status, immData } = this.#wc[i]!
        if (status !== 0) {
          this.ended = true
          continue
        }
        const [op, value] = [immData >>> 29, immData & 0x1fffffff]
        if (op === Op.Control) this.ended ||= value === 0
        if (op === Op.Sgl) this.#allowed += (value - this.#allowed) & 0xffff
        else this.came.push([op, value])
        if (!this.ended) this.#id.qp!.postRecv({ wrId: 0, sgList: [] })
      }
    for (let n = this.#sendCq.poll(this.#wc); n > 0; n = this.#sendCq.poll(this.#wc)) {
      this.#done += n
      for (let i = 0; i < n; i++) if (this.#wc[i]!.status !== 0) this.ended = true
    }
    for (let event = this.#channel.tryGetEvent(); event !== undefined; event = this.#channel.tryGetEvent())
      if (event.type === CmEventType.Disconnected) this.ended = true
    for (;;) {
      const at = this.#entry * entryBytes
      const length = this.#view.getUint32(at + 12, true)
      if (length === 0) break
      this.#parts.push([Number(this.#view.getBigUint64(at, true)), length])
      this.#view.setUint32(at + 12, 0, true)
      this.#entry = (this.#entry + 1) % entries
    }
  }

  /** Any WRITE with immediate, of `payload`, to wherever; without an immediate a plain one. */
  write(immediate: number | null, payload: Uint8Array, remoteAddr: number, rkey = this.theirs.dataBuffer.key): void {
    if (this.ended) return
    // Slots of 8 KiB: fewer requests than slots are in flight.
    const at = outAt + (this.#out++ % 8) * 8192
    this.memory.set(payload, at)
    this.#posted++
    const common = {
      sendFlags: SendFlag.Signaled,
      remoteAddr,
      rkey,
      sgList: payload.length > 0 ? [{ addr: this.mr.addr + at, length: payload.length, lkey: this.mr.lkey }] : [],
    }
    if (immediate === null) this.#id.qp!.postSend({ opcode: Opcode.Write, ...common })
    else this.#id.qp!.postSend({ opcode: Opcode.WriteWithImm, immData: immediate, ...common })
  }

  /**
   * Sends data as the protocol wants it, up to 8 KiB at a time, when the peer allows it; false if the connection has ended
   * or `ms` go by before the peer does.
   */
  async send(data: Uint8Array, ms = 5000): Promise<boolean> {
    const deadline = performance.now() + ms
    for (let at = 0; at < data.length; ) {
      this.poll()
      if (this.ended || performance.now() > deadline) return false
      const part = this.#parts[0]
      if (part === undefined || this.#sent >= this.#allowed || this.#posted - this.#done >= 8) {
        await sleep(1)
        continue
      }
      const n = Math.min(8192, part[1], data.length - at)
      this.write(message(Op.Data, n), data.subarray(at, at + n), part[0])
      this.#sent++
      at += n
      if (n === part[1]) this.#parts.shift()
      else this.#parts[0] = [part[0] + n, part[1] - n]
    }
    return true
  }

  /** Goes without a word: nothing is answered any more. */
  close(): void {
    this.#channel.close()
    for (const object of [this.#recvCq, this.#sendCq, this.mr, this.#pd]) object.close()
    this.#context.free(this.memory)
    this.#context.close()
  }
}

/** Frames of a trunk: kind, stream, value, and data behind it. */
export function frames(...list: readonly (readonly [number, number, number, Uint8Array?])[]): Uint8Array {
  const parts = list.map(([kind, stream, value, data = new Uint8Array(0)]) => {
    const frame = Buffer.alloc(8 + data.length)
    frame.writeUInt32BE(((kind << 24) | stream) >>> 0, 0)
    frame.writeUInt32BE(value >>> 0, 4)
    frame.set(data, 8)
    return frame
  })
  return Buffer.concat(parts)
}
