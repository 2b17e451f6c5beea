/**
 * Queue pairs: creation, the state machine, posting. The queues are rings in the segment, so that any thread that
 * imports the QP can post; a lock for each direction makes that safe.
 */

import { randomInt } from 'node:crypto'
import { checkInteger, checkObject, describe } from '../provider/arguments.ts'
import type { MwBind, QpAttr, QpCap, QpModify, RecvWrInit, SendWrInit } from '../provider/attributes.ts'
import { Access, MwType, nameOf, Opcode, PathMtus, QpState, QpType, SendFlag } from '../provider/constants.ts'
import type { FastPath } from '../provider/device.ts'
import { VerbsError } from '../provider/errors.ts'
import { isMulticastGid, sameGid, writeGid } from '../provider/gid.ts'
import { nameAgent, takeAgent } from '../provider/gsi.ts'
import type { Host } from '../provider/host.ts'
import { Cq, Mcast, Meta, maxMcastEntries, Pd, Qp, Rwqe, Sg, Srq, Wqe } from '../provider/layout.ts'
import { destroyQp } from '../provider/lifetime.ts'
import { assignQpNumber } from '../provider/qp-numbers.ts'
import { checkTransition, type QpAttrName } from '../provider/qp-state.ts'
import { createRecord, isStale } from '../provider/records.ts'
import { fillBind, incRkey, RecvWorkRequest, recvWr, SendWorkRequest, sendWr } from '../provider/work-request.ts'
import { checkAhAttr, readAv, writeAv } from './address.ts'
import { WorkRequestBuilder } from './builder.ts'
import { CompletionQueueObject } from './completion-queue.ts'
import { Handle } from './handle.ts'
import type {
  AddressHandle,
  CompletionQueue,
  MemoryWindow,
  ProtectionDomain,
  QpHandle,
  QpInit,
  QpQuery,
  QueuePair,
  SharedReceiveQueue,
} from './objects.ts'
import { writeReceive } from './shared-receive-queue.ts'

/** Bit of each opcode that a QP type can carry out. */
const bit = (...opcodes: Opcode[]): number => opcodes.reduce<number>((mask, opcode) => mask | (1 << opcode), 0)
const ucOps = bit(
  Opcode.Send,
  Opcode.SendWithImm,
  Opcode.SendWithInv,
  Opcode.Write,
  Opcode.WriteWithImm,
  Opcode.LocalInv,
  Opcode.BindMw,
)
const legalOpcodes: Readonly<Record<QpType, number>> = {
  [QpType.RC]:
    ucOps | bit(Opcode.Read, Opcode.AtomicCmpAndSwp, Opcode.AtomicFetchAndAdd, Opcode.Flush, Opcode.AtomicWrite),
  [QpType.UC]: ucOps,
  [QpType.UD]: bit(Opcode.Send, Opcode.SendWithImm),
  [QpType.GSI]: bit(Opcode.Send),
}
/** Opcodes that may carry their payload inline. */
const inlineOpcodes = bit(
  Opcode.Send,
  Opcode.SendWithImm,
  Opcode.SendWithInv,
  Opcode.Write,
  Opcode.WriteWithImm,
  Opcode.AtomicWrite,
)

export const defaultCap: Readonly<QpCap> = {
  maxSendWr: 128,
  maxRecvWr: 128,
  maxSendSge: 1,
  maxRecvSge: 1,
  maxInlineData: 64,
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
  readonly #sqRing: number
  readonly #sqMask: number
  readonly #sqStride: number
  readonly #maxSendWr: number
  readonly #maxSendSge: number
  readonly #legal: number
  readonly #datagram: boolean
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
    this.#sqRing = i32[q + Qp.sqRing]!
    this.#sqMask = i32[q + Qp.sqMask]!
    this.#sqStride = i32[q + Qp.sqStride]!
    this.#maxSendWr = i32[q + Qp.maxSendWr]!
    this.#maxSendSge = i32[q + Qp.maxSendSge]!
    this.#legal = legalOpcodes[type]
    this.#datagram = type === QpType.UD || type === QpType.GSI
    this.#fast = pd.context.device.fastPath(q)
    this.cap = {
      maxSendWr: this.#maxSendWr,
      maxRecvWr: i32[q + Qp.maxRecvWr]!,
      maxSendSge: this.#maxSendSge,
      maxRecvSge: i32[q + Qp.maxRecvSge]!,
      maxInlineData: i32[q + Qp.maxInlineData]!,
    }
  }

  static create<T extends QpType>(pd: ProtectionDomain, init: QpInit<T>): QueuePair<T> {
    const verb = 'createQp'
    checkObject(verb, 'init', init)
    const { context } = pd
    const { host, attr, index } = context.device
    if (!Object.values(QpType).includes(init.type))
      throw new VerbsError(
        'EINVAL',
        verb,
        `type must be QpType.RC, UC, UD or GSI; ${describe(init.type)} is not supported`,
      )
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
    const cap: QpCap = { ...defaultCap, ...init.cap }
    checkInteger(verb, 'cap.maxSendWr', cap.maxSendWr, 0, attr.maxQpWr)
    checkInteger(verb, 'cap.maxRecvWr', cap.maxRecvWr, 0, attr.maxQpWr)
    checkInteger(verb, 'cap.maxSendSge', cap.maxSendSge, 0, attr.maxSge)
    checkInteger(verb, 'cap.maxRecvSge', cap.maxRecvSge, 0, attr.maxSge)
    checkInteger(verb, 'cap.maxInlineData', cap.maxInlineData, 0, attr.maxInlineData)
    if (init.srq) cap.maxRecvWr = 0
    const sendSlots = powerOfTwo(cap.maxSendWr)
    const recvSlots = powerOfTwo(cap.maxRecvWr)
    const sendStride =
      Math.ceil((Wqe.data + Math.max(cap.maxSendSge * Sg.words, Math.ceil(cap.maxInlineData / 4))) / 16) * 16
    const recvStride = Math.ceil((Rwqe.data + cap.maxRecvSge * Sg.words) / 8) * 8
    const sendBytes = sendSlots * sendStride * 4
    const recvBytes = Math.ceil((recvSlots * recvStride * 4) / 64) * 64
    const { qpWords } = context.device
    const { i32 } = host
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
      i32[q + Qp.engine] = context.engine === 'thread' ? 1 : 0
      Atomics.add(i32, host.cqWord(init.sendCq.slot) + Cq.refs, 1)
      Atomics.add(i32, host.cqWord(init.recvCq.slot) + Cq.refs, 1)
      if (init.srq) Atomics.add(i32, host.srqWord(init.srq.slot) + Srq.refs, 1)
      Atomics.add(i32, pd.word + Pd.qps, 1)
      assignQpNumber(host, host.qpSlot(q))
      if (init.type === QpType.GSI) nameAgent(host, q)
    })
    // Whoever was the only producer of one of these CQs is so no longer.
    host.segment.bumpEpoch()
    host.segment.quiesce()
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
    this.#checkValues(values)
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
    this.#store(values)
    if (to === QpState.Reset) {
      this.#reset()
      return
    }
    if (to === QpState.Err) {
      host.setState(q, QpState.Err)
      host.segment.quiesce()
      host.flushBroken(this.ref)
      const { device } = this.pd.context
      if (device.driven) {
        device.doorbell(q)
        device.settle()
      }
      return
    }
    const { segment } = host
    segment.bumpEpoch()
    if (to === from) return
    host.lockSends(q)
    segment.enterNow()
    try {
      if (to === QpState.Sqd) {
        i32[q + Qp.sqDrainAt] = i32[q + Qp.sqHead]!
        i32[q + Qp.sqDraining] = 1
      }
      // Errors may have moved the QP meanwhile; then they win.
      const moved = Atomics.compareExchange(i32, q + Qp.state, from, to) === from
      segment.bumpEpoch()
      if (moved && (to === QpState.Sqd || to === QpState.Rts)) this.pd.context.device.doorbell(q)
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
    this.pd.context.device.settle()
  }

  #checkValues(values: Partial<QpAttr>): void {
    const { device } = this.pd.context
    const range = (name: QpAttrName, max: number): void => {
      if (values[name] !== undefined) checkInteger('modify', name, values[name], 0, max)
    }
    if (values.state !== undefined) checkInteger('modify', 'state', values.state, 0, QpState.Err)
    range('pkeyIndex', device.pkeys.length - 1)
    range('altPkeyIndex', device.pkeys.length - 1)
    range('rqPsn', 0xffffff)
    range('sqPsn', 0xffffff)
    range('destQpNum', 0xffffff)
    range('maxRdAtomic', device.attr.maxQpInitRdAtom)
    range('maxDestRdAtomic', device.attr.maxQpRdAtom)
    range('minRnrTimer', 31)
    range('timeout', 31)
    range('altTimeout', 31)
    range('retryCnt', 7)
    range('rnrRetry', 7)
    range('qkey', 0xffffffff)
    range('pathMigState', 2)
    range(
      'accessFlags',
      Access.LocalWrite |
        Access.RemoteWrite |
        Access.RemoteRead |
        Access.RemoteAtomic |
        Access.FlushGlobal |
        Access.FlushPersistent,
    )
    for (const name of ['port', 'altPort'] as const) {
      if (values[name] !== undefined) checkInteger('modify', name, values[name], 1, device.attr.physPortCnt)
    }
    if (values.pathMtu !== undefined) {
      if (!PathMtus.includes(values.pathMtu))
        throw new VerbsError(
          'EINVAL',
          'modify',
          `pathMtu must be one of ${PathMtus.join(', ')} bytes, not ${describe(values.pathMtu)}`,
        )
      if (values.pathMtu > device.port.activeMtu)
        throw new VerbsError(
          'EINVAL',
          'modify',
          `pathMtu ${values.pathMtu} is more than the port's active MTU of ${device.port.activeMtu}`,
        )
    }
    if (values.ah !== undefined) checkAhAttr('modify', 'ah', device, values.ah)
    if (values.altAh !== undefined) checkAhAttr('modify', 'altAh', device, values.altAh)
    if (values.qkey !== undefined && values.qkey >= 0x80000000 && this.type !== QpType.GSI)
      throw new VerbsError('EPERM', 'modify', 'Q_Keys with the highest bit set are for privileged consumers')
  }

  #store(values: Partial<QpAttr>): void {
    const i32 = this.#i32
    const q = this.#q
    for (const name of plainAttributes) {
      const value = values[name]
      if (value !== undefined) i32[q + Qp[name]] = value as number
    }
    if (values.enSqdAsyncNotify !== undefined) i32[q + Qp.sqDrainNotify] = values.enSqdAsyncNotify ? 1 : 0
    const { device } = this.pd.context
    if (values.ah !== undefined) {
      i32[q + Qp.destDevice] = device.route(values.ah)
      writeAv(i32, q + Qp.av, values.ah, i32[q + Qp.destDevice]!)
    }
    if (values.altAh !== undefined) writeAv(i32, q + Qp.altAv, values.altAh, device.route(values.altAh))
    if (values.destQpNum !== undefined) i32[q + Qp.destSlot] = 0
  }

  #reset(): void {
    const host = this.#host
    const { segment } = host
    const i32 = this.#i32
    const q = this.#q
    host.setState(q, QpState.Reset)
    segment.quiesce()
    host.stopWaiting(q)
    segment.lock(q + Qp.rqLock)
    i32[q + Qp.rqTail] = 0
    i32[q + Qp.rqHead] = 0
    i32[q + Qp.rqTailSeen] = 0
    i32[q + Qp.rqWaiting] = 0
    i32[q + Qp.lastWqe] = 0
    segment.unlock(q + Qp.rqLock)
    host.lockSends(q)
    // Polling a completion of this QP gives places of its send queue back: none may be left when the queue begins anew.
    this.#purge()
    for (const word of [Qp.sqHead, Qp.sqNext, Qp.sqTail, Qp.pending, Qp.sqDraining, Qp.retriesLeft, Qp.rnrLeft])
      i32[q + word] = 0
    i32.fill(0, i32[q + Qp.wire]!, i32[q + Qp.wire]! + this.pd.context.device.qpWords)
    segment.unlock(q + Qp.sqLock)
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
    const attr = {
      state: this.state,
      curState: this.state,
      enSqdAsyncNotify: i32[q + Qp.sqDrainNotify] === 1,
      ah: readAv(i32, q + Qp.av),
      altAh: readAv(i32, q + Qp.altAv),
    } as Record<string, unknown>
    for (const name of plainAttributes) attr[name] = name === 'qkey' ? i32[q + Qp.qkey]! >>> 0 : i32[q + Qp[name]]!
    return {
      attr: attr as unknown as QpAttr,
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
    const i32 = this.#i32
    const q = this.#q
    const host = this.#host
    const { segment } = host
    this.assertOpen('postSend')
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
            if (((head - i32[q + Qp.sqTail]!) | 0) >= this.#maxSendWr) {
              failed = badFull
              break
            }
            failed = this.#write(this.#sqRing + (head & this.#sqMask) * this.#sqStride, request)
            if (failed !== 0) break
            head = (head + 1) | 0
            request = request.next
          } while (request)
        } catch {
          failed = badField
        }
        i32[q + Qp.sqHead] = head
        this.pd.context.device.doorbell(q)
        if (fast !== null) fast.prepare()
      }
    } finally {
      segment.unlock(q + Qp.sqLock)
      segment.leave()
    }
    this.pd.context.device.settle()
    if (failed !== 0)
      throw this.#bad(request!, failed === badFull ? 'ENOMEM' : 'EINVAL', this.#reason(failed, request!))
  }

  /** Writes one request into its place; 0, or a reason for which it cannot be posted. */
  #write(w: number, wr: SendWorkRequest): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const { opcode, sendFlags, sgList } = wr
    if ((opcode & 15) !== opcode || ((this.#legal >>> opcode) & 1) === 0) return badOpcode
    const sges = sgList.length
    if (sges > this.#maxSendSge) return badSges
    i32[w + Wqe.opcode] = opcode
    i32[w + Wqe.flags] = sendFlags
    f64[(w + Wqe.wrId) >> 1] = wr.wrId
    i32[w + Wqe.sges] = sges
    if (opcode === Opcode.SendWithImm || opcode === Opcode.WriteWithImm) i32[w + Wqe.immData] = wr.immData
    else if (opcode !== Opcode.Send) {
      if (opcode === Opcode.SendWithInv || opcode === Opcode.LocalInv) i32[w + Wqe.immData] = wr.invalidateRkey
      else if (opcode !== Opcode.Write && opcode !== Opcode.Read) this.#writeRare(w, wr)
    }
    if (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm) {
      f64[(w + Wqe.remoteAddr) >> 1] = wr.remoteAddr
      i32[w + Wqe.rkey] = wr.rkey
    }
    if (this.#datagram) {
      const { ah } = wr
      if (ah === null) return badAh
      if (ah.pdRef !== this.pd.ref) return badAhPd
      i32[w + Wqe.remoteQpn] = wr.remoteQpn
      i32[w + Wqe.remoteQkey] = wr.remoteQkey
      ;(ah as AddressHandle).copyTo(i32, w + Wqe.av)
    }
    if ((sendFlags & SendFlag.Inline) !== 0) return this.#writeInline(w, wr)
    for (let i = 0, s = w + Wqe.data; i < sges; i++, s += Sg.words) {
      const sge = sgList[i]!
      f64[s >> 1] = sge.addr
      i32[s + Sg.length] = sge.length
      i32[s + Sg.lkey] = sge.lkey
    }
    return 0
  }

  #writeRare(w: number, wr: SendWorkRequest): void {
    const i32 = this.#i32
    const { b64 } = this.#host.segment
    switch (wr.opcode) {
      case Opcode.AtomicCmpAndSwp:
      case Opcode.AtomicFetchAndAdd:
        b64[(w + Wqe.compareAdd) >> 1] = wr.compareAdd
        b64[(w + Wqe.swap) >> 1] = wr.swap
        break
      case Opcode.Flush:
        this.#f64[(w + Wqe.length) >> 1] = wr.flushLength
        i32[w + Wqe.access] = wr.placement | (wr.selectivity << 4)
        break
      case Opcode.BindMw:
        i32[w + Wqe.immData] = wr.mwNewRkey
        wr.rkey = wr.mwRkey
        wr.remoteAddr = wr.bindAddr
        this.#f64[(w + Wqe.length) >> 1] = wr.bindLength
        i32[w + Wqe.access] = wr.bindAccess
        i32[w + Wqe.mrKey] = wr.mrLkey
        break
    }
  }

  #writeInline(w: number, wr: SendWorkRequest): number {
    if (((inlineOpcodes >>> wr.opcode) & 1) === 0) return badInlineOpcode
    const { segment } = this.#host
    let at = (w + Wqe.data) * 4
    let length = 0
    for (const sge of wr.sgList) {
      length += sge.length
      if (length > this.cap.maxInlineData) return badInline
      if (!(sge.addr >= segment.heapStart && sge.length >= 0 && sge.addr + sge.length <= segment.sizeBytes))
        return badInlineAddress
      segment.copy(at, sge.addr, sge.length)
      at += sge.length
    }
    this.#i32[w + Wqe.inlineLength] = length
    return 0
  }

  #reason(failed: number, wr: SendWorkRequest): string {
    switch (failed) {
      case badFull:
        return `the send queue is full with ${this.cap.maxSendWr} requests: poll their completions first (unsignaled ones need a signaled one after them)`
      case badOpcode:
        return `a ${nameOf(QpType, this.type)} QP cannot carry out ${nameOf(Opcode, wr.opcode)}`
      case badSges:
        return `${wr.sgList.length} scatter/gather elements are more than cap.maxSendSge ${this.cap.maxSendSge}`
      case badAh:
        return 'a UD request needs ah, remoteQpn and remoteQkey'
      case badAhPd:
        return 'ah belongs to another protection domain'
      case badInline:
        return `inline data is longer than cap.maxInlineData ${this.cap.maxInlineData}`
      case badGone:
        return 'the QP was reset or destroyed by another thread'
      case badField:
        return 'a field of the work request has a value of the wrong type'
      case badInlineAddress:
        return 'inline data lies outside the memory of the device'
      default:
        return `${nameOf(Opcode, wr.opcode)} cannot be inline`
    }
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
      // A full barrier: a sender that has put itself to sleep looks for receives once more, or this sees that it waits.
      Atomics.store(i32, q + Qp.rqPostLock, 0)
    } finally {
      segment.leave()
    }
    if (failed === badGone) throw this.closedError('postRecv')
    if (i32[q + Qp.rqWaiting] !== 0) {
      const waiting = Atomics.exchange(i32, q + Qp.rqWaiting, 0)
      if (waiting !== 0) this.pd.context.device.resume(waiting - 1)
    }
    if (i32[q + Qp.state] === QpState.Err) {
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

  attachMcast(gid: Uint8Array, lid = 0): void {
    this.#checkMcast('attachMcast', gid, lid)
    const { device } = this.pd.context
    // First, since it may fail, and a thread that ends leaves only the groups that are in the table.
    device.joinGroup(gid)
    try {
      this.#attach(gid)
    } catch (error) {
      device.leaveGroup(gid)
      throw error
    }
  }

  #attach(gid: Uint8Array): void {
    const host = this.#host
    const i32 = this.#i32
    host.control(() => {
      this.assertOpen('attachMcast')
      let free = -1
      let groupQps = 0
      const high = i32[host.at.meta + Meta.mcastHigh]!
      for (let i = 0; i < high; i++) {
        const m = host.at.mcast + i * Mcast.words
        if (i32[m + Mcast.state] === 0) free = free < 0 ? m : free
        else if (sameGid(i32, m + Mcast.gid, gid)) {
          if (i32[m + Mcast.qpSlot] === this.slot)
            throw new VerbsError('EINVAL', 'attachMcast', 'this QP is attached to the group already')
          groupQps++
        }
      }
      if (groupQps >= this.pd.context.device.attr.maxMcastQpAttach)
        throw new VerbsError('ENOMEM', 'attachMcast', `the group has ${groupQps} QPs, which is the limit`)
      if (free < 0) {
        if (high >= maxMcastEntries)
          throw new VerbsError('ENOMEM', 'attachMcast', `all ${maxMcastEntries} multicast entries are in use`)
        free = host.at.mcast + high * Mcast.words
        i32[host.at.meta + Meta.mcastHigh] = high + 1
      }
      writeGid(i32, free + Mcast.gid, gid)
      i32[free + Mcast.device] = this.pd.context.device.index
      i32[free + Mcast.qpSlot] = this.slot
      i32[free + Mcast.qpNum] = this.qpNum
      Atomics.store(i32, free + Mcast.state, 1)
      i32[this.#q + Qp.mcastRefs] = i32[this.#q + Qp.mcastRefs]! + 1
    })
  }

  detachMcast(gid: Uint8Array, lid = 0): void {
    this.#checkMcast('detachMcast', gid, lid)
    const host = this.#host
    const i32 = this.#i32
    const found = host.control(() => {
      for (let i = 0; i < i32[host.at.meta + Meta.mcastHigh]!; i++) {
        const m = host.at.mcast + i * Mcast.words
        if (i32[m + Mcast.state] === 1 && i32[m + Mcast.qpSlot] === this.slot && sameGid(i32, m + Mcast.gid, gid)) {
          Atomics.store(i32, m + Mcast.state, 0)
          i32[this.#q + Qp.mcastRefs] = i32[this.#q + Qp.mcastRefs]! - 1
          return true
        }
      }
      return false
    })
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
    this.assertOpen('close')
    const mcast = this.#i32[this.#q + Qp.mcastRefs]!
    if (mcast > 0)
      throw new VerbsError('EBUSY', 'close', `the QP is attached to ${mcast} multicast groups: detach it first`)
    const { device } = this.pd.context
    if (device.driven) {
      // What arrived is acknowledged before nobody can do that any more.
      device.doorbell(this.#q)
      device.settle()
    }
    this.markClosed()
    destroyQp(this.#host, this.#q)
    this.pd.context.disown('qp', this)
  }
}

const badFull = 1
const badOpcode = 2
const badSges = 3
const badAh = 4
const badAhPd = 5
const badInline = 6
const badInlineAddress = 7
const badInlineOpcode = 8
const badField = 9
const badGone = 10

const plainAttributes = [
  'pathMtu',
  'pathMigState',
  'qkey',
  'rqPsn',
  'sqPsn',
  'destQpNum',
  'accessFlags',
  'pkeyIndex',
  'altPkeyIndex',
  'maxRdAtomic',
  'maxDestRdAtomic',
  'minRnrTimer',
  'port',
  'timeout',
  'retryCnt',
  'rnrRetry',
  'altPort',
  'altTimeout',
] as const

/** A random 24-bit packet sequence number. */
export function randomPsn(): number {
  return randomInt(0, 1 << 24)
}
