/**
 * The agent of one device in one thread: the communication manager of that device, driven over QP 1.
 *
 *     program ── id ──> agent ── CommunicationManager (no I/O) ── GsiPort ──> QP 1
 *
 * It works when `process` is called: by calls that wait in this thread, in the event loop while it has followers, and ten times a second
 * while it has connections and no follower. While it has followers, it is notified by an event of each message, and of the end of each
 * other agent.
 *
 * Messages are taken from the queue pair as they arrive and wait in `#intake`, from which each sender gets its turn. One call serves a
 * limited number: a flood does not stop the event loop, and a sender of few messages does not wait for other senders.
 */
import { GsiPort, type MadAddress, madAddress } from '../../gsi/index.ts'
import { inRootContext, Looks, nowNs } from '../../memory/index.ts'
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  LinkLayer,
  type ProtectionDomain,
  WcOpcode,
  WcStatus,
  workCompletions,
} from '../../verbs/index.ts'
import {
  type CounterName,
  farewells,
  isServedByOthers,
  registerService,
  takeFarewell,
  unregisterService,
} from '../../verbs/provider/index.ts'
import { CmRejReason, Mad, sameBytes } from '../../wire/index.ts'
import {
  buildDreq,
  type CmLimits,
  type CmListener,
  CommunicationManager,
  type DropReason,
  type CmEvent as IbEvent,
  type ListenOptions,
  mtuBytes,
  mtuCode,
  mtuInfo,
  Shares,
} from '../ib/index.ts'
import { type SegmentConnection, SegmentPeers } from './segment-peers.ts'

/** The `context` of a connection: the receiver of its events. */
export interface ConnectionOwner {
  handle(event: IbEvent<MadAddress>): void
}

/** The `context` of a listener: the receiver of its requests. */
export interface ListenerOwner {
  request(event: IbEvent<MadAddress>, agent: Agent): void
}

const backgroundMs = 100
/** Initial interval of checks of a followed agent where neither an event nor a deadline reports the end of a peer: in a segment. */
const recheckMs = 1000
/** Interval elsewhere: the end of each wait wakes the service thread of the device. */
const longestWaitMs = 60_000
/** Maximum time that a thread that ends takes to disconnect from its peers. */
const farewellNs = 50e6

/**
 * Limits of one call of `process`: messages or deadlines; those among them that made events, which cost a program more than
 * a message costs here; and nanoseconds.
 */
const turnMessages = 64
const turnEvents = 8
const turnNs = 4e6
/** Messages that wait for their turn, of all senders. */
const intakeMessages = 1024

interface WaitingMad {
  readonly bytes: Uint8Array
  readonly from: MadAddress
}

/** The device's counter for each reason to drop a message. All other reasons count as malformed. */
const counterOf: Partial<Record<DropReason | 'evicted' | 'expired', CounterName>> = {
  foreignSource: 'cm_drops_source',
  unknownId: 'cm_drops_unknown_id',
  unexpected: 'cm_drops_unexpected',
  wrongQpn: 'cm_drops_qpn',
  backlogFull: 'cm_drops_backlog',
  tooMany: 'cm_drops_limit',
  servedByOthers: 'cm_drops_moved',
  evicted: 'cm_requests_evicted',
  expired: 'cm_timeouts',
}
export class Agent {
  readonly context: Context
  readonly name: string
  /** Flag: the addresses of the device are IP addresses. */
  readonly ethernet: boolean
  readonly channel: CompletionChannel
  readonly #ownsContext: boolean
  /** Protection domain of QP 1. */
  readonly #gsiPd: ProtectionDomain
  /** The protection domain of ids whose program gives none. */
  #pd: ProtectionDomain | undefined
  readonly #cq: CompletionQueue
  readonly #wc = workCompletions(32)
  readonly cm: CommunicationManager<MadAddress>
  /** The limits of `cm`. */
  readonly limits: Readonly<CmLimits>
  readonly #port: GsiPort
  readonly #intake = new Shares<WaitingMad>()
  /** Buffers of messages that were served, for reuse: a flood makes no garbage. */
  readonly #spare: Uint8Array[] = []
  /** Registered services by service id and addresses, with the number of registrations. */
  readonly #services = new Map<string, { serviceId: bigint; served: Int32Array; count: number }>()
  readonly #keys = new WeakMap<CmListener<MadAddress>, string>()
  readonly #followers = new Set<object>()
  readonly #segmentPeers: SegmentPeers
  /** Index of the last farewell that was handled: a connection that a thread left when it died. */
  #farewells: number
  #events = 0
  #background: NodeJS.Timeout | undefined
  #following = false
  #processing = false
  #refs = 0
  #closed = false

  constructor(context: Context, ownsContext: boolean, limits: CmLimits, random: () => number) {
    this.context = context
    this.limits = limits
    this.name = context.name
    this.#ownsContext = ownsContext
    this.ethernet = context.queryPort(1).linkLayer === LinkLayer.Ethernet
    this.channel = context.createCompChannel()
    this.#cq = context.createCq(GsiPort.completions, { channel: this.channel, singleThreaded: true, inLoop: true })
    this.#gsiPd = context.allocPd()
    const port = new GsiPort(this.#gsiPd, this.#cq, random)
    this.#port = port
    this.#segmentPeers = new SegmentPeers(port.qp)
    this.#farewells = farewells(context.device.host)
    this.cm = new CommunicationManager<MadAddress>({
      caGuid: context.queryDevice().nodeGuid,
      limits,
      random,
      commIds: () => port.commId(),
      send: (mad, to) => this.#send(mad, to),
      event: (event) => this.#event(event),
      count: (what) => this.#count(counterOf[what] ?? 'cm_drops_malformed'),
      addressKey: ({ source }) => source,
      addressOnPath: ({ gid }, { remoteGid }) => sameBytes(gid, remoteGid),
      // What a listener here does not want is rejected: to others it would not come.
      servedByOthers: (serviceId) => !this.#serves(serviceId) && isServedByOthers(port.qp, serviceId),
      check: ({ pathMtu }) => {
        const { activeMtu } = context.queryPort(1)
        return mtuBytes(pathMtu) > activeMtu
          ? { reason: CmRejReason.InvalidPathMtu, additionalInfo: mtuInfo(mtuCode(activeMtu)) }
          : undefined
      },
    })
  }

  /** Sends a MAD, or drops it: a peer that waits for it repeats its own message. */
  #send(mad: Uint8Array, to: MadAddress): void {
    if (!this.#port.send(mad, to)) this.#count('cm_sends_dropped')
  }

  #count(name: CounterName): void {
    const { host, index } = this.context.device
    host.count(index, name)
  }

  get pd(): ProtectionDomain {
    this.#pd ??= this.context.allocPd()
    return this.#pd
  }

  #event(event: IbEvent<MadAddress>): void {
    const { connection } = event
    this.#events++
    if (event.type === 'reqReceived' || event.type === 'sidrReqReceived')
      (event.listener?.context as ListenerOwner | undefined)?.request(event, this)
    else (connection.context as ConnectionOwner | undefined)?.handle(event)
  }

  // --- listening ---------------------------------------------------------------------------------------------------

  /**
   * EADDRINUSE if an agent of another thread or process listens to the service for one of the addresses `served`, unless both do so
   * for the same and in the same group, not 0.
   */
  listen(serviceId: bigint, options: ListenOptions<MadAddress>, served: Int32Array, group = 0): CmListener<MadAddress> {
    const key = `${serviceId} ${served.join()}`
    let service = this.#services.get(key)
    if (service === undefined) {
      registerService(this.#port.qp, serviceId, undefined, group, served)
      service = { serviceId, served, count: 0 }
      this.#services.set(key, service)
    }
    service.count++
    try {
      const listener = this.cm.listen(serviceId, options)
      this.#keys.set(listener, key)
      return listener
    } catch (error) {
      this.#forget(key)
      throw error
    }
  }

  closeListener(listener: CmListener<MadAddress>): void {
    this.cm.closeListener(listener)
    this.#forget(this.#keys.get(listener)!)
  }

  #forget(key: string): void {
    const service = this.#services.get(key)!
    if (--service.count > 0) return
    this.#services.delete(key)
    unregisterService(this.#port.qp, service.serviceId, undefined, service.served)
  }

  #serves(serviceId: bigint): boolean {
    for (const service of this.#services.values()) if (service.serviceId === serviceId) return true
    return false
  }

  // --- driving -----------------------------------------------------------------------------------------------------

  /** Serves messages and timers, up to the limits of a turn; returns their number. */
  process(): number {
    if (this.#processing || this.#closed) return 0
    this.#processing = true
    try {
      this.#collect()
      const start = nowNs()
      let served = 0
      this.#events = 0
      for (let now = start; served < turnMessages && this.#events < turnEvents && now - start < turnNs; now = nowNs()) {
        const mad = this.#intake.takeInTurn()
        if (mad === undefined) break
        this.cm.receive(mad.bytes, mad.from, now)
        this.#spare.push(mad.bytes)
        served++
      }
      const now = nowNs()
      served += this.#segmentPeers.look()
      served += this.#sendFarewells()
      served += this.cm.expire(now, turnEvents)
      this.#inBackground()
      return served
    } finally {
      this.#processing = false
    }
  }

  /** Frees buffers of the queue pair; the messages in them are served later. */
  collect(): void {
    if (this.#processing || this.#closed) return
    this.#processing = true
    try {
      this.#collect()
      this.#inBackground()
    } finally {
      this.#processing = false
    }
  }

  /** Disconnects for threads of this device that died, as a kernel does for a process; returns the number of messages for that. */
  #sendFarewells(): number {
    const { host, index } = this.context.device
    const last = farewells(host)
    let sent = 0
    while (this.#farewells !== last && !this.#port.full) {
      this.#farewells = (this.#farewells + 1) | 0
      const due = takeFarewell(host, index, this.#farewells)
      if (due === undefined) continue
      const transactionId = (BigInt(due.localCommId) << 32n) | BigInt(due.remoteCommId)
      this.#send(buildDreq(due, transactionId), madAddress(due.dgid, due.dlid, due.sgidIndex))
      sent++
    }
    return sent
  }

  #collect(): void {
    // At most what was there, however fast more arrives.
    for (let left: number = GsiPort.completions; left > 0; ) {
      const n = this.#cq.poll(this.#wc)
      if (n <= 0) break
      for (let i = 0; i < n; i++) this.#complete(i)
      left -= n
    }
  }

  /** True if there is work to do at once. */
  get #busy(): boolean {
    return this.#intake.size > 0 || this.cm.deadline() <= nowNs()
  }

  /** Starts a timer without followers: while there are connections, peers must get answers. */
  #inBackground(): void {
    if (this.cm.size === 0 || this.#background !== undefined || this.#following || this.#closed) return
    this.#background = inRootContext(() => setInterval(() => this.#tick(), backgroundMs).unref())
  }

  #tick(): void {
    this.process()
    if (this.cm.size === 0 || this.#following) this.#endBackground()
  }

  #endBackground(): void {
    clearInterval(this.#background)
    this.#background = undefined
  }

  /**
   * No kernel disconnects for a process that dies on `shm`, so connected ids look for dead peers. Returns a function that
   * stops it.
   */
  watchPeer(remoteCommId: number, connection: SegmentConnection): () => void {
    return this.ethernet ? () => {} : this.#segmentPeers.watch(remoteCommId, connection)
  }

  #complete(i: number): void {
    const { wrId, opcode, status, slid } = this.#wc[i]!
    if (opcode !== WcOpcode.Recv) this.#port.sent()
    else if (status === WcStatus.Success) {
      const { grh, mad } = this.#port.received(wrId)
      this.#admit(mad, this.#port.senderOf(grh, slid))
      this.#port.release(wrId)
    }
  }

  /** Queues a message. When too many wait, the sender with the most of them loses one. */
  #admit(mad: Uint8Array, from: MadAddress): void {
    const intake = this.#intake
    if (intake.size >= intakeMessages) {
      this.#count('cm_drops_queue')
      if (intake.most <= intake.countOf(from.source)) return
      this.#spare.push(intake.takeOfHeaviest()!.bytes)
    }
    const bytes = this.#spare.pop() ?? new Uint8Array(Mad.totalLength)
    bytes.set(mad)
    intake.add(from.source, { bytes, from })
  }

  /** Returns the time to the next deadline of the communication manager. */
  #millisecondsLeft(longest: number): number {
    return Math.max(0, Math.min(longest, Math.ceil((this.cm.deadline() - nowNs()) / 1e6)))
  }

  /** Blocks this thread until a message has arrived or a timer has expired, at most `timeoutMs`. */
  wait(timeoutMs: number): void {
    this.#cq.reqNotify()
    if (this.process() > 0) return
    const cq = this.channel.getEvent(this.#millisecondsLeft(Math.min(timeoutMs, this.#segmentPeers.longestWaitMs)))
    if (cq !== null) {
      cq.ackEvents(1)
      // Followers in the event loop wait for the next one.
      this.#cq.reqNotify()
    }
    this.process()
  }

  /**
   * Prepares the sleep of a thread that calls `process` by itself: messages from now on make an event of the channel, and wake it. False if
   * one has arrived already.
   */
  arm(): boolean {
    for (let cq = this.channel.tryGetEvent(); cq !== null; cq = this.channel.tryGetEvent()) cq.ackEvents(1)
    this.#cq.reqNotify()
    return this.process() === 0
  }

  /** Milliseconds after which `process` has to be called although no message arrives. */
  get dueInMs(): number {
    return this.#millisecondsLeft(Number.POSITIVE_INFINITY)
  }

  /** Drives it in the event loop for this follower, until the returned function is called. */
  follow(follower: object): () => void {
    this.#followers.add(follower)
    if (!this.#following) void inRootContext(() => this.#goOn())
    return () => {
      this.#followers.delete(follower)
      if (this.#followers.size === 0) this.channel.wake()
    }
  }

  async #goOn(): Promise<void> {
    const looks = new Looks(recheckMs)
    const { parking } = this.context.device.host.segment
    this.#following = true
    this.#endBackground()
    while (this.#followers.size > 0 && !this.#closed) {
      this.#cq.reqNotify()
      if (this.process() > 0) looks.startAgain()
      // Other work of the event loop has its turn in between.
      if (this.#busy) await new Promise((resolve) => setImmediate(resolve))
      // No event is taken before this continues: one that was taken and not acknowledged would block `close`.
      else
        await this.channel.whenEvent(
          this.#millisecondsLeft(this.ethernet ? longestWaitMs : looks.next(parking.mayRest)),
        )
      if (this.#closed) break
      for (let cq = this.channel.tryGetEvent(); cq !== null; cq = this.channel.tryGetEvent()) cq.ackEvents(1)
    }
    this.#following = false
    this.#inBackground()
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  acquire(): this {
    this.#refs++
    return this
  }

  /** Closes it after its last use; true if it did. */
  release(): boolean {
    if (--this.#refs > 0) return false
    this.#close()
    return true
  }

  /**
   * Disconnects all at the end of this thread, as a kernel does for a process that ends, so that peers need not find out by repeating. It
   * makes no events.
   */
  farewell(): void {
    const until = nowNs() + farewellNs
    for (const connection of [...this.cm.connections()]) {
      while (this.#port.full && nowNs() < until) this.#sent()
      this.cm.close(connection, nowNs())
    }
    while (this.#port.sending && nowNs() < until) this.#sent()
  }

  #sent(): void {
    const n = this.#cq.poll(this.#wc)
    for (let i = 0; i < n; i++) if (this.#wc[i]!.opcode !== WcOpcode.Recv) this.#port.sent()
  }

  #close(): void {
    // The last messages must leave before the queue pair closes.
    const until = nowNs() + 50e6
    while (this.#port.sending && nowNs() < until) this.process()
    this.#closed = true
    clearInterval(this.#background)
    this.channel.wake()
    this.#port.close()
    this.#cq.close()
    this.channel.close()
    this.#gsiPd.close()
    try {
      this.#pd?.close()
      if (this.#ownsContext) this.context.close()
    } catch {
      // The program still has objects of this context: it goes with the thread.
    }
  }
}
