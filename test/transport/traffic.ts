/**
 * Random traffic on connected QPs over the virtual link, in virtual time: all operations, sizes around multiples of the
 * MTU, several QPs at once, receives that are posted late. Everything follows from one seed.
 *
 * Each message has its own places in both buffers, with guards around what may be written. Of RC every message arrives
 * intact, once and in order, and every completion comes once and in order; of UC and UD each message that arrives is whole.
 */
import { expect } from 'vitest'
import {
  Access,
  type CompletionQueue,
  type Context,
  connectQp,
  FlushPlacement,
  FlushSelectivity,
  incRkey,
  type MemoryRegion,
  MwType,
  nameOf,
  Opcode,
  type PathMtu,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  SendFlag,
  type Sge,
  type SharedReceiveQueue,
  WcOpcode,
  WcStatus,
  workCompletions,
} from '../../src/index.ts'
import { TransportQp } from '../../src/transport/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { seeded } from '../random.ts'
import { type Faults, link } from './virtual.ts'

const bufferBytes = 24 << 20
const guardBytes = 16
const guardByte = 0xcc
const grhBytes = 40
const access =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind | Access.FlushGlobal
const mtus: readonly PathMtu[] = [256, 512, 1024, 2048, 4096]
const queueDepth = 16
const cqe = 4096

/** What there is once for all runs of a file: an adapter's memory, and bytes that all messages are taken from. */
export class Ground {
  readonly sides: readonly Side[]
  readonly pool: Uint8Array

  constructor(open: (side: number) => Context) {
    this.sides = [0, 1].map((side) => new Side(open(side)))
    const random = seeded(7)
    this.pool = Uint8Array.from({ length: 1 << 20 }, () => random() * 256)
  }

  close(): void {
    for (const { context, pd, mr, buffer } of this.sides) {
      mr.close()
      pd.close()
      context.free(buffer)
      context.close()
    }
  }
}

class Side {
  readonly context: Context
  readonly pd: ProtectionDomain
  readonly buffer: Uint8Array
  readonly mr: MemoryRegion
  next = 0
  /** Places that may be written, to find what was written elsewhere. */
  places: { at: number; length: number }[] = []

  constructor(context: Context) {
    this.context = context
    this.pd = context.allocPd()
    this.buffer = context.alloc(bufferBytes)
    this.mr = this.pd.regMr(this.buffer, access)
  }

  clear(): void {
    this.next = 0
    this.places = []
  }

  /** A new place, filled with guard bytes as what is around it. */
  place(length: number, align = 1): number {
    const at = Math.ceil((this.next + guardBytes) / align) * align
    const end = at + length + guardBytes
    if (end > bufferBytes) throw new Error('the buffer of the test is too small')
    this.buffer.fill(guardByte, this.next, end)
    this.next = end
    this.places.push({ at, length })
    return at
  }

  checkGuards(): void {
    let from = 0
    for (const { at, length } of [...this.places, { at: this.next, length: 0 }]) {
      for (let i = from; i < at; i++)
        if (this.buffer[i] !== guardByte) throw new Error(`byte ${i} is written, but belongs to no message`)
      from = at + length
    }
  }

  word(at: number): bigint {
    return new BigUint64Array(this.buffer.buffer, this.buffer.byteOffset + at, 1)[0]!
  }

  setWord(at: number, value: bigint): void {
    new BigUint64Array(this.buffer.buffer, this.buffer.byteOffset + at, 1)[0] = value
  }
}

export interface Plan {
  seed: number
  type: QpType
  faults: Faults
  /** Bytes of all messages in one direction of one QP, at most. */
  bytes: number
}

/** One message. */
interface Message {
  opcode: Opcode
  size: number
  flags: number
  /** Where in the pool its bytes are, for what carries any. */
  pool: number
  /** Where they are on the sender's side (SEND, WRITE) or come to (READ, atomics). */
  local: number
  /** Where they come to or from on the other side. */
  remote: number
  imm: number
  rkey: number
  /** The value that CAS or FETCH ADD must find. */
  found: bigint
}

const takesReceive: ReadonlySet<number> = new Set([
  Opcode.Send,
  Opcode.SendWithImm,
  Opcode.SendWithInv,
  Opcode.WriteWithImm,
])
const inlineable: ReadonlySet<number> = new Set([...takesReceive, Opcode.Write])

/** One direction of one connection. */
class Flow {
  readonly messages: Message[] = []
  /** How many are posted, and how many of these are known to be done. */
  posted = 0
  done = 0
  /** Messages that take a receive: of which the first `arrived` have come, and receives that are posted. */
  readonly toReceive: Message[] = []
  arrived = 0
  receives = 0
  readonly receiveAt: number[] = []
  wrongOrder = false
  readonly from: QueuePair
  readonly to: QueuePair
  readonly source: Side
  readonly target: Side
  readonly number: number

  constructor(number: number, from: QueuePair, to: QueuePair, source: Side, target: Side) {
    this.number = number
    this.from = from
    this.to = to
    this.source = source
    this.target = target
  }
}

export class Traffic {
  readonly #ground: Ground
  readonly #plan: Plan
  readonly #random: () => number
  readonly #flows: Flow[] = []
  readonly #cqs: CompletionQueue[] = []
  readonly #srqs: (SharedReceiveQueue | null)[] = [null, null]
  readonly #closing: { close(): void }[] = []
  readonly #wc = workCompletions(32)
  readonly #mtu: PathMtu
  readonly #srqPlaces: Map<number, number>[] = [new Map(), new Map()]
  readonly #before: Record<string, number>[]
  readonly #sent: { sent: number; lost: number; duplicated: number; corrupted: number; lostRequests: number }
  /** One word that all flows to side 1 count up, and the values they found there. */
  readonly #counter: number
  readonly #foundThere: bigint[] = []
  #srqNext = 0
  #largest = 0
  #completions = 0
  /** Packets that carry all messages if each is sent once, roughly. */
  #needed = 1000

  constructor(ground: Ground, plan: Plan) {
    this.#ground = ground
    this.#plan = plan
    this.#random = seeded(plan.seed)
    for (const side of ground.sides) side.clear()
    this.#mtu = this.#pick(mtus)
    this.#counter = ground.sides[1]!.place(8, 8)
    ground.sides[1]!.setWord(this.#counter, 0n)
    this.#before = this.#counters()
    this.#sent = { ...link.counts }
    this.#build()
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }

  #counters(): Record<string, number>[] {
    return this.#ground.sides.map(({ context }) => context.counters())
  }

  // --- what is planned ---------------------------------------------------------------------------------------------

  #own<T extends { close(): void }>(object: T): T {
    this.#closing.push(object)
    return object
  }

  #build(): void {
    const { sides } = this.#ground
    const { type } = this.#plan
    const pairs = 1 + this.#below(type === QpType.RC ? 4 : 2)
    for (const [i, { context, pd }] of sides.entries()) {
      this.#cqs.push(this.#own(context.createCq(cqe)), this.#own(context.createCq(cqe)))
      if (this.#chance(0.25)) this.#srqs[i] = this.#own(pd.createSrq({ maxWr: 256, maxSge: 2 }))
    }
    for (let i = 0; i < pairs; i++) {
      const qps = sides.map(({ pd }, side) => {
        const srq = this.#srqs[side]
        return this.#own(
          pd.createQp({
            type,
            sendCq: this.#cqs[2 * side]!,
            recvCq: this.#cqs[2 * side + 1]!,
            ...(srq ? { srq } : {}),
            cap: { maxSendWr: queueDepth, maxRecvWr: 128, maxSendSge: 3, maxRecvSge: 2, maxInlineData: 64 },
          }),
        )
      }) as [QueuePair, QueuePair]
      this.#connect(qps)
      const flows = [
        new Flow(2 * i, qps[0], qps[1], sides[0]!, sides[1]!),
        new Flow(2 * i + 1, qps[1], qps[0], sides[1]!, sides[0]!),
      ]
      for (const flow of flows) this.#fill(flow, flows[1 - (flow.number & 1)]!)
      this.#flows.push(...flows)
    }
    for (const flow of this.#flows) for (const { size } of flow.toReceive) this.#largest = Math.max(this.#largest, size)
  }

  #psn(): number {
    // Half of them go around the end of the number space soon.
    return this.#chance(0.5) ? this.#below(1 << 24) : 0xffffff - this.#below(100)
  }

  #connect(qps: readonly [QueuePair, QueuePair]): void {
    const ends = qps.map((qp) => ({
      qpn: qp.qpNum,
      psn: this.#psn(),
      lid: 0,
      gid: qp.pd.context.queryGid(1, 0),
    }))
    const depth = 1 + this.#below(8)
    const credits = this.#plan.type === QpType.RC && this.#chance(0.3)
    for (const side of [0, 1]) {
      connectQp(qps[side]!, ends[side]!, this.#plan.type === QpType.UD ? null : ends[1 - side]!, {
        pathMtu: this.#mtu,
        accessFlags: access & ~Access.MwBind,
        timeout: 9,
        retryCnt: 7,
        rnrRetry: 7,
        minRnrTimer: 1 + this.#below(14),
        maxRdAtomic: depth,
        maxDestRdAtomic: depth + this.#below(3),
      })
      if (!credits) continue
      const { host } = qps[side]!.pd.context.device
      host.i32[host.i32[host.qpWord(qps[side]!.slot) + layout.Qp.wire]! + TransportQp.flowControl] = 1
    }
  }

  #size(left: number): number {
    const mtu = this.#mtu
    const { type } = this.#plan
    if (type === QpType.UD) return this.#below(this.#chance(0.5) ? 64 : 4097)
    const kind = this.#random()
    const roomy = type === QpType.RC && this.#srqs.every((srq) => srq === null)
    let size = this.#below(65)
    if (kind > 0.9) size = this.#below(roomy ? 400_000 : 40_000)
    else if (kind > 0.5) size = Math.max(0, (1 + this.#below(6)) * mtu + this.#below(3) - 1)
    else if (kind > 0.3) size = this.#below(8192)
    return Math.max(0, Math.min(size, left))
  }

  #fill(flow: Flow, back: Flow): void {
    const { type, bytes } = this.#plan
    const opcodes: Opcode[] = [Opcode.Send, Opcode.SendWithImm]
    if (type !== QpType.UD) opcodes.push(Opcode.Write, Opcode.WriteWithImm)
    if (type === QpType.RC)
      opcodes.push(Opcode.Read, Opcode.Read, Opcode.AtomicCmpAndSwp, Opcode.AtomicFetchAndAdd, Opcode.AtomicWrite)
    if (type === QpType.RC) opcodes.push(Opcode.Flush, Opcode.SendWithInv)
    const count = 5 + this.#below(40)
    const own = flow.target.place(8, 8)
    let value = 0n
    // Small packets take as much time as large ones.
    let budget = Math.min(bytes, 200 * this.#mtu)
    let windows = 3
    flow.target.setWord(own, 0n)
    for (let i = 0; i < count; i++) {
      let opcode = this.#pick(opcodes)
      if (opcode === Opcode.SendWithInv && windows-- <= 0) opcode = Opcode.Send
      let size = this.#size(budget)
      if (opcode === Opcode.SendWithInv) size = Math.min(size, 8192)
      let flags = this.#chance(0.7) || i === count - 1 ? SendFlag.Signaled : 0
      if (this.#chance(0.15)) flags |= SendFlag.Fence
      if (this.#chance(0.2)) flags |= SendFlag.Solicited
      const atomic = opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd
      if (atomic || opcode === Opcode.AtomicWrite) size = 8
      if (opcode === Opcode.Flush) size = 0
      if (inlineable.has(opcode) && size <= 64 && this.#chance(0.5)) flags |= SendFlag.Inline
      budget -= size
      const pool = this.#below(this.#ground.pool.length - size)
      const bytesOf = this.#ground.pool.subarray(pool, pool + size)
      const align = opcode === Opcode.AtomicWrite ? 8 : 1
      const message: Message = { opcode, size, flags, pool, local: 0, remote: 0, imm: 0, rkey: 0, found: 0n }
      message.imm = ((flow.number << 16) | flow.toReceive.length) >>> 0
      message.rkey = flow.target.mr.rkey
      message.local = flow.source.place(size, atomic ? 8 : 1)
      if (opcode === Opcode.Read) {
        message.remote = flow.target.place(size)
        flow.target.buffer.set(bytesOf, message.remote)
      } else if (atomic) {
        message.remote =
          opcode === Opcode.AtomicFetchAndAdd && flow.target === this.#ground.sides[1] ? this.#counter : own
        message.found = value
        if (message.remote === own) value++
      } else {
        flow.source.buffer.set(bytesOf, message.local)
        if (opcode === Opcode.Write || opcode === Opcode.WriteWithImm || opcode === Opcode.AtomicWrite)
          message.remote = flow.target.place(size, align)
      }
      if (opcode === Opcode.SendWithInv) message.rkey = this.#window(flow, back)
      if (takesReceive.has(opcode)) flow.toReceive.push(message)
      flow.messages.push(message)
      this.#needed += 1 + size / this.#mtu
    }
  }

  /** A window of the other side that a SEND may invalidate; bound before packets are lost. */
  #window(flow: Flow, back: Flow): number {
    const mw = this.#own(flow.target.pd.allocMw(MwType.Type2))
    const rkey = incRkey(mw.rkey)
    const bindMw = { mw, rkey, mr: flow.target.mr, addr: flow.target.mr.addr, length: 64, accessFlags: access & 0xe }
    back.from.postSend({ wrId: 0, opcode: Opcode.BindMw, sendFlags: SendFlag.Signaled, bindMw } as never)
    const cq = this.#cqs[flow.target === this.#ground.sides[0] ? 0 : 2]!
    link.faults = { killing: this.#plan.faults.killing ?? 0 }
    for (let tries = 0; cq.poll(this.#wc, 1) !== 1; tries++)
      if (tries > 1000) throw new Error('the window is not bound')
    if (this.#wc[0]!.status !== WcStatus.Success) throw new Error(this.#wc[0]!.statusText)
    return rkey
  }

  // --- running -----------------------------------------------------------------------------------------------------

  /** How many messages were carried. */
  run(): number {
    const { faults, type, seed } = this.#plan
    link.faults = faults
    link.random = seeded(seed ^ 0x5eed)
    try {
      if (type === QpType.RC) this.#runReliable()
      else this.#runUnreliable()
      // What is still on its way changes nothing any more, and the adapters come to rest.
      for (let steps = 0; link.step(); steps++) if (steps > 100_000) throw new Error('the adapters do not come to rest')
      for (const cq of this.#cqs) expect(cq.poll(this.#wc), 'completions after the end').toBe(0)
      for (const side of this.#ground.sides) side.checkGuards()
      this.#checkCounters()
    } finally {
      link.faults = {}
      for (const object of this.#closing.reverse()) object.close()
      while (link.step());
    }
    return this.#flows.reduce((sum, { messages }) => sum + messages.length, 0)
  }

  #runReliable(): void {
    let idle = 0
    for (;;) {
      let open = 0
      for (const flow of this.#flows) {
        open += flow.messages.length - flow.done + flow.toReceive.length - flow.arrived
        this.#postReceives(flow)
        this.#postSends(flow)
      }
      if (open === 0) break
      const before = this.#completions
      link.step()
      for (let i = 0; i < this.#cqs.length; i++) this.#poll(i)
      idle = this.#completions === before ? idle + 1 : 0
      if (link.counts.sent - this.#sent.sent > 50 * this.#needed)
        throw new Error(`a storm of packets: ${this.#describe()}`)
      if (idle > 50_000) throw new Error(`nothing completes any more: ${this.#describe()}`)
    }
    this.#checkAtomics()
  }

  #describe(): string {
    return this.#flows
      .map((f) => `${f.done}/${f.messages.length} sent, ${f.arrived}/${f.toReceive.length} received`)
      .join('; ')
  }

  #postSends(flow: Flow): void {
    while (flow.posted < flow.messages.length && flow.posted - flow.done < queueDepth && this.#chance(0.6))
      this.#postSend(flow, flow.messages[flow.posted++]!, flow.posted - 1)
  }

  #postSend(flow: Flow, message: Message, index: number): void {
    const { opcode, size, flags } = message
    const { mr } = flow.source
    const cuts = opcode === Opcode.Read || inlineable.has(opcode) ? [this.#below(size + 1), this.#below(size + 1)] : []
    const edges = [0, ...cuts.sort((x, y) => x - y), size]
    const sgList: Sge[] =
      opcode === Opcode.Flush
        ? []
        : edges.slice(1).map((edge, i) => ({
            addr: mr.addr + message.local + edges[i]!,
            length: edge - edges[i]!,
            lkey: mr.lkey,
          }))
    flow.from.postSend({
      wrId: index,
      opcode,
      // The last place in the queue needs a completion, or nobody learns that there are places again.
      sendFlags: index % queueDepth === queueDepth - 1 ? flags | SendFlag.Signaled : flags,
      sgList,
      remoteAddr: flow.target.mr.addr + message.remote,
      rkey: message.rkey,
      immData: message.imm,
      invalidateRkey: message.rkey,
      compareAdd: opcode === Opcode.AtomicFetchAndAdd ? 1n : message.found,
      swap: message.found + 1n,
      ...(opcode === Opcode.Flush
        ? { placement: FlushPlacement.Global, selectivity: FlushSelectivity.Range, flushLength: 8 }
        : {}),
    } as never)
    if ((flags & SendFlag.Inline) !== 0) flow.source.buffer.fill(0, message.local, message.local + size)
  }

  #postReceives(flow: Flow): void {
    const side = flow.target === this.#ground.sides[0] ? 0 : 1
    const srq = this.#srqs[side]
    const reliable = !srq && this.#plan.type === QpType.RC
    const { mr } = flow.target
    while (flow.receives < flow.toReceive.length && flow.receives - flow.arrived < 64 && this.#chance(0.5)) {
      const wanted = flow.toReceive[flow.receives++]!
      // Of an SRQ any message may take any receive, and where messages are lost another may take it too.
      const grh = this.#plan.type === QpType.UD ? grhBytes : 0
      const room = grh + (reliable ? wanted.size + this.#below(3) * 7 : this.#largest)
      const at = flow.target.place(room)
      const cut = this.#below(room + 1)
      const wrId = srq ? this.#srqNext++ : flow.receives - 1
      const sgList = [
        { addr: mr.addr + at, length: cut, lkey: mr.lkey },
        { addr: mr.addr + at + cut, length: room - cut, lkey: mr.lkey },
      ]
      if (srq) this.#srqPlaces[side]!.set(wrId, at)
      else flow.receiveAt[wrId] = at
      if (srq) srq.postRecv({ wrId, sgList })
      else flow.to.postRecv({ wrId, sgList })
    }
  }

  #poll(index: number): void {
    const n = this.#cqs[index]!.poll(this.#wc)
    if (n < 0) throw new Error('the CQ overran')
    this.#completions += n
    for (let i = 0; i < n; i++) {
      const wc = this.#wc[i]!
      const receive = (index & 1) === 1
      const flow = this.#flows.find(({ from, to }) => (receive ? to : from).qpNum === wc.qpNum)
      if (!flow) throw new Error('a completion of a QP that is not there')
      if (wc.status !== WcStatus.Success)
        throw new Error(`${wc.statusText} at ${receive ? 'receive' : 'request'} ${wc.wrId}: ${this.#describe()}`)
      if (receive) this.#received(flow, wc.wrId, wc.byteLen, wc.opcode, wc.immData, index >> 1)
      else this.#completed(flow, wc.wrId, wc.byteLen)
    }
  }

  #completed(flow: Flow, wrId: number, byteLen: number): void {
    if (wrId < flow.done || wrId >= flow.posted) throw new Error(`completion ${wrId} after ${flow.done}`)
    for (; flow.done <= wrId; flow.done++) {
      const message = flow.messages[flow.done]!
      const signaled = (message.flags & SendFlag.Signaled) !== 0 || flow.done % queueDepth === queueDepth - 1
      if (signaled !== (flow.done === wrId)) throw new Error(`completion ${wrId} came, ${flow.done} is missing`)
      this.#checkDone(flow, message, flow.done)
    }
    const { opcode, size } = flow.messages[wrId]!
    const brings = opcode === Opcode.Read || opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd
    if (brings) expect(byteLen).toBe(size)
  }

  /** What must be true once a request is known to be done. */
  #checkDone(flow: Flow, message: Message, index: number): void {
    const what = (): string =>
      `${nameOf(Opcode, message.opcode)} ${index} of flow ${flow.number}, ${message.size} bytes`
    if (message.opcode === Opcode.Read) this.#same(flow.source, message.local, message, what)
    else if (message.opcode === Opcode.Write || message.opcode === Opcode.AtomicWrite) {
      if (this.#plan.type === QpType.RC) this.#same(flow.target, message.remote, message, what)
    } else if (message.opcode === Opcode.AtomicFetchAndAdd && message.remote === this.#counter)
      this.#foundThere.push(flow.source.word(message.local))
    else if (message.opcode === Opcode.AtomicCmpAndSwp || message.opcode === Opcode.AtomicFetchAndAdd) {
      const found = flow.source.word(message.local)
      if (found !== message.found) throw new Error(`${what()} found ${found} instead of ${message.found}`)
    }
  }

  #same(side: Side, at: number, { pool, size }: Message, what: () => string): void {
    const got = side.buffer.subarray(at, at + size)
    const expected = this.#ground.pool.subarray(pool, pool + size)
    if (Buffer.compare(got, expected) === 0) return
    const i = got.findIndex((byte, k) => byte !== expected[k])
    throw new Error(`${what()}: byte ${i} is ${got[i]}, not ${expected[i]}`)
  }

  #placeOf(flow: Flow, wrId: number, side: number): number {
    const places = this.#srqPlaces[side]!
    const at = this.#srqs[side] ? places.get(wrId) : flow.receiveAt[wrId]
    if (at === undefined) throw new Error(`a receive ${wrId} that was not posted, or completes twice`)
    if (this.#srqs[side]) places.delete(wrId)
    else delete flow.receiveAt[wrId]
    return at
  }

  #received(flow: Flow, wrId: number, byteLen: number, opcode: number, imm: number, side: number): void {
    const at = this.#placeOf(flow, wrId, side)
    const what = (): string => `receive ${wrId} of flow ${flow.number}, ${byteLen} bytes`
    if (this.#plan.type !== QpType.RC) {
      this.#receivedUnreliably(flow, at, byteLen, opcode, imm, what)
      return
    }
    const message = flow.toReceive[flow.arrived]
    if (!message) throw new Error(`${what()}: all messages have come already`)
    if (!this.#srqs[side] && wrId !== flow.arrived) throw new Error(`${what()} after ${flow.arrived}`)
    flow.arrived++
    expect(byteLen, what()).toBe(message.size)
    const write = message.opcode === Opcode.WriteWithImm
    expect(opcode, what()).toBe(write ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv)
    if (write || message.opcode === Opcode.SendWithImm) expect(imm, what()).toBe(message.imm)
    this.#same(flow.target, write ? message.remote : at, message, what)
    // What was written before it is there.
    for (const earlier of flow.messages) {
      if (earlier === message) break
      if (earlier.opcode === Opcode.Write) this.#same(flow.target, earlier.remote, earlier, what)
    }
  }

  #checkAtomics(): void {
    const found = this.#foundThere.map(Number).sort((x, y) => x - y)
    for (const [i, value] of found.entries())
      if (value !== i) throw new Error(`FETCH ADD found ${value} instead of ${i}`)
    expect(Number(this.#ground.sides[1]!.word(this.#counter)), 'sum of FETCH ADDs').toBe(found.length)
  }

  // --- UC and UD ---------------------------------------------------------------------------------------------------

  #runUnreliable(): void {
    for (let quiet = 0; quiet < 3; ) {
      let posted = 0
      for (const flow of this.#flows) {
        const before = flow.posted + flow.receives
        this.#postReceives(flow)
        this.#postDatagrams(flow)
        posted += flow.posted + flow.receives - before
      }
      const more = link.step()
      for (let i = 0; i < this.#cqs.length; i++) this.#poll(i)
      const all = this.#flows.every((f) => f.done === f.messages.length)
      quiet = !more && posted === 0 && all ? quiet + 1 : 0
    }
    const { faults } = this.#plan
    if (Object.keys(faults).length > 0) return
    // Without faults only messages that found no receive are missing.
    const missing = this.#flows.reduce((n, f) => n + f.toReceive.length - f.arrived, 0)
    const dropped = this.#increase('uc_drops_no_receive') + this.#increase('ud_drops_no_receive')
    expect(missing, 'messages that are missing').toBe(dropped)
  }

  #postDatagrams(flow: Flow): void {
    if (this.#plan.type === QpType.UC) {
      this.#postSends(flow)
      return
    }
    while (flow.posted < flow.messages.length && flow.posted - flow.done < queueDepth && this.#chance(0.6)) {
      const index = flow.posted++
      const { opcode, size, flags, local, imm } = flow.messages[index]!
      const { mr, pd } = flow.source
      const grh = { dgid: flow.target.context.queryGid(1, 0), sgidIndex: 0, hopLimit: 64 }
      const ah = pd.createAh({ dlid: 0, portNum: 1, grh })
      flow.from.postSend({
        wrId: index,
        opcode,
        sendFlags: (flags & ~SendFlag.Fence) | SendFlag.Signaled,
        sgList: [{ addr: mr.addr + local, length: size, lkey: mr.lkey }],
        immData: imm,
        ah,
        remoteQpn: flow.to.qpNum,
        remoteQkey: 0x11111111,
      } as never)
      flow.messages[index]!.flags |= SendFlag.Signaled
      ah.close()
    }
  }

  /** It is one of the messages that were sent, and whole. */
  #receivedUnreliably(flow: Flow, at: number, byteLen: number, opcode: number, imm: number, what: () => string): void {
    const ud = this.#plan.type === QpType.UD
    const bytes = byteLen - (ud ? grhBytes : 0)
    const { pool } = this.#ground
    flow.arrived++
    const write = opcode === WcOpcode.RecvRdmaWithImm
    const fits = flow.toReceive.some((message) => {
      const place = write ? message.remote : at + (ud ? grhBytes : 0)
      const got = flow.target.buffer.subarray(place, place + bytes)
      const plain = message.opcode === Opcode.Send
      return (
        message.size === bytes &&
        write === (message.opcode === Opcode.WriteWithImm) &&
        (plain || message.imm === imm) &&
        Buffer.compare(got, pool.subarray(message.pool, message.pool + bytes)) === 0
      )
    })
    if (!fits) throw new Error(`${what()}: no message was like this`)
  }

  // --- counters ----------------------------------------------------------------------------------------------------

  #increase(name: string): number {
    return this.#counters().reduce((sum, now, i) => sum + now[name]! - this.#before[i]![name]!, 0)
  }

  /** Every packet that the link damaged, lost or doubled is accounted for. */
  #checkCounters(): void {
    const { counts } = link
    const since = (name: keyof typeof counts & string): number => counts[name] - (this.#sent as typeof counts)[name]
    for (const name of ['retry_exceeded_err', 'retry_rnr_exceeded_err', 'drops_malformed', 'drops_no_qp'])
      expect(this.#increase(name), name).toBe(0)
    // A thread that was killed has not counted everything.
    if (this.#plan.faults.killing) return
    const arrived = since('sent') + since('duplicated') - since('lost') - since('corrupted')
    expect(this.#increase('rcvd_pkts'), 'packets received').toBe(arrived)
    expect(this.#increase('icrc_errors'), 'packets with a wrong ICRC').toBe(since('corrupted'))
    if (this.#plan.type !== QpType.RC) return
    const again = this.#increase('retransmitted_pkts')
    if (since('lostRequests') > 0) expect(again, 'packets sent again').toBeGreaterThan(0)
    const quietLink = since('lost') + since('corrupted') + since('reordered') === 0 && !this.#plan.faults.jitterNs
    if (quietLink && this.#increase('rcvd_rnr_err') === 0) expect(again, 'packets sent again').toBe(0)
  }
}
