/** UD queue pair of a datagram socket, for one of its own addresses: slots for sent and received datagrams. */

import { udpQkey } from '../../cm/index.ts'
import {
  Access,
  type AddressHandle,
  type CompletionQueue,
  type Context,
  connectQp,
  LinkLayer,
  type MemoryRegion,
  Opcode,
  QpType,
  type QueuePair,
  RecvWorkRequest,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../verbs/index.ts'
import { encodeDatagramHeader } from '../protocol/index.ts'
import { activate, IoContext, type Member } from '../runtime/index.ts'

/** Bytes of a datagram with its header, as in librdmacm. */
const slotBytes = 2048
const grhBytes = 40
const receiveStride = 2112

export class DatagramQp {
  readonly io: IoContext
  /** Own address, 4 or 16 bytes. */
  readonly address: Uint8Array
  /** Maximum length of a datagram. */
  readonly longest: number
  readonly #ethernet: boolean
  readonly #context: Context
  readonly #qp: QueuePair<typeof QpType.UD>
  readonly #sendCq: CompletionQueue
  readonly #recvCq: CompletionQueue
  readonly #memory: Uint8Array
  readonly #region: MemoryRegion
  readonly #header: Uint8Array
  readonly #send: SendWorkRequest
  readonly #receive: RecvWorkRequest
  readonly #wc: WorkCompletion[] = workCompletions(32)
  readonly #free: number[] = []
  readonly #sendAt: number

  /** `count`: entries of each queue. */
  constructor(context: Context, address: Uint8Array, port: number, count: number, member: Member) {
    this.#context = context
    this.address = address
    this.#header = encodeDatagramHeader({ port, address })
    const { linkLayer, activeMtu } = context.queryPort(1)
    this.#ethernet = linkLayer === LinkLayer.Ethernet
    this.longest = Math.min(slotBytes, activeMtu) - this.#header.length
    this.io = IoContext.acquire(context)
    const { pd } = this.io
    const owner = {
      tookEvent: () => {
        if (this.io.hasMembers) activate(member)
      },
    }
    this.#sendCq = this.io.createCq(count, owner)
    this.#recvCq = this.io.createCq(count, owner)
    this.#qp = pd.createQp({
      type: QpType.UD,
      sendCq: this.#sendCq,
      recvCq: this.#recvCq,
      cap: { maxSendWr: count, maxRecvWr: count, maxSendSge: 1, maxRecvSge: 1 },
    })
    connectQp(this.#qp, { psn: 0 }, null, { qkey: udpQkey })
    this.#memory = context.alloc(count * (receiveStride + slotBytes))
    this.#region = pd.regMr(this.#memory, Access.LocalWrite)
    this.#sendAt = count * receiveStride
    const { lkey } = this.#region
    this.#send = new SendWorkRequest(0, Opcode.Send, SendFlag.Signaled, [new ScatterGather(0, 0, lkey)])
    this.#send.remoteQkey = udpQkey
    this.#receive = new RecvWorkRequest(0, [new ScatterGather(0, grhBytes + slotBytes, lkey)])
    for (let slot = 0; slot < count; slot++) {
      this.#free.push(slot)
      this.#post(slot)
    }
  }

  get qpn(): number {
    return this.#qp.qpNum
  }

  #post(slot: number): void {
    this.#receive.wrId = slot
    this.#receive.sgList[0]!.addr = this.#region.addr + slot * receiveStride
    this.#qp.postRecv(this.#receive)
  }

  /** Creates the path to an address. Throws a VerbsError if the device has no more address handles. */
  createHandle(address: Uint8Array): AddressHandle {
    return this.io.pd.createAh(this.#attr(address))
  }

  #attr(address: Uint8Array): Parameters<IoContext['pd']['createAh']>[0] {
    const context = this.#context
    if (!this.#ethernet) {
      // In a segment every address of the host is this adapter; another one is named by its GID.
      const own = context.queryGid(1, 0)
      const other =
        address.length === 16 && context.device.route({ portNum: 1, grh: { dgid: address, sgidIndex: 0 } }) >= 0
      return {
        portNum: 1,
        dlid: context.queryPort(1).lid,
        grh: { dgid: other ? address : own, sgidIndex: 0, hopLimit: 64 },
      }
    }
    const own = gidOf(this.address)
    const entry = context.queryGidTable().find(({ gid }) => gid.every((byte, i) => byte === own[i]))
    return { portNum: 1, grh: { dgid: gidOf(address), sgidIndex: entry?.gidIndex ?? 0, hopLimit: 64 } }
  }

  /** Sends a datagram; false if no slot is free. */
  send(data: Uint8Array, handle: AddressHandle, qpn: number): boolean {
    if (this.#free.length === 0) this.reap()
    const slot = this.#free.pop()
    if (slot === undefined) return false
    const at = this.#sendAt + slot * slotBytes
    this.#memory.set(this.#header, at)
    this.#memory.set(data, at + this.#header.length)
    const wr = this.#send
    wr.wrId = slot
    wr.sgList[0]!.addr = this.#region.addr + at
    wr.sgList[0]!.length = this.#header.length + data.length
    wr.ah = handle
    wr.remoteQpn = qpn
    this.#qp.postSend(wr)
    return true
  }

  get sendable(): boolean {
    if (this.#free.length === 0) this.reap()
    return this.#free.length > 0
  }

  reap(): void {
    for (let n = this.#sendCq.poll(this.#wc); n > 0; n = this.#sendCq.poll(this.#wc))
      for (let i = 0; i < n; i++) this.#free.push(this.#wc[i]!.wrId)
  }

  /** Passes each received datagram to `take`, with its header; returns their number. The bytes are valid during the call only. */
  process(take: (bytes: Uint8Array) => void): number {
    let total = 0
    for (let n = this.#recvCq.poll(this.#wc); n > 0; n = this.#recvCq.poll(this.#wc)) {
      for (let i = 0; i < n; i++) {
        const { status, wrId, byteLen } = this.#wc[i]!
        if (status !== WcStatus.Success) continue
        const at = wrId * receiveStride
        take(this.#memory.subarray(at + grhBytes, at + byteLen))
        this.#post(wrId)
        total++
      }
    }
    return total
  }

  arm(): void {
    this.#recvCq.reqNotify()
    this.#sendCq.reqNotify()
  }

  close(): void {
    this.#qp.close()
    this.#sendCq.close()
    this.#recvCq.close()
    this.#region.close()
    this.#context.free(this.#memory)
    this.io.release()
  }
}

function gidOf(address: Uint8Array): Uint8Array {
  if (address.length === 16) return address
  const gid = new Uint8Array(16)
  gid.fill(0xff, 10, 12)
  gid.set(address, 12)
  return gid
}
