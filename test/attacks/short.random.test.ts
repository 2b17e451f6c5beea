/** The attacks that `npm test` has time for, a second each. The slower suites make many times as many tries, and all others. */
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { breaches, Liar } from './liar.ts'
import { gidBytes, packetTo } from './mads.ts'
import { long, moved, openStage, type Stage } from './stage.ts'

let stage: Stage | undefined
afterEach(async () => {
  await stage?.close()
  stage = undefined
})

const timeout = 60_000 * long(4)

describe.skipIf(!nativeAvailable)('a stranger', { timeout }, () => {
  it('knows the number of a queue pair, its PSN and its key, and sends from another address', async () => {
    stage = await openStage()
    const { qpn, psn, addr, rkey } = await stage.victim.ask<{ qpn: number; psn: number; addr: number; rkey: number }>(
      'accept',
      { remote: { qpn: 77, psn: 0, lid: 0, gid: gidBytes(stage.attackerHosts[5]!) } },
    )
    const sender = await stage.sender()
    const packets = 500 * long(20)
    const write = { reth: { va: BigInt(addr), rkey, dmaLength: 64 }, payload: new Uint8Array(64).fill(0xee) }
    await stage.during(async () => {
      for (let i = 0; i < packets; i++) {
        await sender.send(sender.bytes(packetTo(qpn, WireOpcode.RcWriteOnly, psn + i, write)))
        await sender.send(sender.bytes(packetTo(qpn, WireOpcode.RcAck, psn + i, { aeth: { syndrome: 0x63, msn: 0 } })))
      }
    })
    const victim = await stage.judge()
    expect(moved(stage, victim, 'drops_source') + moved(stage, victim, 'drops_socket_buffer')).toBeGreaterThanOrEqual(
      2 * packets,
    )
  })
})

describe.skipIf(!nativeAvailable)('a connected peer that lies', { timeout }, () => {
  it('asks for what it may not have', async () => {
    stage = await openStage()
    let made = 0
    await stage.during(async () => {
      for (let round = 0; round < long(10); round++)
        for (const breach of breaches) await breach(await Liar.connected(stage!, made++ % 8))
    })
    const victim = await stage.judge()
    expect(moved(stage, victim, 'naks_sent')).toBeGreaterThanOrEqual(made)
    expect(moved(stage, victim, 'resp_remote_access_errors')).toBeGreaterThanOrEqual((made / breaches.length) * 4)
  })
})
