/**
 * Queue pairs between one client and one server, as one of the two has them: a control queue pair (RC) with the requests of the client, and
 * for each class of traffic (type, DSCP, service level) `qps` channels. They are created first, and connected when the peer has sent its
 * end.
 */
import {
  Access,
  type AddressHandle,
  type AhAttr,
  type CompletionQueue,
  type Context,
  connectQp,
  defaultQkey,
  type MemoryRegion,
  type PathMtu,
  type ProtectionDomain,
  QpState,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  randomPsn,
  recvWr,
} from '../../verbs/index.ts'
import type { TrafficQpType } from '../index.ts'
import { Channel, type Places } from './channel.ts'
import {
  bankBytes,
  batchRequests,
  chunkBytes,
  controlSlots,
  headerBytes,
  headerOffset,
  type Region,
  regionOf,
  requestBytes,
} from './layout.ts'
import { Marks } from './marks.ts'

/** Traffic that has queue pairs of its own. */
export interface TrafficClass {
  type: TrafficQpType
  dscp: number
  serviceLevel: number
}

/** Properties on which both ends of a link have to agree. */
export interface LinkPlan {
  classes: readonly TrafficClass[]
  /** Number of channels of each class. */
  qps: number
  /** Bytes. */
  mtu: number
  depth: number
  timeout: number
  retries: number
  rnrRetries: number
  flow: 'reply' | 'push'
  /** Flag: servers WRITE on UC, and the client detects by marks which WRITEs have come. */
  marks: boolean
}

export interface EndpointText {
  qpn: number
  psn: number
}

/** Data that one end sends to the other. */
export interface LinkEnd {
  control: EndpointText
  channels: EndpointText[]
  addr: number
  rkey: number
}

/** Thread that a link belongs to. */
export interface LinkHost {
  context: Context
  pd: ProtectionDomain
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  /** Port of the adapter. */
  port: number
  /** Number of queue pairs of the thread, in all. */
  stride: number
}

const types = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const
const remoteAccess = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
/** Number of receives that are posted together. */
const receiveBatch = 16

/** Returns the number of queue pairs of a link. */
export function qpsOf(plan: LinkPlan): number {
  return plan.classes.length * plan.qps + 1
}

/** Returns the number of receives of a channel, at the end that data goes to. */
export function receivesOf(plan: LinkPlan): number {
  return Math.min(8192, Math.max(256, 4 * plan.depth))
}

interface Slots {
  /** Requests that post each slot again, and the buffer for the beginnings of messages. */
  requests: RecvWorkRequest[]
  bytes: Uint8Array
  offset: number
}

export class Link {
  readonly channels: Channel[] = []
  readonly control: QueuePair
  readonly controlIndex: number
  readonly plan: LinkPlan
  /** Address of the control messages, and two views of them for the fields of requests. */
  readonly controlAddr: number
  readonly controlWords: Int32Array
  readonly controlDoubles: Float64Array
  readonly lkey: number
  /** Reason why the link does not work any more; '' while it works. */
  failure = ''
  readonly #host: LinkHost
  readonly #region: Region
  readonly #buffer: Uint8Array
  readonly #mr: MemoryRegion
  readonly #psns: number[] = []
  readonly #receives: boolean
  readonly #controlReceives: RecvWorkRequest[] = []
  /** Linked receives of RC by channel, which are all alike. */
  readonly #batches: RecvWorkRequest[] = []
  readonly #used: Int32Array
  readonly #slots: (Slots | null)[] = []
  readonly #places: Places
  readonly #handles: AddressHandle[] = []

  /** `first`: number of its first queue pair within the thread. */
  constructor(host: LinkHost, plan: LinkPlan, role: 'client' | 'server', first: number) {
    const { context, pd, sendCq, recvCq, stride } = host
    const count = plan.classes.length * plan.qps
    const receives = receivesOf(plan)
    const unreliable = plan.classes.filter(({ type }) => type !== 'RC').length * plan.qps
    this.#host = host
    this.plan = plan
    this.#receives = (role === 'client') === (plan.flow === 'reply')
    // Slots for the headers of receives, or for the stamps of SENDs.
    this.#region = regionOf(unreliable * receives, role === 'client' ? this.#bankOf(count) : 0)
    this.#buffer = context.alloc(this.#region.bytes)
    this.#mr = pd.regMr(this.#buffer.fill(0), remoteAccess)
    this.#buffer[this.#region.mark] = 1
    this.lkey = this.#mr.lkey
    this.#used = new Int32Array(count)
    const { addr } = this.#mr
    this.#places = {
      source: addr + this.#region.source,
      sink: addr + this.#region.sink,
      atomics: addr + this.#region.atomics,
      mark: addr + this.#region.mark,
      lkey: this.lkey,
      ...{ remoteSource: 0, remoteSink: 0, remoteAtomics: 0, rkey: 0 },
    }
    this.controlAddr = addr + this.#region.control
    const { buffer, byteOffset } = this.#buffer
    const controlBytes = controlSlots * batchRequests * requestBytes
    this.controlWords = new Int32Array(buffer, byteOffset + this.#region.control, controlBytes / 4)
    this.controlDoubles = new Float64Array(buffer, byteOffset + this.#region.control, controlBytes / 8)
    let headers = this.#region.headers
    for (let i = 0; i < count; i++) {
      const { type } = plan.classes[Math.floor(i / plan.qps)]!
      const index = first + i
      const cap = {
        maxSendWr: plan.depth,
        maxRecvWr: this.#receives ? receives : 1,
        ...(type === 'RC' ? { maxSendSge: 1, maxRecvSge: 1 } : { maxSendSge: 2, maxRecvSge: 2 }),
        maxInlineData: 0,
      }
      const qp = pd.createQp({ type: types[type], sendCq, recvCq, cap })
      this.#psns.push(randomPsn())
      const own = headers
      if (type !== 'RC') headers += receives * headerBytes
      const stamps =
        type === 'RC'
          ? null
          : { addr: addr + own, words: new Int32Array(buffer, byteOffset + own, (receives * headerBytes) / 4) }
      const notifies = role === 'server' && plan.flow === 'reply'
      this.channels.push(
        new Channel(
          { index, qp, type, mtu: plan.mtu, depth: plan.depth, stride, reports: role === 'client', notifies, stamps },
          this.#places,
        ),
      )
      this.#prepareReceives(i, type, index, own, receives)
      if (role === 'client' && this.#hasMarks(i)) {
        const banks = this.#region.banks + this.#bankOf(i) * 2 * bankBytes
        this.channels[i]!.marks = new Marks(this.#buffer.subarray(banks, banks + 2 * bankBytes))
      }
    }
    this.controlIndex = first + count
    const cap = { maxSendWr: controlSlots, maxRecvWr: controlSlots, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    this.control = pd.createQp({ type: QpType.RC, sendCq, recvCq, cap })
    this.#psns.push(randomPsn())
    const length = batchRequests * requestBytes
    if (role === 'server')
      for (let slot = 0; slot < controlSlots; slot++) {
        const at = this.controlAddr + slot * length
        const wrId = slot * stride + this.controlIndex
        this.#controlReceives.push(recvWr({ wrId, sgList: [{ addr: at, length, lkey: this.lkey }] }))
      }
    for (const qp of [...this.channels.map((channel) => channel.qp), this.control])
      connectQp(qp, { psn: 0 }, null, {
        until: QpState.Init,
        ah: { dlid: 0, portNum: host.port },
        accessFlags: accessOf(qp),
      })
  }

  #prepareReceives(i: number, type: TrafficQpType, index: number, headers: number, receives: number): void {
    const { stride } = this.#host
    const rest = { addr: this.#places.sink, length: chunkBytes, lkey: this.lkey }
    if (type === 'RC') {
      const list = Array.from({ length: receiveBatch }, () => recvWr({ wrId: index, sgList: [rest] }))
      for (let k = 0; k + 1 < list.length; k++) list[k]!.next = list[k + 1]!
      this.#batches[i] = list[0]!
      this.#slots.push(null)
      return
    }
    const length = type === 'UD' ? headerBytes : headerBytes - headerOffset
    const requests = Array.from({ length: receives }, (_, slot) => {
      const addr = this.#mr.addr + headers + slot * headerBytes
      return recvWr({ wrId: slot * stride + index, sgList: [{ addr, length, lkey: this.lkey }, rest] })
    })
    this.#slots.push({ requests, bytes: this.#buffer, offset: headers + (type === 'UD' ? headerOffset : 0) })
  }

  #hasMarks(i: number): boolean {
    return this.plan.marks && this.plan.classes[Math.floor(i / this.plan.qps)]!.type === 'UC'
  }

  /** Returns the number of pairs of banks of the channels before this one. */
  #bankOf(i: number): number {
    let banks = 0
    for (let k = 0; k < i; k++) if (this.#hasMarks(k)) banks++
    return banks
  }

  /** Data of this end that the peer needs. */
  get end(): LinkEnd {
    const endpoint = (qp: QueuePair, i: number): EndpointText => ({ qpn: qp.qpNum, psn: this.#psns[i]! })
    return {
      control: endpoint(this.control, this.channels.length),
      channels: this.channels.map(({ qp }, i) => endpoint(qp, i)),
      addr: this.#mr.addr,
      rkey: this.#mr.rkey,
    }
  }

  /** Queue pairs with the path that each needs, in the order of `LinkEnd`: channels, control. */
  get paths(): { qp: QueuePair; serviceLevel: number; trafficClass: number; rnrRetry: number }[] {
    const { plan } = this
    const channels = this.channels.map(({ qp }, i) => {
      const { dscp, serviceLevel } = plan.classes[Math.floor(i / plan.qps)]!
      return { qp, serviceLevel, trafficClass: dscp << 2, rnrRetry: plan.rnrRetries }
    })
    return [...channels, { qp: this.control, serviceLevel: 0, trafficClass: 0, rnrRetry: 7 }]
  }

  /** Connects with the peer's end. `pathOf` returns the address vector for a service level and a traffic class. Posts the receives. */
  connect(remote: LinkEnd, pathOf: (serviceLevel: number, trafficClass: number) => AhAttr): void {
    const { plan } = this
    this.reach(remote)
    for (const [i, { qp, serviceLevel, trafficClass, rnrRetry }] of this.paths.entries()) {
      const to = remote.channels[i] ?? remote.control
      const ah = pathOf(serviceLevel, trafficClass)
      if (qp.type === QpType.UD) {
        this.openDatagrams(i, ah)
        this.address(i, ah, to.qpn)
        continue
      }
      const { mtu, timeout, retries: retryCnt } = plan
      connectQp(
        qp,
        { psn: this.#psns[i]! },
        { ...to, lid: 0, gid: new Uint8Array(16) },
        { ah, pathMtu: mtu as PathMtu, accessFlags: accessOf(qp), timeout, retryCnt, rnrRetry },
      )
    }
  }

  /** Moves a queue pair of UD to RTS. */
  openDatagrams(i: number, ah: AhAttr): void {
    connectQp(this.channels[i]!.qp, { psn: this.#psns[i]! }, null, { ah, accessFlags: 0 })
  }

  /** Sets the destination of the datagrams of a channel. */
  address(i: number, ah: AhAttr, qpn: number): void {
    const handle = this.#host.pd.createAh(ah)
    this.#handles.push(handle)
    this.channels[i]!.address(handle, qpn, defaultQkey)
  }

  /** Processes the data of the peer, and posts the receives: queue pairs may be connected now. */
  reach(remote: LinkEnd): void {
    const places = this.#places
    places.remoteSource = remote.addr + this.#region.source
    places.remoteSink = remote.addr + this.#region.sink
    places.remoteAtomics = remote.addr + this.#region.atomics
    places.rkey = remote.rkey
    for (const [i, channel] of this.channels.entries()) {
      if (!this.#receives && this.#hasMarks(i))
        channel.remoteBanks = remote.addr + this.#region.banks + this.#bankOf(i) * 2 * bankBytes
      if (this.#receives) this.#postAll(i)
    }
    for (const receive of this.#controlReceives) this.control.postRecv(receive)
  }

  #postAll(i: number): void {
    const { qp } = this.channels[i]!
    const slots = this.#slots[i]!
    if (slots !== null) for (const request of slots.requests) qp.postRecv(request)
    else for (let k = 0; k + receiveBatch <= qp.cap.maxRecvWr; k += receiveBatch) qp.postRecv(this.#batches[i]!)
  }

  /** Reposts a receive of channel `i` after its completion; for RC when there is a batch of them. */
  received(i: number, slot: number): void {
    const slots = this.#slots[i]!
    if (slots !== null) this.channels[i]!.qp.postRecv(slots.requests[slot]!)
    else {
      const used = this.#used[i]! + 1
      if (used < receiveBatch) this.#used[i] = used
      else {
        this.#used[i] = 0
        this.channels[i]!.qp.postRecv(this.#batches[i]!)
      }
    }
  }

  controlReceived(slot: number): void {
    this.control.postRecv(this.#controlReceives[slot]!)
  }

  /** Returns the first bytes of a message of UC or UD as a number, at most four of them. */
  beginning(i: number, slot: number, bytes: number): number {
    const { bytes: from, offset } = this.#slots[i]!
    let number = 0
    for (let k = 0; k < bytes; k++) number += from[offset + slot * headerBytes + k]! * 256 ** k
    return number
  }

  fail(why: string): void {
    if (this.failure === '') this.failure = why
    for (const channel of this.channels) channel.dead = true
  }

  close(): void {
    for (const channel of this.channels) channel.qp.close()
    this.control.close()
    for (const handle of this.#handles) handle.close()
    this.#mr.close()
    this.#host.context.free(this.#buffer)
  }
}

/** Returns the access rights of a peer. */
export function accessOf(qp: QueuePair): number {
  if (qp.type === QpType.UD) return 0
  return qp.type === QpType.RC ? remoteAccess : Access.LocalWrite | Access.RemoteWrite
}
