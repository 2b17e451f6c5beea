/**
 * The queue pairs between rank 0 and the other ranks, for one transport: with RC and UC one for each pair of ranks; with UD one for each
 * rank. Rank 0 has a lane to each other rank, and each of these has one lane to rank 0. Sends and receives have a completion queue each,
 * as in the seed.
 */

import { multicastLid } from '../../collectives/multicast-group.ts'
import {
  type AddressHandle,
  type CompletionQueue,
  type Context,
  connectQp,
  defaultQkey,
  endpointOf,
  multicastQpn,
  Opcode,
  type ProtectionDomain,
  type QpEndpoint,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import { minRnrTimer } from '../bench-thread/index.ts'
import { EndError } from '../kit/index.ts'
import { type DeviceMemory, grhBytes, type RemoteMemory } from './device-memory.ts'
import type { Mode, Transport } from './settings.ts'

const opcodes: Readonly<Record<Mode, Opcode>> = {
  SEND: Opcode.Send,
  WRITE: Opcode.Write,
  WRITE_IMM: Opcode.WriteWithImm,
  READ: Opcode.Read,
}

/** Endpoint data that the peer of a lane needs; GIDs as hexadecimal digits, so that it can be sent as JSON. */
export interface Endpoint {
  qpn: number
  psn: number
  lid: number
  gid: string
}

export interface LanesOptions {
  context: Context
  pd: ProtectionDomain
  memory: DeviceMemory
  transport: Transport
  gidIndex: number
  /** Number of lanes. */
  peers: number
  /** Number of messages in flight on a lane. */
  depth: number
}

const pollBatch = 16

export class Lanes {
  readonly transport: Transport
  readonly datagrams: boolean
  readonly qps: QueuePair[]
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  /** Prepared request of each lane, with the settings of the current set. */
  readonly requests: SendWorkRequest[] = []
  /** Request that sends to the whole group; only at rank 0 with multicast. */
  groupRequest: SendWorkRequest | null = null
  readonly local: readonly QpEndpoint[]
  readonly #options: LanesOptions
  readonly #receives: RecvWorkRequest[]
  /** Number of receives that are posted and unused, for each queue pair. */
  readonly #posted: number[]
  readonly #wcs: WorkCompletion[] = workCompletions(pollBatch)
  readonly #handles: AddressHandle[] = []
  #nextSlot = 0
  #group: Uint8Array | null = null

  constructor(options: LanesOptions) {
    const { context, pd, memory, transport, peers, depth } = options
    this.#options = options
    this.transport = transport
    this.datagrams = transport === 'UD' || transport === 'multicast'
    const type = this.datagrams ? QpType.UD : transport === 'UC' ? QpType.UC : QpType.RC
    const queue = this.datagrams ? Math.max(peers, depth) : depth
    this.sendCq = context.createCq(peers * depth + 1)
    // Datagrams may still arrive after their repetition has been given up.
    this.recvCq = context.createCq(2 * peers * depth + 2)
    this.qps = Array.from({ length: this.datagrams ? 1 : peers }, () =>
      pd.createQp({
        ...{ type, sendCq: this.sendCq, recvCq: this.recvCq },
        cap: { maxSendWr: queue + 1, maxRecvWr: queue + 1, maxSendSge: 1, maxRecvSge: 1 },
      }),
    )
    this.local = this.qps.map((qp) => endpointOf(qp, { gidIndex: options.gidIndex }))
    this.#posted = this.qps.map(() => 0)
    this.#receives = Array.from({ length: peers }, (_, slot) =>
      recvWr({
        wrId: slot,
        sgList: [{ addr: memory.slotAddr(slot), length: memory.slotBytes, lkey: memory.slotsMr.lkey }],
      }),
    )
  }

  /** Returns the endpoint that the peer of a lane must know; the same for all lanes with UD. */
  endpoint(lane: number): Endpoint {
    const { gid, ...rest } = this.local[this.datagrams ? 0 : lane]!
    return { ...rest, gid: Buffer.from(gid).toString('hex') }
  }

  /** Moves the queue pairs to RTS. `group`: the multicast group, which all ranks but rank 0 join. */
  connect(
    remote: readonly Endpoint[],
    memory: readonly RemoteMemory[],
    group: Uint8Array | null,
    joins: boolean,
  ): void {
    const { gidIndex } = this.#options
    const ends = remote.map((end): QpEndpoint => ({ ...end, gid: new Uint8Array(Buffer.from(end.gid, 'hex')) }))
    this.qps.forEach((qp, i) => {
      connectQp(qp, this.local[i]!, this.datagrams ? null : ends[i]!, { gidIndex, minRnrTimer })
    })
    ends.forEach((end, lane) => {
      const request = this.#request(lane)
      request.rkey = memory[lane]!.slotKey
      request.remoteAddr = memory[lane]!.slotAddr
      if (this.datagrams) {
        const grh = { dgid: end.gid, sgidIndex: gidIndex, hopLimit: 64 }
        request.ah = this.#handle({ dlid: end.lid, portNum: 1, grh })
        request.remoteQpn = end.qpn
        request.remoteQkey = defaultQkey
      }
      this.requests.push(request)
    })
    if (group === null) return
    if (joins) {
      ;(this.qps[0] as QueuePair<typeof QpType.UD>).attachMcast(group)
      this.#group = group
      return
    }
    const toAll = this.#request(0)
    toAll.ah = this.#handle({
      dlid: multicastLid,
      portNum: 1,
      grh: { dgid: group, sgidIndex: gidIndex, hopLimit: 64 },
    })
    toAll.remoteQpn = multicastQpn
    toAll.remoteQkey = defaultQkey
    this.groupRequest = toAll
  }

  #request(lane: number): SendWorkRequest {
    const { sendMr } = this.#options.memory
    return sendWr({
      ...{ wrId: lane, opcode: Opcode.Send, sendFlags: SendFlag.Signaled },
      sgList: [{ addr: sendMr.addr, length: 1, lkey: sendMr.lkey }],
    })
  }

  #handle(attr: Parameters<ProtectionDomain['createAh']>[0]): AddressHandle {
    const handle = this.#options.pd.createAh(attr)
    this.#handles.push(handle)
    return handle
  }

  /** Prepares the requests of the next set. A READ fetches the peer's message into the local slot. */
  prepare(mode: Mode, size: number, remote: readonly RemoteMemory[]): void {
    const { memory } = this.#options
    this.requests.forEach((request, lane) => {
      const peer = remote[lane]!
      const [sge] = request.sgList
      request.opcode = opcodes[mode]
      sge!.length = size
      const reads = mode === 'READ'
      sge!.addr = reads ? memory.slotAddr(lane) : memory.sendMr.addr
      sge!.lkey = reads ? memory.slotsMr.lkey : memory.sendMr.lkey
      request.remoteAddr = reads ? peer.sendAddr : peer.slotAddr
      request.rkey = reads ? peer.sendKey : peer.slotKey
    })
    if (this.groupRequest) this.groupRequest.sgList[0]!.length = size
  }

  post(lane: number): void {
    this.qps[this.datagrams ? 0 : lane]!.postSend(this.requests[lane]!)
  }

  postGroup(): void {
    this.qps[0]!.postSend(this.groupRequest!)
  }

  /** Posts receives until `count` are posted for the lane, or with UD for all lanes; returns the number that it had to post. */
  receive(lane: number, count: number): number {
    const at = this.datagrams ? 0 : lane
    const missing = count - this.#posted[at]!
    for (let i = 0; i < missing; i++) {
      const slot = this.datagrams ? this.#nextSlot++ % this.#receives.length : lane
      this.qps[at]!.postRecv(this.#receives[slot]!)
    }
    if (missing > 0) this.#posted[at] = count
    return Math.max(0, missing)
  }

  /** Returns the number of sends completed since the last call, at most `max`. Throws for one that failed. */
  sent(max: number = pollBatch): number {
    const n = this.sendCq.poll(this.#wcs, Math.min(max, pollBatch))
    if (n < 0) throw new EndError('PEER_FAILED', 'the completion queue of sends overran')
    for (let i = 0; i < n; i++) this.#check(this.#wcs[i]!)
    return n
  }

  /** Returns the number of arrived messages that belong to this repetition, by their last byte or their immediate. */
  arrived(mode: Mode, size: number, state: number): number {
    const n = this.recvCq.poll(this.#wcs, pollBatch)
    if (n < 0) throw new EndError('PEER_FAILED', 'the completion queue of receives overran')
    const { memory } = this.#options
    let count = 0
    for (let i = 0; i < n; i++) {
      const wc = this.#wcs[i]!
      this.#check(wc)
      this.#posted[this.datagrams ? 0 : wc.wrId]!--
      const last = wc.wrId * memory.slotBytes + (this.datagrams ? grhBytes : 0) + size - 1
      if ((mode === 'WRITE_IMM' ? wc.immData : memory.slots[last]) === state) count++
    }
    return count
  }

  #check(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) throw new EndError('PEER_FAILED', `a completion says ${wc.statusText}`)
  }

  close(): void {
    const [qp] = this.qps
    if (this.#group !== null) (qp as QueuePair<typeof QpType.UD>).detachMcast(this.#group)
    for (const each of this.qps) each.close()
    for (const handle of this.#handles) handle.close()
    this.sendCq.close()
    this.recvCq.close()
  }
}
