/** A connected peer that lies: its queue pair was let in, and its packets have the right address, PSN and ICRC. */
import { randomBytes, randomInt } from 'node:crypto'
import { type RocePacket, WireOpcode as W } from '../../src/wire/index.ts'
import { gidBytes } from './mads.ts'
import type { Accepted, RawSender, Stage } from './stage.ts'

export const mtu = 4096
const firstPsn = 5000
const plain = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true }

/** A peer of the victim, at an address of its own, that can say anything. */
export class Liar {
  readonly access: Accepted
  readonly #sender: RawSender
  psn = firstPsn

  constructor(access: Accepted, sender: RawSender) {
    this.access = access
    this.#sender = sender
  }

  static async connected(on: Stage, i = 0, bytes = 0): Promise<Liar> {
    const from = on.attackerHosts[i]!
    const remote = { qpn: 0x4242, psn: firstPsn, lid: 0, gid: gidBytes(from) }
    const access = await on.victim.ask<Accepted>('accept', { remote, bytes })
    return new Liar(access, await on.sender(i))
  }

  /** Any opcode, and bytes behind the BTH that may pass for a RETH or AtomicETH of its own region. */
  async sendAnything(): Promise<void> {
    const { addr, length, qpn, rkey } = this.access
    const behind = randomBytes(4 * randomInt(0, 60))
    if (behind.length >= 16 && randomInt(4) > 0) {
      behind.writeBigUInt64BE(BigInt(addr + randomInt(length)), 0)
      behind.writeUInt32BE(rkey, 8)
      if (randomInt(2)) behind.writeUInt32BE(randomInt(length), 12)
    }
    const bth = { ...plain, opcode: W.RcSendOnly, destQp: qpn, psn: this.psn }
    const bytes = this.#sender.bytes({ bth, payload: behind })
    bytes[0] = randomInt(8) ? randomInt(0x20) : randomInt(256)
    if (randomInt(4)) this.psn = (this.psn + 1) & 0xffffff
    await this.#sender.send(this.#sender.seal(bytes))
  }

  /** Sends a packet with the next PSN, which then moves on by `packets`. */
  async send(opcode: number, more: Partial<RocePacket> = {}, packets = 1): Promise<void> {
    const bth = { ...plain, opcode, destQp: this.access.qpn, psn: this.psn }
    await this.#sender.send(this.#sender.bytes({ bth, payload: new Uint8Array(0), ...more }))
    this.psn = (this.psn + packets) & 0xffffff
  }
}

/** What it may not have, or breaks a rule: each is answered with a NAK. The first four are counted as refused access. */
export const breaches: readonly ((liar: Liar) => Promise<void>)[] = [
  // A key that opens nothing; and its own, beyond the end of the region, before its beginning, around the end of all numbers.
  (l) => write(l, { rkey: randomInt(1 << 30) }),
  (l) => write(l, { va: BigInt(l.access.addr + l.access.length - 32) }),
  (l) => write(l, { va: BigInt(l.access.addr - 32) }),
  (l) => write(l, { va: 0xffff_ffff_ffff_fff0n }),
  // A READ of 2 GiB, and an atomic that is not aligned.
  (l) => l.send(W.RcReadRequest, { reth: { va: BigInt(l.access.addr), rkey: l.access.rkey, dmaLength: 2 ** 31 } }),
  (l) => {
    const { addr, rkey } = l.access
    return l.send(W.RcFetchAdd, { atomicEth: { va: BigInt(addr + 1), rkey, swapAdd: 1n, compare: 0n } })
  },
  // The end of a message that did not begin, and a first packet shorter than the MTU.
  (l) => l.send(W.RcSendLast, { payload: new Uint8Array(64) }),
  (l) => l.send(W.RcSendFirst, { payload: new Uint8Array(64) }),
]

async function write(liar: Liar, wrong: object): Promise<void> {
  const { addr, rkey } = liar.access
  const reth = { va: BigInt(addr), rkey, dmaLength: 64, ...wrong }
  await liar.send(W.RcWriteOnly, { reth, payload: randomBytes(64) })
}
