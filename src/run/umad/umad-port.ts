/**
 * The port of an adapter as programs manage it: agents of all of a run's programs, and what they send and receive.
 *
 *     write ──► answered here, by the agent of an adapter of the segment (management/)   ──► read
 *          └──► QP 1 ──► QP 1 of the run whose program has registered the class, or this one's ──► read
 *
 * Subnet management packets that an adapter does not answer itself, as those for a subnet manager, travel the same way within a
 * segment; there is no QP 0. An adapter on Ethernet has none either, and answers nothing itself.
 */
import { GsiPort, type MadAddress } from '../../gsi/index.ts'
import {
  type Answer,
  abort,
  answerPerf,
  answerSmp,
  answerUnmatched,
  followRoute,
  invalidRoute,
} from '../../management/index.ts'
import { errnos, nowNs, type Parking } from '../../memory/index.ts'
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  grhLength,
  LinkLayer,
  type ProtectionDomain,
  VerbsError,
  WcFlag,
  WcOpcode,
  WcStatus,
  workCompletions,
} from '../../verbs/index.ts'
import { commIdOf, gsiQpn, madAgentId, madReceiver, registerMads, unregisterMads } from '../../verbs/provider/index.ts'
import {
  hasRmpp,
  isMadResponse,
  isSubnClass,
  Mad,
  MgmtClass,
  permissiveLid,
  put32,
  Rmpp,
  RmppFlag,
  RmppStatus,
  RmppType,
  Smp,
  u16,
  u32,
} from '../../wire/index.ts'
import { Errno } from '../door.ts'
import { fail } from '../errnos.ts'
import { replyAddress } from './addresses.ts'
import { type AgentOwner, type Sender, UmadAgent } from './agent.ts'
import { Outgoing } from './outgoing.ts'
import { OutgoingTable } from './outgoing-table.ts'
import { counterFiles } from './port-traffic.ts'
import type { Registration } from './registration.ts'
import { SegmentFabric } from './segment-fabric.ts'
import type { UserMad } from './structs.ts'

/**
 * Numbers of messages that can arrive before this thread polls, and that can be in flight; further ones are lost, as an adapter loses them.
 */
const gsiOptions = { receives: 256, sends: 256, takesMads: true }
const completionsAtOnce = 32
/** Requests of all programs that wait for a response. */
const maxOutgoing = 16_384

export class UmadPort {
  readonly context: Context
  readonly parkings: readonly Parking[]
  /** The adapters of its segment; null on Ethernet. */
  readonly fabric: SegmentFabric | null
  readonly #agents = new Map<number, UmadAgent>()
  readonly #outgoing = new OutgoingTable()
  readonly #wc = workCompletions(completionsAtOnce)
  /** Queue pair and its objects, while programs have agents. */
  #gsi: Gsi | null = null
  #serial = 0
  /**
   * Cached value of `#deadline`; null after an event that may have changed it. The supervisor reads it in each turn, and thousands may
   * wait.
   */
  #due: number | null = null

  /** `context`: one of the port alone. */
  constructor(context: Context) {
    this.context = context
    const { device } = context
    this.parkings = [device.host.segment.parking]
    const isEthernet = context.queryPort(1).linkLayer === LinkLayer.Ethernet
    this.fabric = isEthernet ? null : new SegmentFabric(device)
  }

  /** Returns the files of sysfs below the port whose content changes; each function returns the current content. */
  files(): Record<string, () => string> {
    const { host, index } = this.context.device
    const files = counterFiles(host, index)
    if (this.fabric === null) return files
    const node = this.fabric.node(index)
    files.sm_lid = () => `0x${node.portInfo().masterSmLid.toString(16)}`
    files.cap_mask = () => `0x${node.portInfo().capabilityMask.toString(16).padStart(8, '0')}`
    return files
  }

  // --- agents --------------------------------------------------------------------------------------------------------

  register(owner: AgentOwner, index: number, registration: Registration): UmadAgent {
    try {
      this.#gsi ??= openGsi(this.context)
      const { qp } = this.#gsi.port
      let high = commIdOf(qp, ++this.#serial)
      while (this.#agents.has(high)) high = commIdOf(qp, ++this.#serial)
      if (registration.mgmtClass !== 0) registerMads(qp, high | 0, registration)
      const agent = new UmadAgent(owner, index, registration, high)
      this.#agents.set(high, agent)
      return agent
    } catch (error) {
      this.#rest()
      throw asErrno(error)
    }
  }

  /** Drops the agent and its requests that wait. */
  unregister(agent: UmadAgent): void {
    this.#due = null
    this.#agents.delete(agent.transactionHigh)
    const now = nowNs()
    for (const sent of this.#outgoing) {
      if (sent.agent !== agent) continue
      if (sent.isNearlyLate(now)) agent.owner.gaveUp(sent.header, sent.message)
      this.#outgoing.delete(sent)
    }
    if (agent.registration.mgmtClass !== 0 && this.#gsi !== null)
      unregisterMads(this.#gsi.port.qp, agent.transactionHigh | 0)
    this.#rest()
  }

  /** Closes the queue pair without agents: none receives then, and the next one opens it anew. */
  #rest(): void {
    if (this.#agents.size > 0 || this.#gsi === null) return
    closeGsi(this.#gsi)
    this.#gsi = null
  }

  // --- sending -------------------------------------------------------------------------------------------------------

  /**
   * Sends what a program has written: the upper half of a request's transaction becomes the agent's. Throws an Errno. `isRmpp`: it is a message
   * of several packets.
   */
  send(agent: UmadAgent, header: UserMad, message: Uint8Array, to: MadAddress, isRmpp: boolean): void {
    this.#due = null
    if (!isMadResponse(message[Mad.method]!)) put32(message, Mad.transactionId, agent.transactionHigh)
    const sent = new Outgoing(agent, header, message, to, isRmpp)
    if (this.#isDuplicate(sent)) fail('EINVAL', 'umad_send: a MAD of this transaction and class is on its way already')
    const isKept = sent.rmpp !== null || sent.expectsResponse
    if (isKept) {
      if (this.#outgoing.size >= maxOutgoing)
        fail('ENOMEM', `umad_send: ${maxOutgoing} management datagrams wait for responses: read some first`)
      this.#outgoing.add(sent)
    }
    try {
      this.#transmit(sent)
    } catch (error) {
      this.#outgoing.delete(sent)
      throw asErrno(error)
    }
  }

  #isDuplicate(sent: Outgoing): boolean {
    for (const other of this.#outgoing.alike(sent.message)) {
      if (other.agent.owner !== sent.agent.owner || other.isResponse !== sent.isResponse) continue
      if (!sent.isResponse || other.to.key === sent.to.key) return true
    }
    return false
  }

  /** Sends a MAD, or sends it once more. */
  #transmit(sent: Outgoing): void {
    const now = nowNs()
    if (sent.rmpp !== null) {
      this.#pump(sent, now)
      return
    }
    if (sent.expectsResponse) sent.waitFrom(now)
    const mad = new Uint8Array(Mad.totalLength)
    mad.set(sent.message.subarray(0, Mad.totalLength))
    if (isSubnClass(mad[Mad.mgmtClass]!) && sent.agent.registration.qpn === 0) this.#sendSmp(sent, mad)
    else this.#sendGeneral(sent, mad)
  }

  /** Sends as many segments as may be in flight. */
  #pump(sent: Outgoing, now: number): boolean {
    const { port } = this.#gsi!
    let any = false
    while (!port.full) {
      const packet = sent.rmpp!.next(now)
      if (packet === null) break
      port.send(packet, sent.to)
      any = true
    }
    return any
  }

  #sendSmp(sent: Outgoing, mad: Uint8Array): void {
    const fabric = this.fabric!
    const own = this.context.device.index
    const isDirected = mad[Mad.mgmtClass] === MgmtClass.subnDirected
    const { lid } = sent.header
    let node = lid === permissiveLid ? own : fabric.nodeOf(lid)
    if (isDirected && isMadResponse(mad[Mad.method]!))
      node = mad[Smp.hopCount] === 0 ? own : (fabric.peerOf(own, 1)?.node ?? -1)
    else if (isDirected) node = followRoute(fabric, own, 1, mad, lid)
    if (node === invalidRoute) fail('EINVAL', 'umad_send: a directed route that does not begin at this port')
    if (node < 0) return
    const from = { lid: isDirected ? permissiveLid : fabric.lidOf(node), qpn: 0, sl: 0, pkeyIndex: 0, grh: null }
    if (!isMadResponse(mad[Mad.method]!) && this.#isAnswered(sent, mad, from, answerSmp(fabric.node(node), mad))) return
    this.#pass(sent, mad, node, from)
  }

  #sendGeneral(sent: Outgoing, mad: Uint8Array): void {
    const { fabric } = this
    if (fabric === null) {
      this.#gsi!.port.send(mad, sent.to)
      return
    }
    const node = this.context.device.route(sent.to.path!)
    if (node < 0) return
    const from = { lid: fabric.lidOf(node), qpn: gsiQpn, sl: sent.header.sl, pkeyIndex: 0, grh: null }
    const isForAgents = sent.to.qpn === gsiQpn && mad[Mad.mgmtClass] !== MgmtClass.comm
    const isRequest = isForAgents && !isMadResponse(mad[Mad.method]!)
    if (isRequest && mad[Mad.mgmtClass] === MgmtClass.perf)
      if (this.#isAnswered(sent, mad, from, answerPerf(fabric.node(node), mad))) return
    if (isForAgents) this.#pass(sent, mad, node, from)
    else this.#gsi!.port.send(mad, sent.to)
  }

  /** True if an adapter's own agent has handled a request; its response is then delivered. */
  #isAnswered(sent: Outgoing, mad: Uint8Array, from: Sender, answer: Answer): boolean {
    if (answer === 'answered') this.#deliver(sent.agent, mad, from)
    return answer !== 'passed'
  }

  /** Passes a MAD to the program that serves it; without one, answers as the kernel does then. */
  #pass(sent: Outgoing, mad: Uint8Array, node: number, from: Sender): void {
    const { host } = this.context.device
    if (madReceiver(host, node, mad, 0) >= 0) {
      const path = { ...sent.to.path!, dlid: this.fabric!.lidOf(node) }
      const isSmp = isSubnClass(mad[Mad.mgmtClass]!)
      this.#gsi!.port.send(mad, isSmp ? replyAddress({ ...from, lid: path.dlid, qpn: gsiQpn }) : sent.to)
    } else if (answerUnmatched(mad)) this.#deliver(sent.agent, mad, from)
    else host.count(node, 'gsi_drops_no_agent')
  }

  // --- receiving -----------------------------------------------------------------------------------------------------

  #collect(): boolean {
    const { cq, port } = this.#gsi!
    let any = false
    // At most what was there: a flood does not keep the others from their turn.
    for (let left: number = gsiOptions.receives + gsiOptions.sends; left > 0 && this.#gsi !== null; ) {
      const count = cq.poll(this.#wc)
      if (count <= 0) break
      this.#due = null
      for (let i = 0; i < count; i++) {
        const { wrId, opcode, status, slid, sl, srcQp, pkeyIndex, wcFlags } = this.#wc[i]!
        if (opcode !== WcOpcode.Recv) port.sent()
        else if (status === WcStatus.Success) {
          const { grh, mad } = port.received(wrId)
          const hasGrh = (wcFlags & WcFlag.Grh) !== 0
          const from = { lid: slid, qpn: srcQp, sl, pkeyIndex, grh: hasGrh ? grh.slice(0, grhLength) : null }
          const copy = mad.slice()
          port.release(wrId)
          this.#dispatch(copy, from)
        }
      }
      any = true
      left -= count
    }
    return any
  }

  /** Delivers to the agent whose transaction a MAD answers, or that has registered its class and method. */
  #dispatch(mad: Uint8Array, sender: Sender): void {
    const { host, index } = this.context.device
    const isResponse = isMadResponse(mad[Mad.method]!)
    const high = isResponse ? u32(mad, Mad.transactionId) : madAgentId(host, index, mad, 0) >>> 0
    const agent = this.#agents.get(high)
    if (agent === undefined) {
      host.count(index, 'mad_drops_unmatched')
      return
    }
    const mgmtClass = mad[Mad.mgmtClass]!
    const from = isSubnClass(mgmtClass) ? smpSender(mad, sender) : sender
    const isActive = hasRmpp(mgmtClass) && (mad[Rmpp.flags]! & RmppFlag.active) !== 0
    if (agent.receiver !== null && isActive) this.#segment(agent, mad, from)
    else this.#deliver(agent, mad, from)
  }

  /** Handles a packet of a message of several. */
  #segment(agent: UmadAgent, mad: Uint8Array, from: Sender): void {
    const receiver = agent.receiver!
    const now = nowNs()
    const back = replyAddress(from)
    const name = `${back.key}/${from.qpn}`
    const { port } = this.#gsi!
    switch (mad[Rmpp.type]) {
      case RmppType.data: {
        const { reply, message } = receiver.data(mad, name, back, now)
        if (reply !== null) port.send(reply, back)
        if (message !== null) this.#deliver(agent, message, from)
        return
      }
      case RmppType.ack:
        this.#acknowledge(agent, mad, back, now)
        return
      case RmppType.stop:
      case RmppType.abort:
        receiver.ended(mad, name)
        this.#acknowledge(agent, mad, back, now)
        return
      default:
        port.send(abort(mad, RmppStatus.badType).reply!, back)
    }
  }

  #acknowledge(agent: UmadAgent, mad: Uint8Array, back: MadAddress, now: number): void {
    for (const sent of this.#outgoing.alike(mad)) {
      if (sent.agent !== agent || sent.rmpp === null) continue
      const status = sent.rmpp.answered(mad, now)
      if (status !== null) this.#gsi!.port.send(abort(mad, status).reply!, back)
      if (sent.rmpp.failed) this.#outgoing.delete(sent)
      else if (!sent.rmpp.done) this.#pump(sent, now)
      else if (sent.expectsResponse) sent.waitFrom(now)
      else this.#outgoing.delete(sent)
      return
    }
  }

  /** Delivers a message to its agent's program. A response ends the wait for it; one for which no request waits is dropped. */
  #deliver(agent: UmadAgent, message: Uint8Array, from: Sender): void {
    if (isMadResponse(message[Mad.method]!)) {
      const request = this.#requestOf(agent, message)
      if (request !== undefined) this.#outgoing.delete(request)
      // A program that does RMPP itself gets its ACKs and later segments, too.
      else if (agent.registration.rmpp || (message[Rmpp.flags]! & RmppFlag.active) === 0) {
        const { host, index } = this.context.device
        host.count(index, 'mad_drops_unmatched')
        return
      }
    }
    agent.owner.received(agent, message, from)
  }

  #requestOf(agent: UmadAgent, message: Uint8Array): Outgoing | undefined {
    return this.#outgoing.alike(message).find((sent) => sent.agent === agent && !sent.isResponse)
  }

  // --- turns of the supervisor ---------------------------------------------------------------------------------------

  progress(): boolean {
    const gsi = this.#gsi
    if (gsi === null) return false
    let moved = false
    for (let cq = gsi.channel.tryGetEvent(); cq !== null; cq = gsi.channel.tryGetEvent()) {
      cq.ackEvents(1)
      moved = true
    }
    moved = this.#collect() || moved
    return this.#expire() || moved
  }

  /** Repeats, or gives up, messages that had no response in time. */
  #expire(): boolean {
    const now = nowNs()
    if (this.#deadline() > now) return false
    this.#due = null
    let any = false
    for (const sent of this.#outgoing) {
      if (sent.deadlineNs > now) continue
      any = true
      if (sent.rmpp !== null && !sent.rmpp.done) {
        this.#pump(sent, now)
        if (!sent.rmpp.failed) continue
      } else if (sent.isLate(now) && sent.retries()) {
        this.#transmit(sent)
        continue
      }
      this.#outgoing.delete(sent)
      sent.agent.owner.timedOut(sent.agent, sent.header, sent.message)
    }
    for (const { receiver } of this.#agents.values())
      for (const { source, reply } of receiver?.expire(now) ?? []) {
        this.#gsi!.port.send(reply, source)
        any = true
      }
    return any
  }

  #deadline(): number {
    this.#due ??= this.#firstDeadline()
    return this.#due
  }

  #firstDeadline(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { deadlineNs } of this.#outgoing) first = Math.min(first, deadlineNs)
    for (const { receiver } of this.#agents.values()) first = Math.min(first, receiver?.deadlineNs ?? first)
    return first
  }

  arm(): boolean {
    const gsi = this.#gsi
    if (gsi === null) return true
    gsi.cq.reqNotify()
    return !this.#collect() && !gsi.channel.hasEvent
  }

  restMs(): number {
    return Math.max(0, Math.ceil((this.#deadline() - nowNs()) / 1e6))
  }

  close(): void {
    for (const agent of [...this.#agents.values()]) this.unregister(agent)
  }
}

interface Gsi {
  readonly channel: CompletionChannel
  readonly cq: CompletionQueue
  readonly pd: ProtectionDomain
  readonly port: GsiPort
}

function openGsi(context: Context): Gsi {
  const made: { close(): void }[] = []
  const add = <T extends { close(): void }>(one: T): T => {
    made.unshift(one)
    return one
  }
  try {
    const channel = add(context.createCompChannel())
    const cq = add(context.createCq(gsiOptions.receives + gsiOptions.sends, { channel, singleThreaded: true }))
    const pd = add(context.allocPd())
    return { channel, cq, pd, port: new GsiPort(pd, cq, Math.random, gsiOptions) }
  } catch (error) {
    for (const one of made) one.close()
    throw error
  }
}

function closeGsi({ channel, cq, pd, port }: Gsi): void {
  port.close()
  for (let event = channel.tryGetEvent(); event !== null; event = channel.tryGetEvent()) event.ackEvents(1)
  cq.close()
  pd.close()
  channel.close()
}

/** A subnet management packet is of QP 0, and on a directed route of no LID. */
function smpSender(mad: Uint8Array, { lid, sl, pkeyIndex }: Sender): Sender {
  const isDirected = mad[Mad.mgmtClass] === MgmtClass.subnDirected && u16(mad, Smp.drSlid) === permissiveLid
  return { lid: isDirected ? permissiveLid : lid, qpn: 0, sl, pkeyIndex, grh: null }
}

/** Converts an error of a verb to the program's errno. */
function asErrno(error: unknown): unknown {
  if (!(error instanceof VerbsError)) return error
  return new Errno(errnos[error.code === 'ENOMEM' ? 'ENOMEM' : 'EINVAL'], error.message)
}
