/**
 * One end of a replay: it performs its messages when they are due, and records the times. In a closed loop a message is due some time
 * after the event that it waited for in the capture has happened here; in an open loop it is due at its time, whatever happens.
 *
 * Messages of a connection are posted in their order, so that the receiving end can predict the next one.
 */
import {
  Access,
  type CompletionQueue,
  type Context,
  grhLength,
  nowNs,
  PathMtus,
  QpType,
  randomPsn,
  recvWr,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import type { Wait } from '../../replay/index.ts'
import { type LocalPort, UsageError } from '../kit/index.ts'
import { type Endpoint, Lane, regionBytesOf, slotBytes } from './lane.ts'
import type { Plan, PlannedMessage } from './plan.ts'

export interface Performed {
  id: number
  /** Times in nanoseconds after the start. `dueNs`: when it should have been posted. `doneNs`: null if it failed. */
  dueNs: number
  atNs: number
  doneNs: number | null
}

export interface EndReport {
  performed: Performed[]
  /** Number of completions of messages of the other end, and their bytes. */
  received: { messages: number; bytes: number }
  /** Number of WRITEs without immediate of the other end that were seen. */
  seenWrites: number
  /** Number of messages whose size differs from the capture. */
  wrongSizes: number
  /** Number of expected messages that never arrived: UC and UD lose messages. */
  lost: number
  /** Number of messages posted although the event that they waited for had not happened. */
  impatient: number
  /** Number of requests that failed or were not posted, since their connection had failed. */
  failed: number
  /** Description of the first failure. */
  failure: string | null
}

const receiveId = 2 ** 40
const qpTypes = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const
const mostReceives = 256
const longestMemory = 2 ** 30
const batch = 64

export class ReplayEnd {
  readonly #context: Context
  readonly #plan: Plan
  readonly #side: 0 | 1
  readonly #local: LocalPort
  readonly #cq: CompletionQueue
  readonly #lanes: Lane[] = []
  readonly #objects: { close(): void }[] = []
  readonly #endpoints: Endpoint[] = []
  readonly #wcs: WorkCompletion[] = workCompletions(batch)
  readonly #laneOf = new Map<number, Lane>()
  /** Messages of this end by the event that they wait for. */
  readonly #waiting = new Map<string, PlannedMessage[]>()
  readonly #dueNs = new Map<number, number>()
  readonly #performed = new Map<number, Performed>()
  readonly #report: EndReport
  /** Number of receives of each queue pair. */
  readonly #receives: number
  #startNs = 0
  /** Times of the last event, or of one that was imminent; of the last action of this end; of its next one, as far as it is known. */
  #progressNs = 0
  #busyNs = 0
  #nextNs = 0

  /** @param side 0 performs the messages with `from: 0`. Throws UsageError if it needs more memory than there is. */
  constructor(context: Context, plan: Plan, side: 0 | 1, local: LocalPort) {
    this.#context = context
    this.#plan = plan
    this.#side = side
    this.#local = local
    const counts = { received: { messages: 0, bytes: 0 }, seenWrites: 0, wrongSizes: 0, lost: 0, impatient: 0 }
    this.#report = { performed: [], ...counts, failed: 0, failure: null }
    const most = context.queryDevice().maxCqe
    const receives = Math.min(mostReceives, Math.max(2, Math.floor(most / plan.connections.length) - plan.depth))
    this.#cq = context.createCq(Math.min(most, plan.connections.length * (plan.depth + receives)), {
      singleThreaded: true,
    })
    this.#receives = receives
    this.#make(receives)
    for (const message of plan.messages) if (message.from === side) this.#expect(message)
  }

  get endpoints(): readonly Endpoint[] {
    return this.#endpoints
  }

  connect(remotes: readonly Endpoint[]): void {
    for (const [i, lane] of this.#lanes.entries()) {
      const { mtu } = this.#plan.connections[i]!
      const { activeMtu } = this.#local
      lane.connect(
        this.#local,
        remotes[i]!,
        PathMtus.find((known) => known === mtu && mtu <= activeMtu) ?? (activeMtu as never),
      )
    }
  }

  /** Performs all messages; returns when all are done or nothing more arrives. */
  async run(signal: AbortSignal): Promise<EndReport> {
    // This loop is compiled before the first message is due.
    this.#startNs = this.#progressNs = nowNs() + settleNs
    let turnNs = nowNs()
    while (!signal.aborted && !this.#lanes.every((lane) => lane.complete)) {
      const worked = this.#poll() + this.#look() + this.#post()
      const now = nowNs()
      if (worked > 0) this.#progressNs = this.#busyNs = now
      else if (now - this.#progressNs > this.#plan.stallMs * 1e6 && !this.#stalled(now)) break
      if (now - turnNs < turnEveryNs) {
        // The other end, or the thread of an adapter, may need this core.
        if (now - this.#busyNs > politeAfterNs && this.#nextNs - now > politeAfterNs) Atomics.wait(sleeper, 0, 0, 0.02)
        continue
      }
      await new Promise((resolve) => setImmediate(resolve))
      turnNs = nowNs()
    }
    return this.#finish()
  }

  close(): void {
    for (const lane of this.#lanes) lane.close()
    for (const object of this.#objects.reverse()) object.close()
    this.#cq.close()
  }

  #make(receives: number): void {
    const { connections, messages, depth } = this.#plan
    const sent: PlannedMessage[][] = connections.map(() => [])
    const expected: PlannedMessage[][] = connections.map(() => [])
    for (const message of messages) (message.from === this.#side ? sent : expected)[message.connection]!.push(message)
    const longest = (of: readonly PlannedMessage[]): number => of.reduce((max, { bytes }) => Math.max(max, bytes), 8)
    const up = (bytes: number): number => Math.ceil(bytes / 64) * 64
    const sourceBytes = up(longest(sent.flat()))
    const sinkBytes = up(Math.max(longest(sent.flat()), grhLength + longest(expected.flat())))
    const regions = expected.map(regionBytesOf)
    const laneBytes = regions.map((bytes) => up(bytes) + depth * slotBytes)
    const total = sourceBytes + sinkBytes + laneBytes.reduce((sum, bytes) => sum + bytes, 0)
    if (total > longestMemory)
      throw new UsageError(
        'messages',
        `they need ${total} bytes of memory, more than 1 GiB: --filter or a shorter capture`,
      )
    const pd = this.#context.allocPd()
    const bytes = this.#context.alloc(total).fill(0)
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, total >> 2)
    const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
    const mr = pd.regMr(bytes, access)
    this.#objects.push(pd, mr)
    const sink = mr.addr + sourceBytes
    let at = sourceBytes + sinkBytes
    for (const [i, { type }] of connections.entries()) {
      const regionBytes = regions[i]!
      const slots = at + up(regionBytes)
      const memory = {
        lkey: mr.lkey,
        source: mr.addr,
        sink,
        region: mr.addr + at,
        words,
        counterWord: (at + regionBytes) / 4 - 1,
        slots: mr.addr + slots,
        slotWord: slots / 4,
      }
      const cap = { maxSendWr: depth, maxRecvWr: receives, maxSendSge: 2, maxRecvSge: 1, maxInlineData: 0 }
      const qp = pd.createQp({ type: qpTypes[type], sendCq: this.#cq, recvCq: this.#cq, cap })
      const receive = recvWr({ wrId: receiveId, sgList: [{ addr: sink, length: sinkBytes, lkey: mr.lkey }] })
      const lane = new Lane(type, qp, randomPsn(), sent[i]!, expected[i]!, memory, receive, depth)
      this.#lanes.push(lane)
      this.#laneOf.set(qp.qpNum, lane)
      const { lid, gid } = this.#local
      this.#endpoints.push({ qpn: qp.qpNum, psn: lane.psn, lid, gid, addr: memory.region, rkey: mr.rkey })
      at += laneBytes[i]!
    }
  }

  /** Posts receives of all connections, once they are connected. */
  prepare(): void {
    for (const lane of this.#lanes)
      for (let i = 0; i < Math.min(this.#receives, lane.incoming.length); i++) lane.qp.postRecv(lane.receive)
  }

  #expect(message: PlannedMessage): void {
    const { id, after, wait, atNs } = message
    if (this.#plan.mode === 'open' || after === null || wait === null) {
      this.#dueNs.set(id, atNs / this.#plan.speed)
      return
    }
    const key = `${wait} ${after}`
    const others = this.#waiting.get(key)
    if (others === undefined) this.#waiting.set(key, [message])
    else others.push(message)
  }

  #happened(wait: Wait, id: number, now: number): void {
    const waiting = this.#waiting.get(`${wait} ${id}`)
    if (waiting === undefined) return
    for (const message of waiting) this.#dueNs.set(message.id, now - this.#startNs + message.thinkNs / this.#plan.speed)
  }

  #poll(): number {
    const n = this.#cq.poll(this.#wcs)
    const now = nowNs()
    for (let i = 0; i < n; i++) {
      const wc = this.#wcs[i]!
      const lane = this.#laneOf.get(wc.qpNum)!
      if (wc.wrId === receiveId) this.#received(lane, wc, now)
      else this.#sent(lane, wc, now)
    }
    return Math.max(0, n)
  }

  #sent(lane: Lane, wc: WorkCompletion, now: number): void {
    lane.outstanding--
    if (wc.status !== WcStatus.Success) {
      this.#fail(lane, `a request ended with ${wc.statusText}`)
      return
    }
    this.#performed.get(wc.wrId)!.doneNs = now - this.#startNs
    this.#happened('completed', wc.wrId, now)
  }

  #received(lane: Lane, wc: WorkCompletion, now: number): void {
    if (wc.status !== WcStatus.Success) {
      if (wc.status !== WcStatus.WrFlushErr) this.#fail(lane, `a receive ended with ${wc.statusText}`)
      return
    }
    const report = this.#report
    const bytes = lane.type === 'UD' ? wc.byteLen - grhLength : wc.byteLen
    report.received.messages++
    report.received.bytes += bytes
    lane.qp.postRecv(lane.receive)
    const { incoming } = lane
    // Messages that UC and UD have lost are skipped: the arrival is taken for the next one of its size.
    if (lane.type !== 'RC' && incoming[lane.arrived]?.bytes !== bytes) {
      const next = incoming.findIndex((message, i) => i > lane.arrived && message.bytes === bytes)
      if (next > 0) {
        report.lost += next - lane.arrived
        lane.arrived = next
      }
    }
    const message = incoming[lane.arrived]
    if (message?.bytes !== bytes || (wc.opcode === WcOpcode.RecvRdmaWithImm) !== (message.op === 'write_with_imm'))
      report.wrongSizes++
    if (message === undefined) return
    lane.arrived++
    this.#happened('received', message.id, now)
  }

  /** Looks for WRITEs without immediate. */
  #look(): number {
    let count = 0
    for (const lane of this.#lanes) {
      const seen = lane.look()
      for (; lane.seen < seen; count++) {
        this.#report.seenWrites++
        this.#happened('received', lane.writes[lane.seen++]!.id, nowNs())
      }
    }
    return count
  }

  #post(): number {
    let count = 0
    this.#nextNs = Number.POSITIVE_INFINITY
    for (const lane of this.#lanes) {
      while (lane.hasRoom) {
        const dueNs = this.#dueNs.get(lane.outgoing[lane.posted]!.id)
        if (dueNs === undefined) break
        const now = nowNs()
        if (now - this.#startNs < dueNs) {
          // The message waits only for its time.
          this.#progressNs = now
          this.#nextNs = Math.min(this.#nextNs, this.#startNs + dueNs)
          break
        }
        const { id } = lane.post()
        this.#performed.set(id, { id, dueNs, atNs: now - this.#startNs, doneNs: null })
        this.#happened('sent', id, now)
        count++
      }
    }
    return count
  }

  /** Handles a long time without an event: messages no longer wait for events. Returns false if no message is left to send. */
  #stalled(now: number): boolean {
    let any = false
    for (const lane of this.#lanes) {
      if (!lane.hasRoom) continue
      this.#dueNs.set(lane.outgoing[lane.posted]!.id, now - this.#startNs)
      this.#report.impatient++
      any = true
    }
    this.#progressNs = now
    return any
  }

  #fail(lane: Lane, what: string): void {
    lane.failed = true
    this.#report.failure ??= what
  }

  #finish(): EndReport {
    const report = this.#report
    report.performed = [...this.#performed.values()]
    const done = report.performed.filter(({ doneNs }) => doneNs !== null).length
    for (const lane of this.#lanes) {
      report.failed += lane.outgoing.length
      report.lost += lane.incoming.length - lane.arrived + lane.writes.length - lane.seen
    }
    report.failed -= done
    return report
  }
}

/** Nanoseconds from the request to start until the first message is due. */
const settleNs = 50e6
/** Time without work, before and ahead, after which a thread sleeps for a moment. */
const politeAfterNs = 1e5
const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Maximum time for which the event loop may have to wait. */
const turnEveryNs = 1e6
