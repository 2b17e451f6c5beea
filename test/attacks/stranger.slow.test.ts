/**
 * A stranger: somebody who can send UDP datagrams to a device, and has no key, no connection and no sight of others'
 * packets. What it sends is dropped and counted; connections of others go on.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { type CmMessage, cmMessage, type RocePacket, WireOpcode } from '../../src/wire/index.ts'
import { emitRequest, gidBytes, guidOf, madPacket } from './mads.ts'
import { long, moved, openStage, RawSender, type Stage, until } from './stage.ts'

let stage: Stage | undefined
const senders: RawSender[] = []
afterEach(async () => {
  for (const sender of senders.splice(0)) sender.close()
  await stage?.close()
  stage = undefined
})

async function stranger(on: Stage, i = 0, port = 0): Promise<RawSender> {
  const sender = await RawSender.open(on.attackerHosts[i]!, on.victim.host, port)
  senders.push(sender)
  return sender
}

const packetTo = (destQp: number, opcode: number, psn: number, more: Partial<RocePacket> = {}): RocePacket => ({
  bth: { opcode, solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true, destQp, psn },
  payload: new Uint8Array(0),
  ...more,
})

const timeout = 60_000 * long(4)

describe.skipIf(!nativeAvailable)('a stranger', { timeout }, () => {
  it('sends bytes at random, and packets for queue pairs that there are not', async () => {
    stage = await openStage()
    const sender = await stranger(stage)
    const each = 2000 * long(20)
    await stage.during(async () => {
      for (let i = 0; i < each; i++) {
        await sender.send(randomBytes(randomInt(1, 1400)))
        await sender.send(sender.bytes(packetTo(randomInt(2, 1 << 24), WireOpcode.RcSendOnly, randomInt(1 << 24))))
      }
    })
    const victim = await stage.judge()
    const dropped = [
      'drops_malformed',
      'icrc_errors',
      'drops_no_qp',
      'drops_socket_buffer',
      'drops_opcode',
      'drops_qp_state',
    ]
    const counted = dropped.reduce((sum, name) => sum + moved(stage!, victim, name), 0)
    // A guess may hit one of the two QP numbers of 2^24 that exist; its address is wrong.
    expect(counted + moved(stage, victim, 'drops_source')).toBeGreaterThanOrEqual(2 * each)
  })

  it('knows the number of a queue pair, its PSN and its key, and sends from another address', async () => {
    stage = await openStage()
    const { qpn, psn, addr, rkey } = await stage.victim.ask<{ qpn: number; psn: number; addr: number; rkey: number }>(
      'accept',
      { remote: { qpn: 77, psn: 0, lid: 0, gid: gidBytes(stage.attackerHosts[5]!) } },
    )
    const sender = await stranger(stage)
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

  it('rejects and disconnects connections of others by their communication IDs', async () => {
    stage = await openStage()
    const sender = await stranger(stage)
    const bystanderGuid = guidOf(stage.bystander.host)
    const info = new Uint8Array(72)
    new DataView(info.buffer).setBigUint64(0, bystanderGuid)
    const tries = 4000 * long(100)
    await stage.during(async () => {
      for (let i = 0; i < tries; i++) {
        // The ID begins with the place of the agent, which is 1 in most programs.
        const id = ((1 << 22) | (i & 0x3fffff)) >>> 0
        const other = ((1 << 22) | randomInt(1 << 22)) >>> 0
        const messages = [
          cmMessage('REJ', 1n, {
            localCommId: other,
            remoteCommId: id,
            reason: 4,
            additionalInfoLength: 8,
            additionalInfo: info,
          }),
          cmMessage('DREQ', BigInt(i), { localCommId: other, remoteCommId: id, remoteQpn: randomInt(1 << 24) }),
        ]
        for (const message of messages) await sender.send(sender.bytes(madPacket(message)))
      }
    })
    const victim = await stage.judge()
    const counted = ['cm_drops_source', 'cm_drops_unknown_id', 'cm_drops_queue', 'ud_drops_no_receive']
    expect(counted.reduce((sum, name) => sum + moved(stage!, victim, name), 0)).toBeGreaterThan(0)
  })

  it('asks for connections faster than anybody can answer', async () => {
    stage = await openStage()
    const sender = await stranger(stage)
    const tries = 60_000 * long(5)
    await stage.during(async () => {
      for (let i = 0; i < tries; i++) {
        const privateData = randomBytes(40)
        await sender.send(sender.bytes(madPacket(request(stage!, i, { privateData }))))
      }
    })
    // The young generation of V8 grows under it; what is kept of requests is a few MiB.
    const victim = await stage.judge({ rssMiB: 128 })
    const dropped = ['cm_drops_queue', 'cm_drops_backlog', 'ud_drops_no_receive', 'drops_socket_buffer']
    expect(dropped.reduce((sum, name) => sum + moved(stage!, victim, name), 0)).toBeGreaterThan(0)
  })

  it('opens hundreds of connections by half, with the longest time-outs that a request can name', async () => {
    stage = await openStage()
    const sender = await stranger(stage)
    for (let i = 0; i < 600; i++)
      await sender.send(sender.bytes(madPacket(request(stage, i, { localCmResponseTimeout: 31, maxCmRetries: 15 }))))
    await until('the backlog is full', async () => {
      const { victim } = await stage!.stats()
      return moved(stage!, victim, 'cm_drops_backlog') > 0
    })
    // From another address a connection can be made at once, not after minutes.
    const begin = performance.now()
    await until('an honest client connects', async () => {
      const { failure } = await stage!.bystander.ask<{ failure: string | null }>('connect')
      return failure === null
    })
    expect(performance.now() - begin).toBeLessThan(15_000)
    // Each of them has the buffers of a socket until it expires or makes room.
    const victim = await stage.judge({ rssMiB: 128 })
    expect(moved(stage, victim, 'cm_requests_evicted')).toBeGreaterThan(0)
  })
})

function request(on: Stage, i: number, more: object): CmMessage {
  return emitRequest({ from: on.attackerHosts[0]!, to: on.victim.host, port: 7000, serial: i, ...more })
}
