/**
 * Runs a random program on two queue pairs of a device and on the model, and compares.
 *
 *     memory of an endpoint   guard │ source │ landing │ receive │ remote │ guard
 *
 * Requests take their data from `source`, READ and atomics bring theirs to `landing`, receives fill `receive`, and the
 * peer's one-sided requests go to `remote`. So no two queues ever write the same bytes, and the outcome does not depend
 * on how fast a device is. The region covers all but the guards.
 */
import { expect } from 'vitest'
import {
  type ConnectOptions,
  nameOf,
  Opcode,
  QpState,
  QpType,
  SendFlag,
  type Sge,
  type SharedReceiveQueue,
  VerbsError,
  workCompletions,
} from '../../src/index.ts'
import { type End, type Fields, fullAccess } from '../compliance/end.ts'
import { type Completion, copyOf, type Setup } from '../compliance/rig.ts'
import { type Expected, isAtomic, ModelEnd, type ModelReceive, type ModelSend, type Range } from './model.ts'
import { type Config, largest, opcodes, type ReceiveItem, type SendItem, type Step } from './steps.ts'

const guard = 4096
const area = 1 << 16
const at = { source: guard, landing: guard + area, receive: guard + 2 * area, remote: guard + 3 * area }
const bytes = 2 * guard + 4 * area
const grh = 40
const cap = { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 }
const cqe = 400
const types = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const
/** Short times: a peer that is gone is noticed at once. */
const connect = { timeout: 1, retryCnt: 1, rnrRetry: 7, minRnrTimer: 1, pathMtu: 1024 } as const

interface Live {
  end: End
  srq: SharedReceiveQueue | null
  model: ModelEnd
  mr: { addr: number; lkey: number; rkey: number }
  /** What a UD request needs. */
  datagram: Fields
  /** Where the next data go in each area. */
  next: { source: number; landing: number; receive: number }
}

export class Harness {
  readonly #t: Setup
  readonly #config: Config
  readonly #ends: [Live, Live]
  readonly #exact: boolean
  readonly #network: boolean
  readonly #connect: ConnectOptions
  readonly #wc = workCompletions(16)
  #wrId = 0

  /**
   * `exact`: the device carries a request out while it is posted, as the model does. `network`: messages travel in
   * packets, some of which may get lost; `timeout` is how long it waits for an ACK, encoded.
   */
  constructor(t: Setup, config: Config, exact: boolean, network: boolean = false, timeout: number = connect.timeout) {
    this.#t = t
    this.#network = network
    this.#connect = network ? { ...connect, retryCnt: 7, timeout } : connect
    // What a slow device has done can be seen only where there are completions.
    this.#config = exact ? config : { ...config, sqSigAll: true }
    this.#exact = exact
    this.#ends = [this.#live(0), this.#live(1)]
    const [a, b] = this.#ends
    a.model.peer = b.model
    b.model.peer = a.model
    t.connect(a.end, b.end, this.#connect)
    if (config.type === 'UD') {
      a.datagram = a.end.datagram(t, b.end)
      b.datagram = b.end.datagram(t, a.end)
    }
  }

  #live(side: 0 | 1): Live {
    const t = this.#t
    const { type, sqSigAll } = this.#config
    const context = t.context(side)
    const pd = t.own(context.allocPd())
    const srq = this.#config.srq[side] ? t.own(pd.createSrq({ maxWr: cap.maxRecvWr, maxSge: cap.maxRecvSge })) : null
    const shared = this.#config.sharedCq[side] ? { cq: t.own(context.createCq(2 * cqe)) } : {}
    const end = t.end(side, types[type], { pd, cap, cqe, bytes, sqSigAll, ...shared, ...(srq ? { srq } : {}) }) as End
    const mr = t.own(pd.regMr(end.buffer.subarray(guard, bytes - guard), fullAccess))
    const limits = {
      sends: end.qp.cap.maxSendWr,
      receives: srq ? srq.query().maxWr : end.qp.cap.maxRecvWr,
    }
    const model = new ModelEnd(type, bytes, srq !== null, limits)
    return { end, srq, model, mr, datagram: {}, next: { source: 0, landing: 0, receive: 0 } }
  }

  async run(program: readonly Step[]): Promise<void> {
    for (const step of program) await this.#step(step)
    await this.#drain()
    await this.#t.turn()
    for (const { end } of this.#ends) {
      for (const cq of [end.sendCq, end.recvCq]) expect(cq.poll(this.#wc), 'completions after the end').toBe(0)
    }
  }

  async #step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'send':
        await this.#beforePost()
        this.#postSends(this.#ends[step.side], step.items)
        break
      case 'receive':
        await this.#beforePost()
        this.#postReceives(this.#ends[step.side], step.items)
        break
      case 'poll':
        this.#poll(this.#ends[step.side], step.queue, step.batch)
        break
      case 'drain':
        await this.#drain()
        break
      case 'error': {
        await this.#drain()
        const live = this.#ends[step.side]
        live.end.qp.modify({ state: QpState.Err })
        live.model.fail()
        // What is still on its way arrives before anybody posts a receive for it: who polls looks for packets.
        for (let turns = 0; this.#network && turns < 200; turns++) {
          this.#pollAll()
          await this.#t.turn()
        }
        break
      }
      case 'reconnect': {
        await this.#drain()
        const broken = this.#ends.some(({ model: { state } }) => state !== 'Rts')
        for (const { end, model } of this.#ends) {
          end.qp.modify({ state: QpState.Reset })
          model.restart()
        }
        // A request of a broken connection may have been carried out after that comparison, until the reset.
        if (this.#network && broken)
          for (const live of this.#ends) this.#accept(live, { offset: at.remote, length: area })
        this.#t.connect(this.#ends[0].end, this.#ends[1].end, this.#connect)
        break
      }
    }
  }

  /** A slow device must not be surprised by an error while earlier requests are outstanding; and no CQ may overflow. */
  async #beforePost(): Promise<void> {
    const crowded = this.#ends.some(({ model: { due } }) => due.send.length + due.receive.length > cqe - 64)
    // The model knows at once that a peer in ERR does not answer; a device finds out.
    const broken = this.#ends.some(({ model }) => model.state === 'Err')
    if (!this.#exact || crowded || broken) await this.#drain()
  }

  // --- posting -----------------------------------------------------------------------------------------------------

  #postSends(live: Live, items: readonly SendItem[]): void {
    const { end, model } = live
    const planned = items.map((item) => this.#planSend(live, item))
    // The data of requests that are not posted must not disturb those that are.
    const { bad, code } = this.#predict(
      planned.map(({ item, send }) => ({ refused: item.tooManyElements, post: () => model.postSend(send) })),
    )
    const list = planned.map(({ request }) => request)
    for (let i = 0; i + 1 < list.length; i++) Object.assign(list[i]!, { next: list[i + 1] })
    this.#post(() => end.qp.postSend(list[0] as never), code, planned[bad]?.send.wrId)
    for (const { send } of planned) {
      if (!send.inline) continue
      // Inline data have been taken: the buffer may change at once.
      for (const { offset, length } of send.ranges) this.#fill(live, offset, length, 0xee)
    }
  }

  #planSend(live: Live, item: SendItem): { item: SendItem; send: ModelSend; request: object } {
    const { type, sqSigAll } = this.#config
    const { end, mr } = live
    const allowed = opcodes[type]
    const opcode = allowed[item.opcode % allowed.length]!
    const problem = this.#problem(item, opcode)
    const atomic = isAtomic(opcode)
    const size = atomic ? (problem === 'size' ? 8 + (item.size % 9) + 1 : 8) : item.size
    const brings = atomic || opcode === Opcode.Read
    const ranges = this.#place(live, brings ? 'landing' : 'source', size, item.cuts)
    const inline = item.inline && !brings && size <= end.qp.cap.maxInlineData && size > 0
    if (!brings) for (const { offset, length } of ranges) this.#fill(live, offset, length, this.#wrId)
    const wrId = 2 * this.#wrId++
    const remoteOffset = this.#remote(item, size, problem, atomic)
    const peer = this.#ends[live === this.#ends[0] ? 1 : 0]
    const badLkey = problem === 'lkey' && !inline
    const effective = problem === 'lkey' && (inline || size === 0) ? 'none' : problem
    const sgList = ranges.map((range) => this.#sge(mr, range))
    const worst = sgList.findIndex(({ length }) => length > 0)
    if (badLkey && worst >= 0) sgList[worst] = { ...sgList[worst]!, lkey: mr.lkey ^ 0xabcd00 }
    if (item.tooManyElements)
      while (sgList.length <= end.qp.cap.maxSendSge) sgList.push({ addr: 0, length: 0, lkey: mr.lkey })
    const operands = { immData: wrId + 1, compareAdd: BigInt(item.value), swap: BigInt(item.value) + 1n }
    // A READ whose answer is lost is carried out again, and sees what was written meanwhile.
    const fence = item.fence || this.#network
    const flags =
      (item.signaled ? SendFlag.Signaled : 0) | (inline ? SendFlag.Inline : 0) | (fence ? SendFlag.Fence : 0)
    const request = end.request(opcode, peer.end, {
      wrId,
      sgList,
      sendFlags: flags,
      remoteAddr: peer.mr.addr + remoteOffset - guard,
      rkey: problem === 'rkey' ? peer.mr.rkey ^ 0x123400 : peer.mr.rkey,
      ...operands,
      ...live.datagram,
    })
    const data = inline
      ? Buffer.concat(ranges.map(({ offset, length }) => live.model.memory.subarray(offset, offset + length)))
      : null
    const signaled = item.signaled || sqSigAll
    const send = { wrId, opcode, signaled, ranges, inline: data, remoteOffset, ...operands, problem: effective }
    return { item, send, request }
  }

  /** The problem as far as this operation can have it. */
  #problem({ problem, size }: SendItem, opcode: number): ModelSend['problem'] {
    const twoSided = opcode === Opcode.Send || opcode === Opcode.SendWithImm
    if (problem === 'align' || problem === 'size') return isAtomic(opcode) ? problem : 'none'
    if (problem === 'rkey' || problem === 'bounds') {
      return twoSided || (size === 0 && !isAtomic(opcode)) ? 'none' : problem
    }
    return problem
  }

  #remote({ remote }: SendItem, size: number, problem: ModelSend['problem'], atomic: boolean): number {
    const room = area - Math.max(size, 8)
    if (problem === 'bounds') return at.remote + area - (atomic ? 0 : size - 1)
    const offset = remote % room
    if (!atomic) return at.remote + offset
    return at.remote + (offset % 64) * 8 + (problem === 'align' ? 1 + (offset % 7) : 0)
  }

  #postReceives(live: Live, items: readonly ReceiveItem[]): void {
    const { end, srq, model, mr } = live
    const planned = items.map((item) => {
      // Only on RC does an error of a receive concern the sender; elsewhere every receive takes every message.
      const reliable = this.#config.type === 'RC'
      const ranges = this.#place(live, 'receive', reliable ? item.size : largest + grh, item.cuts)
      const wrId = 2 * this.#wrId++ + 1
      // A message in packets may meet the bad element before anybody knows that it is too long.
      const bad = item.bad && reliable && (!this.#network || item.size >= largest)
      const badFrom = bad ? ranges.length - 1 : ranges.length
      const sgList = ranges.map((range, i) => {
        const sge = this.#sge(mr, range)
        return i >= badFrom ? { ...sge, lkey: sge.lkey ^ 0x765400 } : sge
      })
      const receive: ModelReceive = { wrId, ranges, badFrom }
      return { receive, request: { wrId, sgList } }
    })
    const { bad, code } = this.#predict(
      planned.map(({ receive }) => ({ refused: false, post: () => model.postReceive(receive) })),
    )
    const list = planned.map(({ request }) => request)
    for (let i = 0; i + 1 < list.length; i++) Object.assign(list[i]!, { next: list[i + 1] })
    const queue = srq ?? end.qp
    this.#post(() => queue.postRecv(list[0]!), code, planned[bad]?.receive.wrId)
  }

  /** Posts to the model, up to the first request that it refuses. */
  #predict(items: readonly { refused: boolean; post: () => boolean }[]): { bad: number; code: string | null } {
    for (const [i, { refused, post }] of items.entries()) {
      if (refused) return { bad: i, code: 'EINVAL or ENOMEM' }
      if (!post()) return { bad: i, code: 'ENOMEM' }
    }
    return { bad: -1, code: null }
  }

  #post(action: () => void, code: string | null, badWrId: number | undefined): void {
    let thrown: unknown = null
    try {
      action()
    } catch (error) {
      thrown = error
    }
    if (code === null) {
      if (thrown) throw thrown
      return
    }
    if (!(thrown instanceof VerbsError)) throw thrown ?? new Error(`the request with wrId ${badWrId} must be ${code}`)
    expect(code).toContain(thrown.code)
    expect((thrown.badWr as { wrId: number }).wrId, 'badWr').toBe(badWrId)
  }

  /** A place in an area, cut into elements. */
  #place(live: Live, where: 'source' | 'landing' | 'receive', size: number, cuts: readonly number[]): Range[] {
    if (live.next[where] + size > area) live.next[where] = 0
    const start = at[where] + live.next[where]
    // Requests that wait keep their places: an area holds more than a queue can.
    live.next[where] += size
    const edges = [0, ...cuts.map((cut) => Math.floor((cut * size) / 1000)).sort((x, y) => x - y), size]
    return edges.slice(1).map((edge, i) => ({ offset: start + edges[i]!, length: edge - edges[i]! }))
  }

  /** The region begins behind the guard. */
  #sge(mr: Live['mr'], { offset, length }: Range): Sge {
    return { addr: mr.addr + offset - guard, length, lkey: mr.lkey }
  }

  #fill({ end, model }: Live, offset: number, length: number, seed: number): void {
    for (let i = 0; i < length; i++) {
      const byte = (seed * 37 + i * 11 + (i >>> 8)) & 0xff
      end.buffer[offset + i] = byte
      model.memory[offset + i] = byte
    }
  }

  // --- polling -----------------------------------------------------------------------------------------------------

  #poll(live: Live, queue: 'send' | 'receive', batch: number): number {
    const cq = queue === 'send' ? live.end.sendCq : live.end.recvCq
    const n = cq.poll(this.#wc, batch)
    if (n < 0) throw new Error('the CQ overran')
    expect(n).toBeLessThanOrEqual(batch)
    for (let i = 0; i < n; i++) this.#match(live, copyOf(this.#wc[i]!))
    return n
  }

  #pollAll(): void {
    for (const live of this.#ends) for (const queue of ['send', 'receive'] as const) this.#poll(live, queue, 16)
  }

  /** Work request numbers of receives are odd. */
  #match({ end, model }: Live, got: Completion): void {
    const queue = got.wrId % 2 === 0 ? model.due.send : model.due.receive
    const expected = queue.shift()
    if (!expected) throw new Error(`a completion that is not due: ${JSON.stringify(got)}`)
    const { position, ...fields } = expected
    if (fields.status !== 'Success') {
      // Other fields are not valid then.
      expect({ wrId: got.wrId, status: got.status, qpNum: got.qpNum }).toEqual({
        wrId: fields.wrId,
        status: fields.status,
        qpNum: end.qp.qpNum,
      })
    } else {
      const keys = Object.keys(fields) as (keyof typeof fields)[]
      expect(Object.fromEntries(keys.map((key) => [key, got[key]]))).toEqual(fields satisfies Partial<Expected>)
    }
    if (position !== undefined) model.release(position)
  }

  /** Takes every completion that is due; then the memories are the same. */
  async #drain(): Promise<void> {
    const due = () => this.#ends.flatMap(({ model }) => [...model.due.send, ...model.due.receive])
    await this.#t
      .until('completion', () => {
        this.#pollAll()
        return due().length === 0
      })
      .catch((error: unknown) => {
        if (due().length === 0) throw error
        throw new Error(`lost: ${JSON.stringify(due().slice(0, 5))}`, { cause: error })
      })
    for (const [side, live] of this.#ends.entries()) {
      expect(nameOf(QpState, live.end.qp.state), `state of side ${side}`).toBe(live.model.state)
      this.#compareMemory(side, live)
    }
  }

  #differs(end: End, model: ModelEnd): number {
    const wild = model.wild.splice(0)
    const parts = model.parts.splice(0)
    if (this.#network) wild.push(...parts, ...model.arriving())
    // What the peer had outstanding when a connection broke may have been carried out, and nobody told it.
    if (this.#network && this.#ends.some(({ model: { state } }) => state !== 'Rts'))
      wild.push({ offset: at.remote, length: area })
    for (const range of wild) this.#accept({ end, model }, range)
    if (Buffer.compare(end.buffer, model.memory) === 0) return -1
    return end.buffer.findIndex((byte, i) => byte !== model.memory[i])
  }

  /** Takes what is in memory for what has to be there. */
  #accept({ end, model }: Pick<Live, 'end' | 'model'>, { offset, length }: { offset: number; length: number }): void {
    model.memory.set(end.buffer.subarray(offset, offset + length), offset)
  }

  #compareMemory(side: number, { end, model }: Live): void {
    const i = this.#differs(end, model)
    if (i < 0) return
    const where = Object.entries(at).findLast(([, start]) => i >= start)?.[0] ?? 'guard'
    throw new Error(
      `memory of side ${side} differs at ${i} (${i >= bytes - guard ? 'guard' : where}): ` +
        `${end.buffer[i]} instead of ${model.memory[i]}`,
    )
  }
}
