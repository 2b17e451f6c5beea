/**
 * Queue pairs: creation, the state machine, posting. The queues are rings in the segment, so that any thread that
 * imports the QP can post; a lock for each direction makes that safe.
 */

import { randomInt } from 'node:crypto'
import { checkInteger, checkObject, describe } from '../provider/arguments.ts'
import type { QpAttr, QpCap, QpModify, RecvWrInit, SendWrInit } from '../provider/attributes.ts'
import { MwType, nameOf, Opcode, QpState, QpType, SendFlag } from '../provider/constants.ts'
import type { FastPath } from '../provider/device.ts'
import { VerbsError } from '../provider/errors.ts'
import { isMulticastGid } from '../provider/gid.ts'
import { nameAgent, takeAgent } from '../provider/gsi-agents.ts'
import type { Host } from '../provider/host.ts'
import { Cq, Pd, Qp, qpEngine, Rwqe, Sg, Srq, Wqe } from '../provider/layout.ts'
import { retireQp } from '../provider/lifetime.ts'
import { joinMcastGroup, leaveMcastGroup } from '../provider/multicast.ts'
import type { MwBind } from '../provider/operations.ts'
import { assignQpNumber } from '../provider/qp-numbers.ts'
import { checkTransition, type QpAttrName } from '../provider/qp-state.ts'
import { createRecord, isStale, retiredRef } from '../provider/records.ts'
import { fillBind, incRkey, RecvWorkRequest, recvWr, SendWorkRequest, sendWr } from '../provider/work-request.ts'
import { WorkRequestBuilder } from './builder.ts'
import { CompletionQueueObject } from './completion-queue.ts'
import { Handle } from './handle.ts'
import type {
  CompletionQueue,
  Context,
  MemoryWindow,
  ProtectionDomain,
  QpHandle,
  QpInit,
  QpQuery,
  QueuePair,
  SharedReceiveQueue,
} from './objects.ts'
import { checkQpAttributes, readQpAttributes, storeQpAttributes } from './qp-attributes.ts'
import { reclaimSoon } from './reclaim-soon.ts'
import { badField, badFull, badGone, badSges, SendEntries } from './send-entries.ts'
import { writeReceive } from './shared-receive-queue.ts'

export const defaultCap: Readonly<QpCap> = {
  maxSendWr: 128,
  maxRecvWr: 128,
  maxSendSge: 1,
  maxRecvSge: 1,
  maxInlineData: 64,
}

/** Returns the executor of the requests of a QP, as in `qpEngine`. */
function engineOf(verb: string, { device, engine }: Context, hosted: boolean | undefined): number {
  if (hosted !== true) return engine === 'thread' ? qpEngine.thread : qpEngine.poster
  if (device.reachProcess === undefined || device.hosts === false || engine === 'thread')
    throw new VerbsError(
      'EOPNOTSUPP',
      verb,
      'a device hosts queue pairs that reaches memory of other processes, in a context without an engine thread',
    )
  return qpEngine.hosted
}

const powerOfTwo = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, n)))

export class QueuePairObject<T extends QpType = QpType> extends Handle implements QueuePair<T> {
  readonly pd: ProtectionDomain
  readonly type: T
  readonly qpNum: number
  readonly slot: number
  readonly ref: number
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  readonly srq: SharedReceiveQueue | null
  readonly cap: Readonly<QpCap>
  readonly qpContext: unknown
  readonly #owned: boolean
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #q: number
  readonly #entries: SendEntries
  /** `recvCq`, whose last completion determines how far the receive queue has been used. */
  readonly #polled: CompletionQueueObject
  readonly #fast: FastPath | null
  #builder: WorkRequestBuilder | null = null

  /** Use `pd.createQp` or `context.importQp`. */
  constructor(
    pd: ProtectionDomain,
    q: number,
    type: T,
    owned: boolean,
    init: Pick<QpInit<T>, 'sendCq' | 'recvCq' | 'srq' | 'qpContext'>,
  ) {
    super('QueuePair')
    this.pd = pd
    this.type = type
    this.slot = pd.context.device.host.qpSlot(q)
    this.sendCq = init.sendCq
    this.recvCq = init.recvCq
    this.#polled = init.recvCq as CompletionQueueObject
    this.srq = init.srq ?? null
    this.qpContext = init.qpContext
    this.#owned = owned
    this.#host = pd.context.device.host
    this.#i32 = this.#host.i32
    this.#f64 = this.#host.f64
    const i32 = this.#i32
    this.#q = q
    this.ref = i32[q + Qp.ref]!
    this.qpNum = i32[q + Qp.number]!
    this.#entries = new SendEntries(this.#host, q, type, pd.ref)
    this.#fast = pd.context.device.fastPath(q)
    this.cap = {
      maxSendWr: i32[q + Qp.maxSendWr]!,
      maxRecvWr: i32[q + Qp.maxRecvWr]!,
      maxSendSge: i32[q + Qp.maxSendSge]!,
      maxRecvSge: i32[q + Qp.maxRecvSge]!,
      maxInlineData: i32[q + Qp.maxInlineData]!,
    }
  }

  static create<T extends QpType>(pd: ProtectionDomain, init: QpInit<T>): QueuePair<T> {
    const verb = 'createQp'
    checkObject(verb, 'init', init)
    const { context } = pd
    const { host, attr, index } = context.device
    // IBA CA17-28: there are no raw datagrams.
    if (!Object.values(QpType).includes(init.type))
      throw new VerbsError('EINVAL', verb, `type must be QpType.RC, UC, UD or GSI, not ${describe(init.type)}`)
    for (const name of ['sendCq', 'recvCq'] as const) {
      const cq = init[name]
      if (!(cq instanceof CompletionQueueObject))
        throw new VerbsError('EINVAL', verb, `${name} must be a CompletionQueue`)
      cq.assertOpen(verb)
      if (cq.context !== context) throw new VerbsError('EINVAL', verb, `${name} belongs to another context`)
    }
    if (init.srq) {
      init.srq.assertOpen(verb)
      if (init.srq.pd.context !== context) throw new VerbsError('EINVAL', verb, 'srq belongs to another context')
    }
    const engine = engineOf(verb, context, init.hosted)
    const cap: QpCap = { ...defaultCap, ...init.cap }
    checkInteger(verb, 'cap.maxSendWr', cap.maxSendWr, 0, attr.maxQpWr)
    checkInteger(verb, 'cap.maxSendSge', cap.maxSendSge, 0, attr.maxSge)
    checkInteger(verb, 'cap.maxInlineData', cap.maxInlineData, 0, attr.maxInlineData)
    // With an SRQ the sizes of a receive queue are ignored.
    if (init.srq) Object.assign(cap, { maxRecvWr: 0, maxRecvSge: 0 })
    checkInteger(verb, 'cap.maxRecvWr', cap.maxRecvWr, 0, attr.maxQpWr)
    checkInteger(verb, 'cap.maxRecvSge', cap.maxRecvSge, 0, attr.maxSge)
    const sendSlots = powerOfTwo(cap.maxSendWr)
    const recvSlots = powerOfTwo(cap.maxRecvWr)
    const sendStride =
      Math.ceil((Wqe.data + Math.max(cap.maxSendSge * Sg.words, Math.ceil(cap.maxInlineData / 4))) / 16) * 16
    // Receives without memory, of which connections may post hundreds, take half of what the shortest others do.
    const recvStride = cap.maxRecvSge === 0 ? Rwqe.data : Math.ceil((Rwqe.data + cap.maxRecvSge * Sg.words) / 8) * 8
    const sendBytes = sendSlots * sendStride * 4
    const recvBytes = Math.ceil((recvSlots * recvStride * 4) / 64) * 64
    const { qpWords } = context.device
    const { i32 } = host
    let second = false
    const q = createRecord(host, 'qp', verb, sendBytes + recvBytes + qpWords * 4, (q, ring) => {
      // Looked at again: another thread may just now have destroyed one of them.
      for (const used of [pd, init.sendCq, init.recvCq, init.srq]) used?.assertOpen(verb)
      if (init.type === QpType.GSI) i32[q + Qp.agent] = takeAgent(host) + 1
      i32[q + Qp.type] = init.type
      i32[q + Qp.state] = QpState.Reset
      i32[q + Qp.device] = index
      i32[q + Qp.context] = context.slot
      i32[q + Qp.pd] = pd.slot
      i32[q + Qp.sendCq] = init.sendCq.slot
      i32[q + Qp.recvCq] = init.recvCq.slot
      i32[q + Qp.srq] = init.srq ? init.srq.slot : -1
      i32[q + Qp.sqSigAll] = init.sqSigAll ? 1 : 0
      i32[q + Qp.sqRing] = ring
      i32[q + Qp.sqMask] = sendSlots - 1
      i32[q + Qp.sqStride] = sendStride
      i32[q + Qp.rqRing] = ring + sendBytes / 4
      i32[q + Qp.rqMask] = recvSlots - 1
      i32[q + Qp.rqStride] = recvStride
      i32[q + Qp.wire] = ring + (sendBytes + recvBytes) / 4
      i32[q + Qp.maxSendWr] = cap.maxSendWr
      i32[q + Qp.maxRecvWr] = cap.maxRecvWr
      i32[q + Qp.maxSendSge] = cap.maxSendSge
      i32[q + Qp.maxRecvSge] = cap.maxRecvSge
      i32[q + Qp.maxInlineData] = cap.maxInlineData
      i32[q + Qp.owner] = host.segment.me
      i32[q + Qp.engine] = engine
      const cqs = [host.cqWord(init.sendCq.slot), host.cqWord(init.recvCq.slot)]
      second = cqs.some((cq) => i32[cq + Cq.producers] === 1 && i32[cq + Cq.crowded] === 0)
      for (const cq of cqs) {
        Atomics.add(i32, cq + Cq.refs, 1)
        Atomics.add(i32, cq + Cq.producers, 1)
      }
      if (init.srq) Atomics.add(i32, host.srqWord(init.srq.slot) + Srq.refs, 1)
      Atomics.add(i32, pd.word + Pd.qps, 1)
      assignQpNumber(host, host.qpSlot(q))
      if (init.type === QpType.GSI) nameAgent(host, q)
    })
    // A QP that was the only producer of one of these CQs is so no longer.
    if (second) {
      host.segment.bumpEpoch()
      host.segment.quiesce()
    }
    const qp = new QueuePairObject<T>(pd, q, init.type, true, init)
    context.adopt('qp', qp)
    return qp
  }

  get handle(): QpHandle {
    return { kind: 'qp', ref: this.ref, qpNum: this.qpNum, type: this.type }
  }

  protected override gone(): boolean {
    return isStale(this.#host, this.#q, this.ref)
  }

  get state(): QpState {
    return Atomics.load(this.#i32, this.#q + Qp.state) as QpState
  }

  // --- modify and query --------------------------------------------------------------------------------------------

  modify(attr: QpModify<T>): void {
    this.assertOpen('modify')
    checkObject('modify', 'attr', attr)
    const given = Object.keys(attr).filter(
      (name) => (attr as Record<string, unknown>)[name] !== undefined,
    ) as QpAttrName[]
    const values = attr as Partial<QpAttr>
    const host = this.#host
    const i32 = this.#i32
    const q = this.#q
    const from = this.state
    checkQpAttributes(this.pd.context.device, this.type, values)
    const to = values.state ?? from
    if (values.curState !== undefined && values.curState !== from)
      throw new VerbsError(
        'EINVAL',
        'modify',
        `curState is ${nameOf(QpState, values.curState)} but the QP is in ${nameOf(QpState, from)}`,
      )
    const wrong = checkTransition(
      this.type,
      from,
      to,
      given.filter((name) => name !== 'state'),
    )
    if (wrong) throw new VerbsError('EINVAL', 'modify', wrong)
    if (from === QpState.Sqd && to !== QpState.Err && to !== QpState.Reset && i32[q + Qp.sqDraining] === 1)
      throw new VerbsError('EINVAL', 'modify', 'the send queue is draining: wait for the SqDrained event')
    storeQpAttributes(this.pd.context.device, q, values)
    if (to === QpState.Reset) {
      this.#reset()
      return
    }
    if (to === QpState.Err) {
      const { device } = this.pd.context
      host.setState(q, QpState.Err)
      host.segment.quiesce()
      device.takeOver?.()
      host.flushBroken(this.ref)
      if (device.driven) {
        device.doorbell(q)
        device.settle()
      }
      return
    }
    const { segment } = host
    // A sender remembers its peer from RTR on, and itself from RTS on; of a peer in RTR what RTS may change is the access that it gives.
    const remembered = from >= QpState.Rtr && (from !== QpState.Rtr || values.accessFlags !== undefined)
    if (to === from || from < QpState.Rts) {
      // Errors may move the QP meanwhile; then they win. No thread can have posted a request before RTS.
      if (to !== from) Atomics.compareExchange(i32, q + Qp.state, from, to)
      if (remembered) segment.bumpEpoch()
      return
    }
    segment.bumpEpoch()
    host.lockSends(q)
    segment.enterNow()
    try {
      if (to === QpState.Sqd) {
        i32[q + Qp.sqDrainAt] = i32[q + Qp.sqHead]!
        i32[q + Qp.sqDraining] = 1
      }
      const moved = Atomics.compareExchange(i32, q + Qp.state, from, to) === from
      segment.bumpEpoch()
      if (moved && (to === QpState.Sqd || to === QpState.Rts)) this.pd.context.device.doorbell(q)
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
    this.pd.context.device.settle()
  }

  #reset(): void {
    const host = this.#host
    const { segment } = host
    const i32 = this.#i32
    const q = this.#q
    host.setState(q, QpState.Reset)
    segment.quiesce()
    // Work that a killed thread left unfinished belongs to the earlier state of the queue pair.
    this.pd.context.device.takeOver?.()
    host.stopWaiting(q)
    segment.lock(q + Qp.rqLock)
    i32[q + Qp.rqTail] = 0
    i32[q + Qp.rqHead] = 0
    i32[q + Qp.rqTailSeen] = 0
    i32[q + Qp.rqWaiting] = 0
    i32[q + Qp.lastWqe] = 0
    i32[q + Qp.commEst] = 0
    i32[q + Qp.localCommId] = 0
    segment.unlock(q + Qp.rqLock)
    host.lockSends(q)
    // Polling a completion of this QP gives entries of its send queue back: none may be left when the queue starts again.
    this.#purge()
    for (const word of [Qp.sqHead, Qp.sqNext, Qp.sqTail, Qp.pending, Qp.sqDraining, Qp.retriesLeft, Qp.rnrLeft])
      i32[q + word] = 0
    i32[q + Qp.executor] = 0
    i32.fill(0, i32[q + Qp.wire]!, i32[q + Qp.wire]! + this.pd.context.device.qpWords)
    segment.unlock(q + Qp.sqLock)
    // Completions polled before the purge do not apply to the receive queue that begins now.
    segment.bumpEpoch()
  }

  #purge(): void {
    const i32 = this.#i32
    const q = this.#q
    this.#host.purgeCompletions(this.#host.cqWord(i32[q + Qp.sendCq]!), this.qpNum)
    if (i32[q + Qp.recvCq] !== i32[q + Qp.sendCq])
      this.#host.purgeCompletions(this.#host.cqWord(i32[q + Qp.recvCq]!), this.qpNum)
  }

  query(): QpQuery<T> {
    this.assertOpen('query')
    const i32 = this.#i32
    const q = this.#q
    return {
      attr: readQpAttributes(i32, q),
      initAttr: {
        type: this.type,
        cap: { ...this.cap },
        sqSigAll: i32[q + Qp.sqSigAll] === 1,
        sendCq: this.sendCq,
        recvCq: this.recvCq,
        srq: this.srq,
      },
    }
  }

  // --- posting -----------------------------------------------------------------------------------------------------

  postSend(wr: SendWorkRequest | SendWrInit<T>): void {
    let request: SendWorkRequest | null = wr instanceof SendWorkRequest ? wr : sendWr(wr)
    const fast = this.#fast
    if (fast !== null) {
      while (fast.post(request)) {
        if (!request.next) return
        request = request.next
      }
    }
    const entries = this.#entries
    const i32 = this.#i32
    const q = this.#q
    const host = this.#host
    const { segment } = host
    this.assertOpen('postSend')
    // IBA C10-96: before RTS a request is an immediate error.
    if (i32[q + Qp.state]! < QpState.Rts)
      throw this.#bad(
        request,
        'EINVAL',
        `the QP is in ${nameOf(QpState, this.state)}; sends are posted from RTS on (modify it first)`,
      )
    host.lockSends(q)
    segment.enterNow()
    let failed = 0
    try {
      if (i32[q + Qp.ref] !== this.ref || i32[q + Qp.state]! < QpState.Rts) failed = badGone
      else {
        let head = i32[q + Qp.sqHead]!
        try {
          do {
            if (((head - i32[q + Qp.sqTail]!) | 0) >= entries.maxSendWr) {
              failed = badFull
              break
            }
            failed = entries.write(entries.entry(head), request)
            if (failed !== 0) break
            head = (head + 1) | 0
            request = request.next
          } while (request)
        } catch {
          failed = badField
        }
        // The thread that drives the device reads the queue without its lock.
        segment.publish(q + Qp.sqHead, head)
        this.pd.context.device.doorbell(q)
        if (fast !== null) fast.prepare()
      }
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
    this.pd.context.device.settle()
    if (failed !== 0)
      throw this.#bad(request!, failed === badFull ? 'ENOMEM' : 'EINVAL', entries.reason(failed, request!))
  }

  #bad(wr: SendWorkRequest | RecvWorkRequest, code: 'EINVAL' | 'ENOMEM', message: string): VerbsError {
    const error = new VerbsError(code, wr instanceof SendWorkRequest ? 'postSend' : 'postRecv', message)
    error.badWr = wr
    return error
  }

  postRecv(wr: RecvWorkRequest | RecvWrInit): void {
    const i32 = this.#i32
    const q = this.#q
    const { segment } = this.#host
    let request: RecvWorkRequest | null = wr instanceof RecvWorkRequest ? wr : recvWr(wr)
    this.assertOpen('postRecv')
    if (this.srq !== null) throw this.#bad(request, 'EINVAL', 'this QP receives from its SRQ: post there')
    // IBA list-64: receives are posted from INIT on.
    if (i32[q + Qp.state] === QpState.Reset)
      throw this.#bad(request, 'EINVAL', 'the QP is in Reset; receives are posted from INIT on (modify it first)')
    const { maxRecvWr, maxRecvSge } = this.cap
    const ring = i32[q + Qp.rqRing]!
    const mask = i32[q + Qp.rqMask]!
    const stride = i32[q + Qp.rqStride]!
    let failed = 0
    segment.enter()
    try {
      segment.lock(q + Qp.rqPostLock)
      try {
        let head = i32[q + Qp.rqHead]!
        if (i32[q + Qp.ref] !== this.ref) failed = badGone
        while (failed === 0 && request !== null) {
          if (((head - i32[q + Qp.rqTailSeen]!) | 0) >= maxRecvWr)
            i32[q + Qp.rqTailSeen] = this.#polled.used(this.qpNum, i32[q + Qp.rqTailSeen]!)
          if (((head - i32[q + Qp.rqTailSeen]!) | 0) >= maxRecvWr)
            i32[q + Qp.rqTailSeen] = Atomics.load(i32, q + Qp.rqTail)
          if (((head - i32[q + Qp.rqTailSeen]!) | 0) >= maxRecvWr) failed = badFull
          else if (request.sgList.length > maxRecvSge) failed = badSges
          if (failed !== 0) break
          writeReceive(i32, this.#f64, ring + (head & mask) * stride, request)
          head = (head + 1) | 0
          segment.publish(q + Qp.rqHead, head)
          request = request.next
        }
      } catch {
        failed = badField
      }
      // An atomic store, and the atomic loads below: a sender that has put itself to sleep looks for receives again, or this sees that it waits.
      Atomics.store(i32, q + Qp.rqPostLock, 0)
    } finally {
      segment.leave()
    }
    if (failed === badGone) throw this.closedError('postRecv')
    if (Atomics.load(i32, q + Qp.rqWaiting) !== 0) {
      const waiting = Atomics.exchange(i32, q + Qp.rqWaiting, 0)
      if (waiting !== 0) this.pd.context.device.resume(waiting - 1)
    }
    if (Atomics.load(i32, q + Qp.state) === QpState.Err) {
      segment.quiesce()
      this.#host.flushBroken(this.ref)
    }
    if (failed !== 0) {
      let reason = `the receive queue is full with ${maxRecvWr} requests`
      if (failed === badField) reason = 'a field of the work request has a value of the wrong type'
      else if (failed === badSges)
        reason = `${request!.sgList.length} scatter/gather elements are more than cap.maxRecvSge ${maxRecvSge}`
      throw this.#bad(request!, failed === badFull ? 'ENOMEM' : 'EINVAL', reason)
    }
  }

  bindMw(mw: MemoryWindow, info: MwBind, options: { wrId?: number; sendFlags?: number } = {}): void {
    checkObject('bindMw', 'mw', mw)
    checkObject('bindMw', 'info', info)
    checkObject('bindMw', 'info.mr', info.mr)
    checkObject('bindMw', 'options', options)
    if (mw.type !== MwType.Type1)
      throw new VerbsError('EINVAL', 'bindMw', 'bind a window of type 2 with a BindMw work request')
    const wr = new SendWorkRequest(options.wrId ?? 0, Opcode.BindMw, options.sendFlags ?? SendFlag.Signaled, [])
    const rkey = incRkey(mw.rkey)
    fillBind(wr, mw, rkey, info.mr.lkey, info.addr, info.length, info.accessFlags, 'bindMw')
    this.postSend(wr)
    mw.rkey = rkey
  }

  get wr(): WorkRequestBuilder {
    this.#builder ??= new WorkRequestBuilder((wr) => this.postSend(wr))
    return this.#builder
  }

  // --- multicast ---------------------------------------------------------------------------------------------------

  attachMcast(gid: Uint8Array, lid = 0, sgidIndex = -1): void {
    this.#checkMcast('attachMcast', gid, lid)
    const { device } = this.pd.context
    // First, since it may fail, and a thread that ends leaves only the groups that are in the table.
    device.joinGroup(gid, sgidIndex)
    try {
      joinMcastGroup(this.#host, this.#q, gid, device.attr.maxMcastQpAttach, () => this.assertOpen('attachMcast'))
    } catch (error) {
      device.leaveGroup(gid)
      throw error
    }
  }

  detachMcast(gid: Uint8Array, lid = 0): void {
    this.#checkMcast('detachMcast', gid, lid)
    const found = leaveMcastGroup(this.#host, this.#q, gid)
    if (!found) throw new VerbsError('EINVAL', 'detachMcast', 'this QP is not attached to the group')
    this.pd.context.device.leaveGroup(gid)
  }

  #checkMcast(verb: string, gid: Uint8Array, lid: number): void {
    this.assertOpen(verb)
    if (this.type !== QpType.UD) throw new VerbsError('EINVAL', verb, 'only UD QPs receive multicast')
    if (!(gid instanceof Uint8Array) || gid.length !== 16 || !isMulticastGid(gid))
      throw new VerbsError(
        'EINVAL',
        verb,
        'gid must be the 16 bytes of a multicast GID: ff…, or ::ffff:224.0.0.0 and above',
      )
    checkInteger(verb, 'lid', lid, 0, 0xffff)
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  close(): void {
    if (this.endsImport(this.#owned)) return
    this.#end()
    // Nothing writes to the memory of its receives any more.
    this.#host.segment.quiesce()
  }

  discard(): void {
    if (!this.endsImport(this.#owned)) this.#end()
  }

  get reclaimed(): boolean {
    const i32 = this.#i32
    // The record has another reference from `retire` on, and no number once it is free.
    return i32[this.#q + Qp.number] === 0 || i32[this.#q + Qp.ref] !== retiredRef(this.ref)
  }

  #end(): void {
    this.assertOpen('close')
    const mcast = this.#i32[this.#q + Qp.mcastRefs]!
    if (mcast > 0)
      throw new VerbsError('EBUSY', 'close', `the QP is attached to ${mcast} multicast groups: detach it first`)
    const { device } = this.pd.context
    device.acknowledge?.(this.#q)
    this.markClosed()
    retireQp(this.#host, this.#q)
    this.pd.context.disown('qp', this)
    reclaimSoon(this.#host)
  }
}

/** A random 24-bit packet sequence number. */
export function randomPsn(): number {
  return randomInt(0, 1 << 24)
}
