/**
 * A small language for tests at the level of packets: one QP of the transport, and a peer that is a script.
 *
 *     scripted('a duplicate is acknowledged again', (s) => {
 *       s.receive(64)
 *       s.send({ op: 'RcSendOnly', psn: 200, payload: bytes(8), ackReq: true })
 *       s.expect({ op: 'RcAck', psn: 200, syndrome: ack })
 *       s.send({ op: 'RcSendOnly', psn: 200, payload: bytes(8) })
 *       s.expect({ op: 'RcAck', psn: 200 })
 *       s.expectSilence()
 *     })
 *
 * The QP expects PSN 200 and sends from PSN 100 on. Time stands still but for `wait`.
 */
import { expect, it } from 'vitest'
import {
  Access,
  type ConnectOptions,
  connectQp,
  EventType as Events,
  type EventType,
  nameOf,
  type Opcode,
  openDevice,
  type QpType,
  type QueuePair,
  QpType as Types,
  workCompletions,
} from '../../src/index.ts'
import { TransportQp } from '../../src/transport/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import {
  type BthFields,
  type Extensions,
  emitPacket,
  gidOfIp,
  IcrcFlow,
  isMalformed,
  opcodeTable,
  packetLength,
  parsePacket,
  Syndrome,
  syndromeText,
  WireOpcode,
} from '../../src/wire/index.ts'
import { End, type EndOptions, type Fields, fullAccess, pattern } from '../compliance/end.ts'
import { type Completion, type ComplianceRig, copyOf, Setup, SharedContexts } from '../compliance/rig.ts'
import { congested, link, registerVirtual, type VirtualDevice } from './virtual.ts'

registerVirtual()

export const ack: number = Syndrome.AckNoCredits
export const nak: { sequence: number; invalid: number; access: number; operational: number } = {
  sequence: Syndrome.PsnSequence,
  invalid: Syndrome.InvalidRequest,
  access: Syndrome.RemoteAccess,
  operational: Syndrome.RemoteOperational,
}
/** The syndrome of an RNR NAK with this timer code. */
export const rnr = (code: number): number => 0x20 | code
export const bytes: (length: number, seed?: number) => Uint8Array = pattern

/** The peer: its QP number, and its address 10.0.0.99. */
export const peerQp = 0x123456
const peerNumber = 98
/** The PSN that the QP expects first, and the one it sends first. */
export const theirs = 200
export const ours = 100
export const mtu = 256

export type OpName = keyof typeof WireOpcode

export interface Packet extends Partial<Omit<BthFields, 'opcode'>>, Extensions {
  op: OpName
  payload?: Uint8Array
  /** Changes the bytes before the ICRC is written over them. */
  spoil?: (packet: Uint8Array) => Uint8Array | undefined
  /** The number of the adapter that it comes from instead, one less than the last byte of its address. */
  from?: number
  trafficClass?: number
}

/** What is seen of a packet: as little as tests name. */
export interface Seen {
  op: OpName
  psn: number
  ackReq: boolean
  destQp: number
  syndrome?: number
  msn?: number
  length: number
  payload: Uint8Array
  reth?: { va: bigint; rkey: number; dmaLength: number }
  original?: bigint
}

const opNames = Object.fromEntries(Object.entries(WireOpcode).map(([name, code]) => [code, name])) as Record<
  number,
  OpName
>

export interface ScriptOptions extends EndOptions {
  /** The QP is on the adapter with congestion control. */
  congestionControl?: boolean
  type?: QpType
  connect?: ConnectOptions & { sqPsn?: number; rqPsn?: number }
}

export class Script {
  readonly t: Setup
  readonly end: End
  readonly device: VirtualDevice
  readonly #seen: Seen[] = []
  readonly #flow: IcrcFlow
  readonly #wc = workCompletions(16)
  readonly #before: Record<string, number>
  readonly #connect: NonNullable<ScriptOptions['connect']>
  #qp!: QueuePair

  constructor(t: Setup, { type = Types.RC, connect, congestionControl = false, ...options }: ScriptOptions) {
    this.t = t
    this.end = new End(t, t.context(congestionControl ? 1 : 0), type, {
      access: fullAccess | Access.FlushGlobal,
      ...options,
    }) as unknown as End
    this.device = link.devices[congestionControl ? 2 : 0]!
    this.#flow = new IcrcFlow(Uint8Array.of(10, 0, 0, peerNumber + 1), this.device.address, 4791)
    this.#connect = connect ?? {}
    this.use(this.end.qp)
    link.peers.set(peerNumber + 1, (packet) => this.#seen.push(see(packet)))
    this.#before = this.end.context.counters()
  }

  /** Connects a QP to the peer; what follows is about this one. */
  use(qp: QueuePair): void {
    const { sqPsn = ours, rqPsn = theirs, ...others } = this.#connect
    this.#qp = qp
    const gid = gidOfIp(Uint8Array.of(10, 0, 0, peerNumber + 1))
    connectQp(qp, { psn: sqPsn }, qp.type === Types.UD ? null : { qpn: peerQp, psn: rqPsn, lid: 0, gid }, {
      pathMtu: mtu,
      accessFlags: (fullAccess & ~Access.MwBind) | Access.FlushGlobal,
      timeout: 14,
      retryCnt: 2,
      rnrRetry: 2,
      minRnrTimer: 12,
      maxRdAtomic: 2,
      maxDestRdAtomic: 2,
      ...others,
    })
  }

  // --- the peer ----------------------------------------------------------------------------------------------------

  /** The bytes of a packet to the QP, from BTH to ICRC. */
  bytesOf({ op, payload = new Uint8Array(0), spoil, from, trafficClass, ...rest }: Packet): Uint8Array {
    const { solicited, migReq, pkey, fecn, becn, destQp, ackReq, psn, ...extensions } = rest
    const bth = {
      opcode: WireOpcode[op],
      solicited: solicited ?? false,
      migReq: migReq ?? true,
      pkey: pkey ?? 0xffff,
      fecn: fecn ?? false,
      becn: becn ?? false,
      destQp: destQp ?? this.#qp.qpNum,
      ackReq: ackReq ?? false,
      psn: (psn ?? 0) & 0xffffff,
    }
    const packet = { bth, payload, ...extensions }
    const plain = new Uint8Array(packetLength(packet))
    emitPacket(packet, plain, 0)
    return this.withIcrc(spoil?.(plain) ?? plain)
  }

  withIcrc(packet: Uint8Array): Uint8Array {
    const whole = new Uint8Array(packet.length + 4)
    whole.set(packet)
    this.#flow.write(whole, 0, packet.length)
    return whole
  }

  /** Sends packets to the QP, which then does what it can do at once. */
  send(...packets: Packet[]): void {
    for (const packet of packets) {
      const from = packet.from ?? peerNumber
      if (from === peerNumber) link.inject(this.device, this.bytesOf(packet), from, packet.trafficClass)
      else {
        const whole = this.bytesOf(packet)
        const source = Uint8Array.of(10, 0, 0, from + 1)
        new IcrcFlow(source, this.device.address, 4791).write(whole, 0, whole.length - 4)
        link.inject(this.device, whole, from)
      }
      this.drive()
    }
  }

  /** Packets that arrive together, before the QP answers any of them. */
  burst(...packets: Packet[]): void {
    this.arrive(...packets)
    this.drive()
  }

  /** Packets arrive; nothing is done with them before the device is driven. */
  arrive(...packets: Packet[]): void {
    for (const packet of packets) link.inject(this.device, this.bytesOf(packet), peerNumber)
  }

  /** Sends bytes as they are. */
  sendRaw(whole: Uint8Array): void {
    link.inject(this.device, whole, peerNumber)
    this.drive()
  }

  drive(): void {
    while (this.device.drive(true) > 0);
  }

  /** Lets time pass, with all that happens in it. */
  wait(ns: number): void {
    const until = link.nowNs + ns
    for (let next = this.device.nextDeadlineNs; next <= until; next = this.device.nextDeadlineNs) {
      link.nowNs = Math.max(link.nowNs, next)
      this.drive()
    }
    link.nowNs = until
    this.drive()
  }

  /** Lets time pass while nobody drives the device. */
  late(ns: number): void {
    link.nowNs += ns
    this.drive()
  }

  /** The next packet that the QP sent. */
  expect(expected: Partial<Seen>): Seen {
    const seen = this.#seen.shift()
    if (!seen) return expect.fail(`no packet, but expected ${text(expected)}`)
    const { payload, ...rest } = expected
    expect(seen).toMatchObject(rest)
    if (payload) expect([...seen.payload]).toEqual([...payload])
    return seen
  }

  expectSilence(): void {
    expect(this.#seen.map(text)).toEqual([])
  }

  /** Packets that nobody looked at yet. */
  take(): Seen[] {
    return this.#seen.splice(0)
  }

  // --- the QP ------------------------------------------------------------------------------------------------------

  /** Posts a request to memory of the peer that does not exist. */
  post(opcode: Opcode, fields: Fields = {}): void {
    this.end.post(opcode, null, { remoteAddr: 0x1000, rkey: 0x77, ...fields })
    this.drive()
  }

  receive(length: number = 4096, wrId: number = 1, offset: number = 0): void {
    this.end.recv(wrId, offset, length)
  }

  /** The next completion of sends or receives, or null. */
  completion(which: 'send' | 'recv' = 'send'): Completion | null {
    const cq = which === 'send' ? this.end.sendCq : this.end.recvCq
    return cq.poll(this.#wc, 1) === 1 ? copyOf(this.#wc[0]!) : null
  }

  expectCompletion(expected: Partial<Completion>, which: 'send' | 'recv' = 'send'): void {
    expect(this.completion(which)).toMatchObject(expected)
  }

  expectNoCompletion(): void {
    expect([this.completion('send'), this.completion('recv')]).toEqual([null, null])
  }

  /** By how much counters have risen, of those that did. */
  counted(): Record<string, number> {
    const rose = Object.entries(this.end.context.counters())
      .map(([name, n]) => [name, n - this.#before[name]!] as const)
      .filter(([, n]) => n !== 0)
    return Object.fromEntries(rose)
  }

  expectEvent(type: EventType | null): void {
    let found: string | null = null
    for (let event = this.end.context.pollAsyncEvent(); event; event = this.end.context.pollAsyncEvent()) {
      this.end.context.ackAsyncEvent(event)
      if (event.type !== Events.CommEst) found = nameOf(Events, event.type)
    }
    expect(found).toBe(type === null ? null : nameOf(Events, type))
  }

  /** As a connection manager does where both ends want end-to-end credits. */
  useCredits(): void {
    const { host } = this.device
    host.i32[host.i32[host.qpWord(this.#qp.slot) + layout.Qp.wire]! + TransportQp.flowControl] = 1
  }

  reth(fields: { offset?: number; length?: number; rkey?: number } = {}): { reth: NonNullable<Seen['reth']> } {
    const { offset = 0, length = 0, rkey = this.end.mr.rkey } = fields
    return { reth: { va: BigInt(this.end.mr.addr + offset), rkey: rkey >>> 0, dmaLength: length } }
  }

  atomicEth(add: bigint, fields: { offset?: number; compare?: bigint } = {}): Pick<Packet, 'atomicEth'> {
    const { offset = 0, compare = 0n } = fields
    const rkey = this.end.mr.rkey >>> 0
    return { atomicEth: { va: BigInt(this.end.mr.addr + offset), rkey, swapAdd: add, compare } }
  }

  /** An ACK or NAK of the peer. */
  answer(psn: number, syndrome: number = ack, msn: number = 0): void {
    this.send({ op: 'RcAck', psn, aeth: { syndrome, msn } })
  }
}

function text({ op, psn, syndrome, length }: Partial<Seen>): string {
  const says = syndrome === undefined || op !== 'RcAck' ? '' : ` ${syndromeText(syndrome)}`
  return `${op} ${psn}${says}${length ? ` ${length} bytes` : ''}`
}

export { text as textOf }

function see(whole: Uint8Array): Seen {
  const packet = parsePacket(whole, 0, whole.length - 4)
  if (isMalformed(packet)) throw new Error(`the QP sent a packet that is ${packet}: ${opcodeTable[whole[0]!]?.name}`)
  const { bth, aeth, reth, atomicAckEth, payload } = packet
  return {
    op: opNames[bth.opcode]!,
    psn: bth.psn,
    ackReq: bth.ackReq,
    destQp: bth.destQp,
    length: payload.length,
    payload: payload.slice(),
    ...(aeth ? { syndrome: aeth.syndrome, msn: aeth.msn } : {}),
    ...(reth ? { reth } : {}),
    ...(atomicAckEth ? { original: atomicAckEth.original } : {}),
  }
}

const rig: ComplianceRig = {
  names: ['virtual0', congested[0]],
  open: (side: number) => openDevice(rig.names[side]!),
  patienceMs: 1000,
  quietMs: 5,
  settle: (): void => undefined,
}
const contexts = new SharedContexts(rig)

/** A test with a QP and a scripted peer. */
export function scripted(title: string, body: (s: Script) => void | Promise<void>, options: ScriptOptions = {}): void {
  it(title, () => withScript(body, options))
}

export async function withScript(
  body: (s: Script) => void | Promise<void>,
  options: ScriptOptions = {},
): Promise<void> {
  const t = new Setup(rig, contexts)
  link.frozen = true
  let failed = true
  try {
    await body(new Script(t, options))
    failed = false
  } finally {
    link.peers.clear()
    for (const device of Object.values(link.devices)) device.oneTurn = false
    await t.dispose(failed)
    contexts.drainEvents()
    link.frozen = false
    // What was still on its way arrives nowhere.
    while (link.step());
  }
}
