/**
 * Executes rows of the table of states: moves a connection, sets its timer, sends messages and gives events. Every change
 * of a connection's state goes through `step`.
 */
import { type CmMessage, CmRejReason, type CmReq, type CmType, cmType, Mad, u16 } from '../../wire/index.ts'
import type { Connection, Listener } from './connection.ts'
import { type CmCounters, newCounters } from './counters.ts'
import { Deadlines } from './deadlines.ts'
import { CmError, type DropReason } from './errors.ts'
import type { CmEvent, CmOptions } from './events.ts'
import { allLimits, type CmLimits, wrongLimits } from './limits.ts'
import { aboutOf, buildDreq, buildIds, buildRej, buildSidrRep, guidBytes } from './messages.ts'
import type { RejParams } from './parameters.ts'
import { Registry } from './registry.ts'
import { Shares } from './shares.ts'
import type { CmState } from './state-names.ts'
import { type CmGuard, type CmSend, type CmTimer, type CmTrigger, transitionsOf } from './states.ts'
import { timeoutNs } from './timeouts.ts'

/** Input of a step: the bytes of a call's message, or the message that was received. */
export interface StepInput<A> {
  bytes?: Uint8Array
  message?: CmMessage
  from?: A
}

/** Linux counts in milliseconds; shorter waits would only repeat messages for nothing. */
const shortestWaitNs = timeoutNs(8)

export const halfOpenStates: ReadonlySet<CmState> = new Set([
  'REQ_RCVD',
  'MRA_REQ_SENT',
  'REP_SENT',
  'MRA_REP_RCVD',
  'SIDR_REQ_RCVD',
])
const replying: ReadonlySet<CmState> = new Set(['REP_SENT', 'MRA_REP_RCVD'])
const overStates: ReadonlySet<CmState> = new Set(['IDLE', 'TIMEWAIT', 'ANSWERED'])

export class Engine<A> {
  readonly options: CmOptions<A>
  readonly limits: CmLimits
  readonly counters: CmCounters = newCounters()
  readonly registry: Registry<A> = new Registry()
  readonly deadlines: Deadlines<Connection<A>> = new Deadlines()
  /** Half-open requests of peers to listeners; each listener has its own besides. */
  readonly #halfOpen = new Shares<Connection<A>>()
  /** Number of all half-open requests, peer-to-peer ones included. */
  halfOpen = 0
  /** Connections in ANSWERED and in TIMEWAIT. */
  readonly #answers = new Shares<Connection<A>>()
  readonly #timewaits = new Shares<Connection<A>>()

  constructor(options: CmOptions<A>) {
    this.options = options
    const wrong = wrongLimits(options.limits)
    if (wrong !== undefined) throw new CmError('ERR_CM_VALUE', 'CommunicationManager', wrong)
    this.limits = allLimits(options.limits)
  }

  /** Executes the table's row for the state of `c`; false if it has none for this trigger. */
  step(c: Connection<A>, trigger: CmTrigger, now: number, input: StepInput<A> = {}): boolean {
    const row = transitionsOf(c.state, trigger).find(
      ({ when }) => when === undefined || this.#holds(when, c, input.message),
    )
    if (row === undefined) return false
    const from = c.state
    const about = aboutOf(c)
    if (row.to !== undefined && row.to !== from) this.#enter(c, row.to)
    if (row.timer !== undefined) this.#setTimer(c, row.timer, now)
    if (row.duplicate && input.message !== undefined) this.counters.duplicates[input.message.type]++
    if (trigger === 'expired' && from !== 'TIMEWAIT' && from !== 'ANSWERED') {
      this.counters.expired++
      this.options.count?.('expired')
    }
    if (row.send !== undefined) this.#sendFor(c, row.send, about, trigger, input)
    const { closed } = c
    if (row.event !== undefined && !closed) {
      const { message, from: sender } = input
      const listener = trigger === 'REQ' && c.peerToPeer ? undefined : c.listener
      this.options.event({ type: row.event, connection: c, message, listener, from: sender } as unknown as CmEvent<A>)
    }
    // Its owner is gone, and nothing answers what has come.
    if (closed && row.event !== undefined && transitionsOf(c.state, 'close').some(({ to }) => to !== undefined))
      this.step(c, 'close', now)
    this.#trim(now)
    return true
  }

  /** Enforces the limits of connections that are kept for a while: beyond a limit, the sender with most of them loses the oldest. */
  #trim(now: number): void {
    for (const [kept, limit] of [
      [this.#answers, this.limits.answers],
      [this.#timewaits, this.limits.timewait],
    ] as const)
      if (kept.size > limit) this.#shorten(kept, now)
  }

  #shorten(kept: Shares<Connection<A>>, now: number): boolean {
    const oldest = kept.oldestOfHeaviest()
    if (oldest === undefined) return false
    this.counters.shortened++
    this.step(oldest, 'expired', now)
    return true
  }

  #holds(guard: CmGuard, c: Connection<A>, message: CmMessage | undefined): boolean {
    const reason = message?.type === 'REJ' ? message.reason : undefined
    switch (guard) {
      case 'greater':
        return c.peerToPeer && message?.type === 'REQ' && this.compare(c, message) > 0
      case 'smaller':
        return c.peerToPeer && message?.type === 'REQ' && this.compare(c, message) < 0
      case 'notYet':
        return c.peerToPeer && reason === CmRejReason.InvalidServiceId
      case 'stale':
        return reason === CmRejReason.StaleConnection
      case 'repeated':
        return c.answeredLap !== undefined && message?.transactionId === c.answeredLap
      case 'crossed':
        return !c.active
    }
  }

  /** IBA 12.9.6: the side with the greater GUID, or with equal GUIDs the greater QP number, is the active one. */
  compare(c: Connection<A>, request: CmReq): number {
    const { caGuid } = this.options
    if (caGuid !== request.localCaGuid) return caGuid > request.localCaGuid ? 1 : -1
    return c.localQpn - request.localQpn
  }

  #enter(c: Connection<A>, to: CmState): void {
    const was = halfOpenStates.has(c.state)
    const is = halfOpenStates.has(to)
    if (was !== is) {
      this.halfOpen += is ? 1 : -1
      const { listener } = c
      if (listener !== undefined) {
        for (const shares of [listener.halfOpen, this.#halfOpen])
          if (is) shares.add(c.peerKey, c)
          else shares.delete(c.peerKey, c)
        listener.waiting = listener.halfOpen.size
      }
    }
    if (c.state === 'ANSWERED') this.#answers.delete(c.peerKey, c)
    if (c.state === 'TIMEWAIT') this.#timewaits.delete(c.peerKey, c)
    c.state = to
    if (to === 'ESTABLISHED') for (const type of ['REQ', 'REP', 'MRA', 'LAP'] as const) c.kept.delete(type)
    if (overStates.has(to)) this.registry.forgetQpn(c)
    if (to === 'TIMEWAIT') {
      c.kept.clear()
      this.#timewaits.add(c.peerKey, c)
    }
    if (to === 'ANSWERED') this.#answers.add(c.peerKey, c)
    if (to === 'IDLE') {
      this.deadlines.remove(c)
      this.registry.remove(c)
    }
  }

  /** Limits a wait, whatever time a message requests. */
  bounded(ns: number): number {
    return Math.min(this.limits.waitNs, Math.max(shortestWaitNs, ns))
  }

  #setTimer(c: Connection<A>, timer: CmTimer, now: number): void {
    const wait = (ns: number): void => this.deadlines.set(c, Math.min(c.giveUpNs, now + this.bounded(ns)))
    if (timer !== 'next' && timer !== 'mra') c.giveUpNs = Number.POSITIVE_INFINITY
    switch (timer) {
      case 'stop':
        this.deadlines.remove(c)
        break
      case 'program':
        c.retriesLeft = 0
        this.deadlines.set(c, now + this.limits.exchangeNs)
        break
      case 'response':
        c.retriesLeft = c.maxRetries
        // The peer chose this time, so it has a limit.
        if (c.state === 'REP_SENT' || c.state === 'DREQ_SENT') c.giveUpNs = now + this.limits.exchangeNs
        if (c.state === 'REP_SENT') c.repliedNs = now
        wait(c.responseNs)
        break
      case 'next':
        c.retriesLeft--
        wait(c.responseNs)
        break
      case 'mra':
        wait(timeoutNs(c.serviceTimeout) + c.responseNs)
        break
      case 'timewait':
        c.retriesLeft = 0
        wait(timeoutNs(c.ackTimeout))
        break
      case 'answer':
        c.retriesLeft = 0
        wait(c.answerNs)
        break
    }
  }

  #sendFor(c: Connection<A>, send: CmSend, about: number, trigger: CmTrigger, { bytes, message }: StepInput<A>): void {
    switch (send) {
      case 'own DREQ':
        this.put(c, buildDreq(c, this.newTransactionId()))
        break
      case 'own DREP':
        if (message?.type === 'DREQ') c.requestTransactionId = message.transactionId
        this.put(c, buildIds('close', 'DREP', c))
        break
      case 'own SIDR_REP': {
        const { remoteCommId: requestId, serviceId, transactionId } = c
        this.put(c, buildSidrRep({ requestId, serviceId, transactionId }, { status: 2 }))
        break
      }
      case 'REJ (timeout)': {
        const additionalInfo = guidBytes(this.options.caGuid)
        this.#reject(c, { reason: CmRejReason.Timeout, additionalInfo }, about)
        break
      }
      case 'REJ (stale connection)':
        this.#reject(c, { reason: CmRejReason.StaleConnection }, trigger === 'REQ' ? 0 : 1)
        break
      case 'REJ (no resources)':
        this.#reject(c, { reason: CmRejReason.NoResources }, about)
        break
      case 'REJ (consumer)':
        this.#reject(c, { reason: CmRejReason.ConsumerReject }, about)
        break
      default:
        if (send.endsWith(' again')) this.#again(c, send.slice(0, -' again'.length) as CmType, trigger)
        else this.put(c, bytes!)
    }
  }

  #reject(c: Connection<A>, params: RejParams, about: number): void {
    this.countRej(params.reason!)
    this.put(c, buildRej(c, params, about))
  }

  countRej(reason: number): void {
    this.counters.rejected[reason] = (this.counters.rejected[reason] ?? 0) + 1
  }

  #again(c: Connection<A>, type: CmType, trigger: CmTrigger): void {
    const bytes = c.kept.get(type)
    if (bytes === undefined) return
    this.counters.sent[type]++
    if (trigger === 'timeout') this.counters.retried[type]++
    this.options.send(bytes.slice(), c.peer)
  }

  /** Sends a message of the connection and keeps it for repetition. */
  put(c: Connection<A>, bytes: Uint8Array): void {
    const type = cmType(u16(bytes, Mad.attributeId))!
    c.kept.set(type, bytes)
    this.sendTo(type, bytes.slice(), c.peer)
  }

  /** Sends a message that belongs to no connection. */
  sendTo(type: CmType, bytes: Uint8Array, to: A): void {
    this.counters.sent[type]++
    this.options.send(bytes, to)
  }

  /** True if a message from there may come from the peer: its address is the destination of MADs to the peer, or on one of its paths. */
  isFromPeer(c: Connection<A>, from: A): boolean {
    const { addressKey, addressOnPath } = this.options
    if (addressKey(from) === c.peerKey) return true
    if (addressOnPath === undefined || c.kind === 'sidr') return false
    return addressOnPath(from, c.primary) || (c.alternate !== undefined && addressOnPath(from, c.alternate))
  }

  drop(reason: DropReason): void {
    this.counters.dropped[reason]++
    this.options.count?.(reason)
  }

  newTransactionId(): bigint {
    return (BigInt(this.#random(0x1_0000_0000)) << 32n) | BigInt(this.#random(0x1_0000_0000))
  }

  newPsn(): number {
    return this.#random(0x1_000000)
  }

  #random(limit: number): number {
    return Math.floor(this.options.random() * limit)
  }

  /** Returns an id that no connection has; undefined if a thousand attempts found none. */
  freeCommId(): number | undefined {
    const { commIds = () => this.#random(0x1_0000_0000) } = this.options
    for (let i = 0; i < 1000; i++) {
      const id = commIds()
      if (this.registry.isFree(id)) return id
    }
    return undefined
  }

  /** Makes room for one more connection: kept answers and TIMEWAITs are dropped for it; false if there is none. */
  makeRoom(now: number): boolean {
    while (this.registry.size >= this.limits.connections)
      if (!this.#shorten(this.#answers, now) && !this.#shorten(this.#timewaits, now)) return false
    return true
  }

  /** Returns why a request of `source` to this listener cannot be accepted; undefined if it can. */
  refusal(listener: Listener<A>, source: string, now: number): DropReason | undefined {
    if (listener.waiting >= listener.backlog && !this.#evict(listener.halfOpen, source, now)) return 'backlogFull'
    if (this.halfOpen >= this.limits.halfOpen && !this.#evict(this.#halfOpen, source, now)) return 'tooMany'
    return this.makeRoom(now) ? undefined : 'tooMany'
  }

  /**
   * Makes room for a request of `source` when others have many: the oldest of the sender with most is dropped if that still
   * leaves it as many as `source` then has, or if it has waited long for its RTU.
   */
  #evict(shares: Shares<Connection<A>>, source: string, now: number): boolean {
    const mine = shares.countOf(source)
    const victim = shares.oldestOfHeaviest()
    if (victim === undefined || shares.most <= mine) return false
    const late = replying.has(victim.state) && now - victim.repliedNs >= this.limits.rtuNs
    if (shares.most === mine + 1 && !late) return false
    this.counters.evicted++
    this.options.count?.('evicted')
    return this.step(victim, 'evicted', now)
  }
}
