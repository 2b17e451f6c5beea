/**
 * A reliable connection between two processes of a fleet, from one end: SENDs and WRITEs with immediate data, which the other end
 * validates and counts; WRITEs that are read back; atomics on a counter that nobody else changes. Each request has a slot of
 * memory until it completes.
 */
import {
  Access,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  type MemoryRegion,
  Opcode,
  type ProtectionDomain,
  type QpEndpoint,
  QpType,
  type QueuePair,
  SendFlag,
  type SendWrInit,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from '../../src/index.ts'
import { emptyTally, type Offer, payload, payloadLength, region, type Tally } from './messages.ts'

const slots = 8
const slotBytes = region.backBytes
const receives = 16
const receiveBytes = 4096
/** Receives have the numbers from here on, requests those of their slots. */
const receiveIds = 1000
/** Behind what the peer reaches: receives, then slots. */
const receivesAt = region.bytes
const slotsAt = receivesAt + receives * receiveBytes
const memoryBytes = slotsAt + slots * slotBytes
/** Seven tries of half a second: a machine that is busy with ten processes is no reason to give up. */
const patience = { pathMtu: 1024, timeout: 17, retryCnt: 7, rnrRetry: 7, minRnrTimer: 1 } as const
const inlineBytes = 64

type Kind = 'message' | 'write' | 'write-back' | 'read-back' | 'consumed' | 'atomic'

interface Made {
  readonly seq: number
  readonly length: number
  readonly opcode: number
  readonly [field: string]: number | bigint
}

interface Request {
  readonly kind: Kind
  readonly seq: number
  /** Of an atomic: what it must return. */
  readonly expected: bigint
}

export class Link {
  readonly tally: Tally = emptyTally()
  readonly qp: QueuePair<typeof QpType.RC>
  readonly #self: number
  readonly #peer: number
  readonly #context: Context
  readonly #memory: Uint8Array
  readonly #view: DataView
  readonly #mr: MemoryRegion
  readonly #endpoint: QpEndpoint
  #offer: Offer | null = null
  #requests: (Request | null)[] = Array(slots).fill(null)
  /** Numbers of the next of each kind; of those that come. */
  readonly #next = { messages: 0, writes: 0, others: 0 }
  readonly #awaited = { messages: 0, writes: 0 }
  /** How many of our WRITEs the peer has looked at, as far as we know. */
  #consumed = 0
  #counter = 0n
  #failed = false
  #lastMs = 0
  readonly #trouble: (what: string) => void

  constructor(
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    ids: { self: number; peer: number },
    trouble: (what: string) => void,
  ) {
    this.#context = context
    this.#self = ids.self
    this.#peer = ids.peer
    this.#trouble = (what) => {
      if (!this.#failed) trouble(what)
      this.#failed = true
    }
    this.#memory = context.alloc(memoryBytes)
    this.#view = new DataView(this.#memory.buffer, this.#memory.byteOffset, memoryBytes)
    const rights = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
    this.#mr = pd.regMr(this.#memory, rights)
    const cap = { maxSendWr: slots, maxRecvWr: receives, maxSendSge: 1, maxRecvSge: 1, maxInlineData: inlineBytes }
    this.qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
    this.#endpoint = endpointOf(this.qp)
  }

  get offer(): Pick<Offer, 'rc' | 'addr' | 'rkey'> {
    return { rc: this.#endpoint, addr: this.#mr.addr, rkey: this.#mr.rkey }
  }

  connect(offer: Offer): void {
    connectQp(this.qp, this.#endpoint, offer.rc, patience)
    for (let i = 0; i < receives; i++) this.#receive(i)
    this.#offer = offer
  }

  #receive(slot: number): void {
    const sge = { addr: this.#mr.addr + receivesAt + slot * receiveBytes, length: receiveBytes, lkey: this.#mr.lkey }
    this.qp.postRecv({ wrId: receiveIds + slot, sgList: [sge] })
  }

  get outstanding(): number {
    return this.#failed ? 0 : this.#requests.filter((request) => request !== null).length
  }

  /** Posts one more request of a random kind, if there is room. */
  step(random: (limit: number) => number): void {
    const slot = this.#requests.indexOf(null)
    if (this.#offer === null || this.#failed || slot < 0) return
    const kinds: Kind[] = ['message', 'message', 'write', 'write', 'write-back', 'atomic']
    let kind = kinds[random(kinds.length)]!
    // The peer may not have looked at what is there: asks how far it is.
    if (kind === 'write' && this.#next.writes - this.#consumed >= region.slots) kind = 'consumed'
    this.#begin(slot, kind, random)
  }

  /** As large requests as there are. */
  rush(): void {
    for (let slot = 0; slot < slots; slot++)
      if (this.#offer !== null && !this.#failed && this.#requests[slot] === null)
        this.#begin(slot, 'write-back', () => 0)
  }

  #begin(slot: number, kind: Kind, random: (limit: number) => number): void {
    if (this.outstanding === 0) this.#lastMs = performance.now()
    const before = this.#counter
    const { seq, length, ...fields } = this.#make(slot, kind, random)
    this.#requests[slot] = { kind, seq, expected: before }
    const sgList = [{ addr: this.#mr.addr + slotsAt + slot * slotBytes, length, lkey: this.#mr.lkey }]
    const sendFlags = SendFlag.Signaled | (kind === 'message' && length <= inlineBytes ? SendFlag.Inline : 0)
    this.qp.postSend({ wrId: slot, sendFlags, sgList, ...fields } as SendWrInit<typeof QpType.RC>)
  }

  /** Numbers a request and fills its slot with what it sends. */
  #make(slot: number, kind: Kind, random: (limit: number) => number): Made {
    const { addr, rkey } = this.#offer!
    if (kind === 'message') {
      const seq = this.#next.messages++
      return { seq, length: this.#fill(slot, seq, receiveBytes), opcode: Opcode.Send }
    }
    if (kind === 'write') {
      const seq = this.#next.writes++
      const remoteAddr = addr + (seq % region.slots) * region.slotBytes
      const length = this.#fill(slot, seq, region.slotBytes)
      return { seq, length, opcode: Opcode.WriteWithImm, immData: seq, remoteAddr, rkey }
    }
    if (kind === 'consumed')
      return { seq: 0, length: 4, opcode: Opcode.Read, remoteAddr: addr + region.consumedAt, rkey }
    if (kind === 'atomic') {
      // Each finds what the last one left, whichever kind it is; one that were executed twice, or not, would be found by the next.
      const by = 1n + BigInt(random(1000))
      const before = this.#counter
      this.#counter += by
      const at = { seq: 0, length: 8, remoteAddr: addr + region.counterAt, rkey }
      return random(2) === 0
        ? { ...at, opcode: Opcode.AtomicFetchAndAdd, compareAdd: by }
        : { ...at, opcode: Opcode.AtomicCmpAndSwp, compareAdd: before, swap: this.#counter }
    }
    const remoteAddr = addr + region.backAt + slot * region.backBytes
    if (kind === 'write-back') {
      const seq = this.#next.others++
      return { seq, length: this.#fill(slot, seq, region.backBytes), opcode: Opcode.Write, remoteAddr, rkey }
    }
    // What was written before it from this slot.
    const { seq } = this.#requests[slot]!
    const length = payloadLength(seq, region.backBytes)
    const at = slotsAt + slot * slotBytes
    this.#memory.fill(0, at, at + length)
    return { seq, length, opcode: Opcode.Read, remoteAddr, rkey }
  }

  /** How many bytes number `seq` has, `most` at most. */
  #fill(slot: number, seq: number, most: number): number {
    const length = payloadLength(seq, most)
    this.#memory.set(payload(this.#self, this.#peer, seq, length), slotsAt + slot * slotBytes)
    return length
  }

  /** Takes a completion of this queue pair. */
  take(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) {
      this.#trouble(`${wc.wrId >= receiveIds ? 'receive' : this.#requests[wc.wrId]?.kind}: ${wc.statusText}`)
      return
    }
    if (this.#failed) return
    const now = performance.now()
    if (this.outstanding > 0) this.tally.longestGapMs = Math.max(this.tally.longestGapMs, now - this.#lastMs)
    this.#lastMs = now
    if (wc.wrId >= receiveIds) this.#arrived(wc)
    else this.#completed(wc.wrId)
  }

  #arrived(wc: WorkCompletion): void {
    const slot = wc.wrId - receiveIds
    const { received } = this.tally
    if (wc.opcode === WcOpcode.RecvRdmaWithImm) {
      const seq = this.#awaited.writes++
      const at = (seq % region.slots) * region.slotBytes
      if (wc.immData !== seq) this.#trouble(`WRITE ${wc.immData} came instead of ${seq}`)
      else if (this.#differs(at, this.#peer, this.#self, seq, payloadLength(seq, region.slotBytes)))
        this.#trouble(`wrong data in WRITE ${seq}`)
      received.writes++
      this.#view.setUint32(region.consumedAt, this.#awaited.writes, true)
    } else {
      const seq = this.#awaited.messages++
      const length = payloadLength(seq, receiveBytes)
      if (wc.byteLen !== length || this.#differs(receivesAt + slot * receiveBytes, this.#peer, this.#self, seq, length))
        this.#trouble(`message ${seq} is another, of ${wc.byteLen} bytes`)
      received.messages++
    }
    this.#receive(slot)
  }

  #completed(slot: number): void {
    const { kind, seq, expected } = this.#requests[slot]!
    const at = slotsAt + slot * slotBytes
    const { sent } = this.tally
    if (kind === 'write-back') {
      this.#begin(slot, 'read-back', () => 0)
      return
    }
    if (kind === 'message') sent.messages++
    else if (kind === 'write') sent.writes++
    else if (kind === 'consumed') this.#consumed = this.#view.getUint32(at, true)
    else if (kind === 'atomic') {
      const found = this.#view.getBigUint64(at, true)
      if (found !== expected) this.#trouble(`an atomic found ${found} instead of ${expected}`)
      this.tally.verified++
    } else {
      if (this.#differs(at, this.#self, this.#peer, seq, payloadLength(seq, region.backBytes)))
        this.#trouble(`WRITE ${seq} was read back as something else`)
      this.tally.verified++
    }
    this.#requests[slot] = null
  }

  #differs(at: number, from: number, to: number, seq: number, length: number): boolean {
    return Buffer.compare(this.#memory.subarray(at, at + length), payload(from, to, seq, length)) !== 0
  }

  close(): void {
    this.#failed = true
    this.qp.close()
    this.#mr.close()
    this.#context.free(this.#memory)
  }
}
