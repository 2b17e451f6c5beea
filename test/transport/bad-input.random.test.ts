/**
 * Packets that nobody should send: the captures' packets, aimed at QPs of ours and then damaged, and bytes at random.
 * Nothing throws or hangs; each packet is carried out, answered or dropped, and counted once; no byte outside of
 * registered memory changes; and what the QPs answer are packets that keep all rules.
 */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { Access, connectQp, Opcode, QpState, QpType, type QueuePair, workCompletions } from '../../src/index.ts'
import { TransportQp } from '../../src/transport/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { Bth, put16, put24, put32, put64, u16 } from '../../src/wire/index.ts'
import { holds, seeds } from '../property.ts'
import { seeded } from '../random.ts'
import { captureNames, packetsOf, placesOf } from '../wire/captures.ts'
import { mtu, ours, peerQp, type Script, theirs, withScript } from './script.ts'

const guard = 4096

/** From BTH to the end of the pad, each kind of packet about as often as any other. */
const kindsOfPackets = ((): Uint8Array[] => {
  const kinds = new Map<string, Uint8Array[]>()
  for (const name of captureNames)
    for (const { frame } of packetsOf(name)) {
      const { udp, bth, icrc } = placesOf(frame)
      if (u16(frame, udp + 2) !== 4791) continue
      const kind = `${frame[bth]} ${frame.length >> 6}`
      const some = kinds.get(kind) ?? []
      if (some.length < 4) some.push(frame.slice(bth, icrc))
      kinds.set(kind, some)
    }
  return [...kinds.values()].flat()
})()

/** Counters that say what became of a packet. */
const dropCounters = [
  ...['drops_malformed', 'drops_opcode', 'drops_pkey', 'drops_no_qp', 'drops_qp_state', 'drops_source'],
  ...['drops_unexpected_ack', 'drops_duplicate_unknown', 'drops_nak_pending', 'drops_uc_sequence'],
  ...['uc_drops_no_receive', 'uc_drops_access', 'ud_drops_qkey', 'ud_drops_no_receive', 'ud_drops_length'],
  ...['gsi_drops_malformed', 'gsi_drops_no_agent'],
]
const outcomeCounters = [
  ...['duplicate_request', 'out_of_seq_request', 'naks_sent', 'send_rnr_err', 'rdma_recvs', 'cnps_rcvd'],
  ...['naks_rcvd', 'rcvd_rnr_err', 'rcvd_seq_err', 'completer_retry_err', 'retry_exceeded_err'],
]

class Range {
  readonly #s: Script
  readonly #random: () => number
  readonly #qps: QueuePair[] = []
  readonly #wc = workCompletions(64)
  readonly #buffer: Uint8Array
  readonly #mr: { addr: number; rkey: number; lkey: number }

  constructor(s: Script, random: () => number) {
    this.#s = s
    this.#random = random
    const { context, pd } = s.end
    this.#buffer = s.t.alloc(context, 3 * guard)
    this.#buffer.fill(0xa5)
    const rights = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal
    this.#mr = s.t.own(pd.regMr(this.#buffer.subarray(guard, 2 * guard), rights))
    const { sendCq, recvCq } = s.end
    for (const type of [QpType.RC, QpType.RC, QpType.UC, QpType.UD])
      this.#qps.push(s.t.own(pd.createQp({ type, sendCq, recvCq, cap: { maxSendWr: 16, maxRecvWr: 16 } })))
    for (const qp of this.#qps) this.#connect(qp)
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #connect(qp: QueuePair): void {
    if (qp.state !== QpState.Reset) qp.modify({ state: QpState.Reset })
    const gid = new Uint8Array(16)
    gid.set([0xff, 0xff, 10, 0, 0, 99], 10)
    connectQp(qp, { psn: ours }, qp.type === QpType.UD ? null : { qpn: peerQp, psn: theirs, lid: 0, gid }, {
      pathMtu: mtu,
      accessFlags:
        Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal,
      timeout: 14,
      maxRdAtomic: 4,
      maxDestRdAtomic: 4,
      qkey: 0x11111111,
    })
    const sge = { addr: this.#mr.addr + 1024, length: 2048, lkey: this.#mr.lkey }
    for (let i = 0; i < 16; i++) qp.postRecv({ wrId: i, sgList: [sge] })
    if (qp !== this.#qps[1]) return
    // This one waits for answers of all kinds.
    const remote = { remoteAddr: 0x1000, rkey: 1 }
    for (const opcode of [Opcode.Send, Opcode.Read, Opcode.AtomicFetchAndAdd, Opcode.Write, Opcode.Read]) {
      const atomic = opcode === Opcode.AtomicFetchAndAdd
      const sgList = [{ ...sge, length: atomic ? 8 : 3 * mtu }]
      qp.postSend({ opcode, sgList, sendFlags: 2, ...remote, ...(atomic ? { compareAdd: 1n } : {}) } as never)
    }
  }

  /** A packet of the captures, aimed at one of the QPs, then damaged or not; or bytes at random. */
  next(): Uint8Array {
    const below = (n: number): number => this.#below(n)
    if (below(20) === 0) return Uint8Array.from({ length: below(200) }, () => below(256))
    let b = Uint8Array.from(kindsOfPackets[below(kindsOfPackets.length)]!)
    const which = below(this.#qps.length)
    if (below(10) > 0) put24(b, Bth.destQp, this.#qps[which]!.qpNum)
    if (below(10) > 0) put16(b, Bth.pkey, 0xffff)
    if (which === 2 && below(4) > 0 && b[0]! < 0x20) b[0]! |= 0x20
    const place = below(8)
    if (place < 5) put24(b, Bth.psn, this.#expected(which, b[0]!))
    else if (place < 7) put24(b, Bth.psn, (this.#expected(which, b[0]!) + below(9) - 5) & 0xffffff)
    if (b.length >= Bth.length + 16 && below(4) > 0) {
      // Address and key of RETH and AtomicETH stand at the same place.
      put64(b, Bth.length, this.#mr.addr + below(8) * 8 + (below(8) ? 0 : below(9000) - 4500))
      put32(b, Bth.length + 8, this.#mr.rkey)
      if (below(2)) put32(b, Bth.length + 12, Math.max(0, b.length - Bth.length - 16))
    }
    if (b[0] === 0x64 || b[0] === 0x65) put32(b, Bth.length, 0x11111111)
    for (let hits = below(3) ? 0 : 1 + below(4); hits > 0 && b.length > 0; hits--) {
      const at = below(2) ? below(b.length) : below(Math.min(b.length, 32))
      if (below(2)) b[at]! ^= 1 << below(8)
      else b[at] = below(256)
    }
    const cut = below(12)
    if (cut === 0) b = b.slice(0, below(b.length + 1))
    else if (cut === 1) b = Uint8Array.from([...b, ...new Uint8Array(below(9))])
    return b
  }

  #words(which: number): { epsn: number; una: number } {
    const { host } = this.#s.device
    const t = host.i32[host.qpWord(this.#qps[which]!.slot) + layout.Qp.wire]!
    return { epsn: host.i32[t + TransportQp.epsn]!, una: host.i32[t + TransportQp.una]! }
  }

  #expected(which: number, opcode: number): number {
    const { epsn, una } = this.#words(which)
    const answer = opcode >= 0x0d && opcode <= 0x12
    return answer ? una || ours : epsn || theirs
  }

  #counters(): Record<string, number> {
    return this.#s.end.context.counters()
  }

  /** Sends one packet and looks what became of it. */
  step(b: Uint8Array): void {
    const before = this.#counters()
    const words = this.#qps.map((_, i) => this.#words(i))
    const states = this.#qps.map(({ state }) => state)
    this.#s.sendRaw(this.#s.withIcrc(b))
    const after = this.#counters()
    const rose = (name: string): number => after[name]! - before[name]!
    const drops = dropCounters.filter((name) => rose(name) > 0)
    const outcomes = outcomeCounters.filter((name) => rose(name) > 0)
    const moved = this.#qps.some((qp, i) => {
      const { epsn, una } = this.#words(i)
      return qp.state !== states[i] || epsn !== words[i]!.epsn || una !== words[i]!.una
    })
    const what = (): string => `${Buffer.from(b).toString('hex')}: ${[...drops, ...outcomes, moved ? 'moved' : '']}`
    if (drops.length > 1 || drops.some((name) => rose(name) !== 1)) throw new Error(`counted twice: ${what()}`)
    if (drops.length + outcomes.length === 0 && !moved) throw new Error(`neither carried out nor counted: ${what()}`)
    // Each answer of the QPs was read by the peer; it must not ask for more than one.
    this.#s.take()
    for (const cq of [this.#s.end.sendCq, this.#s.end.recvCq]) while (cq.poll(this.#wc) > 0);
  }

  /** Looks after the memory, and sets up anew what is broken or used up. */
  rest(): void {
    const { buffer } = this.#s.end
    for (let i = 0; i < guard; i++)
      if (this.#buffer[i] !== 0xa5 || this.#buffer[2 * guard + i] !== 0xa5)
        throw new Error(`memory beside the region has changed at ${i}`)
    if (buffer.some((byte) => byte !== 0)) throw new Error('memory that no packet may reach has changed')
    for (const event of iterate(() => this.#s.end.context.pollAsyncEvent())) this.#s.end.context.ackAsyncEvent(event)
    for (const qp of this.#qps) this.#connect(qp)
    for (const cq of [this.#s.end.sendCq, this.#s.end.recvCq]) while (cq.poll(this.#wc) > 0);
  }
}

function* iterate<T>(take: () => T | null): Generator<T> {
  for (let value = take(); value !== null; value = take()) yield value
}

describe('bad input', () => {
  it('damaged and random packets', async () => {
    await holds(
      fc.asyncProperty(seeds, async (seed) => {
        await withScript(
          (s) => {
            const range = new Range(s, seeded(seed))
            for (let round = 0; round < 10; round++) {
              for (let i = 0; i < 40; i++) range.step(range.next())
              range.rest()
            }
          },
          { bytes: 4096 },
        )
      }),
      20,
    )
  })
})
