/** Datagrams between all processes of a fleet. They may be lost; those that come have the right data, and come once. */
import {
  Access,
  type AddressHandle,
  type CompletionQueue,
  type Context,
  connectQp,
  defaultQkey,
  endpointOf,
  type MemoryRegion,
  Opcode,
  type ProtectionDomain,
  pathTo,
  type QpEndpoint,
  QpType,
  type QueuePair,
  SendFlag,
  WcStatus,
  type WorkCompletion,
} from '../../src/index.ts'
import { payload, payloadLength, type Tally } from './messages.ts'

const slots = 32
const grhBytes = 40
const headerBytes = 12
const mostBytes = 1000
const slotBytes = 2048
const receiveIds = 1000

interface Peer {
  readonly ah: AddressHandle
  readonly endpoint: QpEndpoint
  readonly tally: Tally
  readonly trouble: (what: string) => void
  readonly seen: Set<number>
  next: number
}

export class Datagrams {
  readonly qp: QueuePair<typeof QpType.UD>
  readonly endpoint: QpEndpoint
  readonly #self: number
  readonly #pd: ProtectionDomain
  readonly #context: Context
  readonly #memory: Uint8Array
  readonly #view: DataView
  readonly #mr: MemoryRegion
  readonly #peers = new Map<number, Peer>()
  readonly #busy: boolean[] = Array(slots).fill(false)

  constructor(context: Context, pd: ProtectionDomain, cq: CompletionQueue, self: number) {
    this.#context = context
    this.#pd = pd
    this.#self = self
    this.#memory = context.alloc(2 * slots * slotBytes)
    this.#view = new DataView(this.#memory.buffer, this.#memory.byteOffset, this.#memory.length)
    this.#mr = pd.regMr(this.#memory, Access.LocalWrite)
    const cap = { maxSendWr: slots, maxRecvWr: slots, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    this.qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap })
    this.endpoint = endpointOf(this.qp)
    connectQp(this.qp, this.endpoint, null)
    for (let i = 0; i < slots; i++) this.#receive(i)
  }

  #receive(slot: number): void {
    const sge = { addr: this.#mr.addr + slot * slotBytes, length: slotBytes, lkey: this.#mr.lkey }
    this.qp.postRecv({ wrId: receiveIds + slot, sgList: [sge] })
  }

  add(id: number, endpoint: QpEndpoint, tally: Tally, trouble: (what: string) => void): void {
    const ah = this.#pd.createAh(pathTo(endpoint))
    this.#peers.set(id, { ah, endpoint, tally, trouble, seen: new Set(), next: 0 })
  }

  remove(id: number): void {
    this.#peers.get(id)?.ah.close()
    this.#peers.delete(id)
  }

  step(id: number): void {
    const peer = this.#peers.get(id)
    const slot = this.#busy.indexOf(false)
    if (peer === undefined || slot < 0) return
    this.#busy[slot] = true
    const seq = peer.next++
    const at = (slots + slot) * slotBytes
    const length = payloadLength(seq, mostBytes)
    this.#view.setUint32(at, this.#self)
    this.#view.setUint32(at + 4, id)
    this.#view.setUint32(at + 8, seq)
    this.#memory.set(payload(this.#self, id, seq, length), at + headerBytes)
    this.qp.postSend({
      wrId: slot,
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: this.#mr.addr + at, length: headerBytes + length, lkey: this.#mr.lkey }],
      ah: peer.ah,
      remoteQpn: peer.endpoint.qpn,
      remoteQkey: defaultQkey,
    })
    peer.tally.sent.datagrams++
  }

  take(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) throw new Error(`a datagram failed: ${wc.statusText}`)
    if (wc.wrId < receiveIds) this.#busy[wc.wrId] = false
    else this.#arrived(wc.wrId - receiveIds, wc.byteLen - grhBytes)
  }

  #arrived(slot: number, length: number): void {
    const at = slot * slotBytes + grhBytes
    const [from, to, seq] = [0, 4, 8].map((field) => this.#view.getUint32(at + field)) as [number, number, number]
    // One that is not connected yet, or any more, or for whoever had this number before.
    const peer = to === this.#self ? this.#peers.get(from) : undefined
    if (peer !== undefined) {
      const expected = payload(from, to, seq, payloadLength(seq, mostBytes))
      const data = this.#memory.subarray(at + headerBytes, at + length)
      if (Buffer.compare(data, expected) !== 0) peer.trouble(`datagram ${seq} has wrong data`)
      if (peer.seen.has(seq)) peer.trouble(`datagram ${seq} came twice`)
      peer.seen.add(seq)
      peer.tally.received.datagrams++
    }
    this.#receive(slot)
  }

  close(): void {
    for (const id of [...this.#peers.keys()]) this.remove(id)
    this.qp.close()
    this.#mr.close()
    this.#context.free(this.#memory)
  }
}
