/**
 * Queue pair (UD) of a rank for broadcasts by multicast: agreement of the ranks on a group, and chunks as datagrams. Chunks of later windows
 * arrive early if other ranks are ahead: they wait in the receive queue, or in their slots of the pool after they are taken from it. One of
 * the pool's two windows is reserved for the present window.
 */
import { randomInt } from 'node:crypto'
import {
  type CompletionChannel,
  type CompletionQueue,
  connectQp,
  multicastQpn,
  Opcode,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  randomPsn,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../index.ts'
import { CollectiveError } from './error.ts'
import type { Region } from './memory.ts'
import { multicastGroup, multicastLid, whyNoMulticast } from './multicast-group.ts'
import { type Window, windowChunks } from './multicast-window.ts'
import type { Device } from './opened.ts'

const poolChunks: number = 2 * windowChunks
/** Bytes before the data of a datagram, for its global route header. */
const grhBytes = 40
/** Bytes of the head of a rank's address: group, Q_Key, MTU; the reason for which there is no multicast follows. */
const headBytes = 24

/** Receiver of chunks. `offer` takes chunk `i` of the window, `bytes` bytes from `at` in the device's memory, if it is missing. */
export interface Taker {
  offer(i: number, at: number, bytes: number): void
}

export class Datagrams {
  readonly #device: Device
  readonly #gidIndex: number
  readonly #qp: QueuePair<typeof QpType.UD>
  readonly #sendCq: CompletionQueue
  readonly #recvCq: CompletionQueue
  readonly #wcs: WorkCompletion[] = workCompletions(windowChunks)
  readonly #proposed: { group: Uint8Array; qkey: number }
  #pool: Region | null = null
  #slotBytes = 0
  readonly #receives: RecvWorkRequest[] = []
  readonly #requests: SendWorkRequest[] = []
  /** Chunks after the present window, by number modulo `poolChunks`: slot (-1: none) and bytes. */
  readonly #earlySlot = new Int32Array(poolChunks).fill(-1)
  readonly #earlyBytes = new Float64Array(poolChunks)

  constructor(device: Device, channel: CompletionChannel, gidIndex: number) {
    const { context, pd, opened } = device
    this.#device = device
    this.#gidIndex = gidIndex
    this.#sendCq = opened.add(context.createCq(windowChunks, { channel }))
    this.#recvCq = opened.add(context.createCq(poolChunks, { channel }))
    const qp = pd.createQp({
      ...{ type: QpType.UD, sendCq: this.#sendCq, recvCq: this.#recvCq },
      cap: { maxSendWr: windowChunks, maxRecvWr: poolChunks, maxSendSge: 1, maxRecvSge: 1 },
    })
    this.#qp = opened.add(qp)
    this.#proposed = { group: multicastGroup(context.queryGid(1, gidIndex)), qkey: randomInt(1, 0x7fffffff) }
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /** Returns the address of this rank for the other ranks. `chunkBytes`: length of the longest chunk that this rank can take. */
  addressFor(chunkBytes: number): Uint8Array {
    const { group, qkey } = this.#proposed
    const why = Buffer.from(whyNoMulticast(this.#device.context, this.#gidIndex)).subarray(0, 200)
    const bytes = new Uint8Array(headBytes + why.length)
    const view = new DataView(bytes.buffer)
    bytes.set(group)
    view.setUint32(16, qkey)
    view.setUint32(20, chunkBytes)
    bytes.set(why, headBytes)
    return bytes
  }

  /** Joins the group of rank 0, and posts receives. Returns the length of the chunks. */
  connect(addresses: readonly Uint8Array[]): number {
    for (const [rank, bytes] of addresses.entries()) {
      const why = Buffer.from(bytes.subarray(headBytes)).toString()
      const message = `the rules choose multicast, and the device of rank ${rank} has none: ${why}`
      if (why !== '') throw new CollectiveError('EINVAL', message, rank)
    }
    const { pd, memory, opened } = this.#device
    const views = addresses.map(({ buffer, byteOffset }) => new DataView(buffer, byteOffset))
    const chunkBytes = Math.min(...views.map((view) => view.getUint32(20)))
    const qkey = views[0]!.getUint32(16)
    const group = addresses[0]!.slice(0, 16)
    connectQp(this.#qp, { psn: randomPsn() }, null, { gidIndex: this.#gidIndex, qkey })
    this.#qp.attachMcast(group)
    opened.add({ close: () => this.#qp.detachMcast(group) })
    const grh = { dgid: group, sgidIndex: this.#gidIndex, hopLimit: 64 }
    const ah = opened.add(pd.createAh({ dlid: multicastLid, portNum: 1, grh }))
    this.#slotBytes = grhBytes + chunkBytes
    this.#pool = memory.region(poolChunks * this.#slotBytes)
    const { addr, lkey } = this.#pool.mr
    for (let slot = 0; slot < poolChunks; slot++) {
      const sge = { addr: addr + slot * this.#slotBytes, length: this.#slotBytes, lkey }
      const receive = recvWr({ wrId: slot, sgList: [sge] })
      this.#receives.push(receive)
      this.#qp.postRecv(receive)
    }
    for (let i = 0; i < windowChunks; i++)
      this.#requests.push(
        sendWr({
          ...{ opcode: Opcode.SendWithImm, immData: 0, ah, remoteQpn: multicastQpn, remoteQkey: qkey },
          sgList: [{ addr, length: 0, lkey }],
        }),
      )
    return chunkBytes
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Sends all chunks of the window; `sent` reports their completion. */
  send(window: Window): void {
    const { first, count } = window
    const { place } = window.broadcast
    for (let i = 0; i < count; i++) {
      const request = this.#requests[i]!
      const sge = request.sgList[0]!
      sge.addr = place.addr + window.offsetOf(i)
      sge.lkey = place.lkey
      sge.length = window.lengthOf(i)
      request.immData = (first + i) >>> 0
      const last = i + 1 === count
      request.sendFlags = last ? SendFlag.Signaled : 0
      request.next = last ? null : this.#requests[i + 1]!
    }
    this.#qp.postSend(this.#requests[0]!)
  }

  /** Returns true if the last chunk has completed now. */
  sent(): boolean {
    const n = this.#sendCq.poll(this.#wcs)
    if (n < 0 || (n > 0 && this.#wcs[0]!.status !== WcStatus.Success)) throw broken('a multicast failed')
    return n > 0
  }

  armSends(): void {
    this.#sendCq.reqNotify()
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  arm(): void {
    this.#recvCq.reqNotify()
  }

  /** Offers all chunks of the window that have arrived, and keeps those after it. */
  take(window: Window, taker: Taker): void {
    for (;;) {
      const n = this.#recvCq.poll(this.#wcs)
      if (n < 0) throw broken('the completion queue is in error')
      if (n === 0) return
      let free: RecvWorkRequest | null = null
      for (let k = 0; k < n; k++) {
        const { status, wrId, immData, byteLen } = this.#wcs[k]!
        if (status !== WcStatus.Success) throw broken(this.#wcs[k]!.statusText)
        const i = (immData - window.first) >>> 0
        const bytes = byteLen - grhBytes
        if (i < window.count) taker.offer(i, this.#placeOf(wrId), bytes)
        else if (this.#keep(window, wrId, i, bytes)) continue
        const receive = this.#receives[wrId]!
        receive.next = free
        free = receive
      }
      if (free !== null) this.#qp.postRecv(free)
    }
  }

  /** Offers the chunks of a new window that arrived early. */
  takeEarly(window: Window, taker: Taker): void {
    for (let i = 0; i < window.count; i++) {
      const early = (window.first + i) % poolChunks
      const slot = this.#earlySlot[early]!
      if (slot === -1) continue
      this.#earlySlot[early] = -1
      taker.offer(i, this.#placeOf(slot), this.#earlyBytes[early]!)
      const receive = this.#receives[slot]!
      receive.next = null
      this.#qp.postRecv(receive)
    }
  }

  /** Leaves chunk `i`, counted from the window's first, in its slot. Returns false if it has already arrived, or there is no room for it. */
  #keep({ first }: Window, slot: number, i: number, bytes: number): boolean {
    const early = (first + i) % poolChunks
    if (i >= poolChunks || this.#earlySlot[early] !== -1) return false
    this.#earlySlot[early] = slot
    this.#earlyBytes[early] = bytes
    return true
  }

  #placeOf(slot: number): number {
    return this.#pool!.bytes.byteOffset + slot * this.#slotBytes + grhBytes
  }
}

function broken(why: string): CollectiveError {
  return new CollectiveError('EPEER', `multicast: ${why}`)
}
