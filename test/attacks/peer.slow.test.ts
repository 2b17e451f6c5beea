/**
 * A connected peer that lies: its queue pair was let in, its packets have the right address, PSN and ICRC. What it asks
 * beyond its rights is refused with the NAK of the specification and ends its own connection; others go on.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { type RocePacket, WireOpcode as W } from '../../src/wire/index.ts'
import { gidBytes } from './mads.ts'
import { type Accepted, long, moved, openStage, RawSender, type Stage } from './stage.ts'

let stage: Stage | undefined
const senders: RawSender[] = []
afterEach(async () => {
  for (const sender of senders.splice(0)) sender.close()
  await stage?.close()
  stage = undefined
})

const timeout = 60_000 * long(4)
const mtu = 4096
const firstPsn = 5000
const plain = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true }

/** A peer of the victim, at an address of its own, that can say anything. */
class Liar {
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
    const sender = await RawSender.open(from, on.victim.host)
    senders.push(sender)
    return new Liar(access, sender)
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

describe.skipIf(!nativeAvailable)('a connected peer that lies', { timeout }, () => {
  it('asks for sixteen READs of a large region, and then breaks a rule', async () => {
    stage = await openStage()
    const size = 128 << 20
    const liar = await Liar.connected(stage, 0, size)
    const { addr, rkey } = liar.access
    await stage.during(async () => {
      const reth = { va: BigInt(addr), rkey, dmaLength: size }
      for (let i = 0; i < 16; i++) await liar.send(W.RcReadRequest, { reth }, size / mtu)
      await liar.send(W.RcWriteLast, { payload: new Uint8Array(8) })
      await new Promise((resolve) => setTimeout(resolve, 2000))
    })
    // The region of the liar is resident at the victim.
    await stage.judge({ rssMiB: 48 + 2 * (size >> 20) })
  })

  const wrong: [string, string, (liar: Liar) => Promise<void>][] = [
    ['a key that opens nothing', 'naks_sent', (l) => write(l, { rkey: randomInt(1 << 30) })],
    [
      'a key of the region, beyond its end',
      'naks_sent',
      (l) => write(l, { va: BigInt(l.access.addr + l.access.length - 32) }),
    ],
    ['a key of the region, before its beginning', 'naks_sent', (l) => write(l, { va: BigInt(l.access.addr - 32) })],
    ['an address that wraps around', 'naks_sent', (l) => write(l, { va: 0xffff_ffff_ffff_fff0n })],
    [
      'a length of 2 GiB',
      'naks_sent',
      (l) => l.send(W.RcReadRequest, { reth: { va: BigInt(l.access.addr), rkey: l.access.rkey, dmaLength: 2 ** 31 } }),
    ],
    [
      'an atomic that is not aligned',
      'naks_sent',
      (l) =>
        l.send(W.RcFetchAdd, {
          atomicEth: { va: BigInt(l.access.addr + 1), rkey: l.access.rkey, swapAdd: 1n, compare: 0n },
        }),
    ],
    [
      'the end of a message that did not begin',
      'naks_sent',
      (l) => l.send(W.RcSendLast, { payload: new Uint8Array(64) }),
    ],
    ['a first packet shorter than the MTU', 'naks_sent', (l) => l.send(W.RcSendFirst, { payload: new Uint8Array(64) })],
  ]

  it('asks for what it may not have', async () => {
    stage = await openStage()
    let breaches = 0
    await stage.during(async () => {
      for (let round = 0; round < long(10); round++)
        for (const [, , breach] of wrong) {
          await breach(await Liar.connected(stage!, breaches++ % 8))
        }
    })
    const victim = await stage.judge()
    expect(moved(stage, victim, 'naks_sent')).toBeGreaterThanOrEqual(breaches)
    expect(moved(stage, victim, 'resp_remote_access_errors')).toBeGreaterThanOrEqual((breaches / wrong.length) * 4)
  })

  it('sends packets at random with the right address, queue pair and PSN', async () => {
    stage = await openStage()
    const own = 1 << 16
    await stage.during(async () => {
      for (let round = 0; round < 20 * long(30); round++) {
        const liar = await Liar.connected(stage!, round % 8, own)
        for (let i = 0; i < 20; i++) await liar.sendAnything()
      }
    })
    await stage.judge({ rssMiB: 48 + 40 * long(30) * (own / 2 ** 20) })
  })
})

async function write(liar: Liar, wrong: object): Promise<void> {
  const { addr, rkey } = liar.access
  const reth = { va: BigInt(addr), rkey, dmaLength: 64, ...wrong }
  await liar.send(W.RcWriteOnly, { reth, payload: randomBytes(64) })
}
