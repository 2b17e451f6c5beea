/**
 * A stranger at UDP port 4791 of a roce device: whatever it sends is dropped, is counted by its reason, gets no reply, and
 * leaves nothing behind. Connections of others go on.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import type { QpEndpoint } from '../../src/index.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { Bth, cmMessage, Mad, type RocePacket, WireOpcode as W } from '../../src/wire/index.ts'
import { gidBytes, madPacket } from './mads.ts'
import { type Accepted, long, moved, openStage, RawSender, type Stage, sleep } from './stage.ts'

let stage: Stage | undefined
const cleanups: (() => void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) cleanup()
  await stage?.close()
  stage = undefined
})

const plain = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true, psn: 0 }
const nobody = 0x123456
const to = (destQp: number, opcode: number, more: Partial<RocePacket> = {}): RocePacket => ({
  bth: { ...plain, opcode, destQp },
  payload: new Uint8Array(0),
  ...more,
})
const udHeader = { deth: { qkey: 0x11111111, srcQp: 5 } }
const timeout = 60_000 * long(4)

describe.skipIf(!nativeAvailable)('a stranger at the port of a roce device', { timeout }, () => {
  it('is told nothing, and each of its packets is counted by what is wrong with it', async () => {
    stage = await openStage()
    const { victim } = stage
    const from = await stage.sender()
    // Replies, if there were any, would go to port 4791.
    const ear = createSocket('udp4')
    let replies = 0
    ear.on('message', () => replies++)
    ear.bind(4791, stage.attackerHosts[0]!)
    await once(ear, 'listening')
    cleanups.push(() => ear.close())
    const remote = { qpn: 77, psn: 0, lid: 0, gid: gidBytes(stage.attackerHosts[5]!) }
    const connected = (await victim.ask<Accepted>('accept', { remote })).qpn
    const { qpn: unconnected } = await victim.ask<QpEndpoint>('endpoint')

    const changed = (packet: RocePacket, at: number, value: number): Uint8Array => {
      const bytes = from.bytes(packet)
      bytes[at] = value
      return from.seal(bytes)
    }
    const write = { reth: { va: 0n, rkey: 1, dmaLength: 8 }, payload: randomBytes(8) }
    const ackTo = (qpn: number) => to(qpn, W.RcAck, { aeth: { syndrome: 0, msn: 0 } })
    const kinds: [counter: string, make: () => Uint8Array][] = [
      ['drops_malformed', () => new Uint8Array(0)],
      ['drops_malformed', () => randomBytes(randomInt(1, Bth.length + 4))],
      // A READ request that carries data, and one that is cut off in its header.
      ['drops_malformed', () => changed(to(connected, W.RcWriteOnly, write), 0, W.RcReadRequest)],
      ['drops_malformed', () => changed(to(connected, W.RcSendOnly, { payload: randomBytes(4) }), 0, W.RcReadRequest)],
      ['icrc_errors', () => randomBytes(randomInt(Bth.length + 4, 1400))],
      ['drops_opcode', () => changed(to(connected, W.RcSendOnly), 0, 0x1f)],
      ['drops_opcode', () => changed(to(connected, W.RcSendOnly), Bth.flags, 0x45)],
      ['drops_opcode', () => from.bytes(to(connected, W.UdSendOnly, udHeader))],
      [
        'drops_pkey',
        () =>
          from.bytes({
            ...to(connected, W.RcSendOnly),
            bth: { ...plain, pkey: 0x9234, opcode: W.RcSendOnly, destQp: connected },
          }),
      ],
      ['drops_no_qp', () => from.bytes(to(nobody, W.RcSendOnly, { payload: randomBytes(64) }))],
      // To a multicast group that nobody here is in.
      ['drops_no_qp', () => from.bytes(to(0xffffff, W.UdSendOnly, udHeader))],
      ['drops_qp_state', () => from.bytes(to(unconnected, W.RcSendOnly, { payload: randomBytes(64) }))],
      ['drops_source', () => from.bytes(to(connected, W.RcSendOnly, { payload: randomBytes(64) }))],
      ['drops_source', () => from.bytes(ackTo(connected))],
      ['drops_source', () => from.bytes(to(connected, W.Cnp, { cnp: { reserved: new Uint8Array(16) } }))],
      // Management, but of a class that nobody has registered.
      [
        'gsi_drops_no_agent',
        () =>
          changed(
            madPacket(cmMessage('RTU', 1n, { localCommId: 1, remoteCommId: 2 })),
            Bth.length + 8 + Mad.mgmtClass,
            0x81,
          ),
      ],
      ['gsi_drops_malformed', () => from.bytes(to(1, W.UdSendOnly, { ...udHeader, payload: randomBytes(64) }))],
    ]
    const each = 60 * long(50)
    await stage.during(async () => {
      for (let i = 0; i < each; i++) for (const [, make] of kinds) await from.send(make())
    })
    const after = await stage.judge()
    const lost = moved(stage, after, 'drops_socket_buffer')
    for (const counter of new Set(kinds.map(([name]) => name))) {
      const sent = each * kinds.filter(([name]) => name === counter).length
      expect(moved(stage, after, counter), counter).toBeGreaterThanOrEqual(sent - lost)
    }
    expect(replies).toBe(0)
  })

  it('sends from ever new ports and addresses, and what is remembered of them has a limit', async () => {
    stage = await openStage()
    const sources = 150 * long(80)
    const open: RawSender[] = []
    await stage.during(async () => {
      for (let i = 0; i < sources; i++) {
        const from = await RawSender.open(stage!.attackerHosts[i % 8]!, stage!.victim.host)
        for (let n = 0; n < 3; n++) await from.send(from.bytes(to(nobody, W.RcSendOnly, { payload: randomBytes(16) })))
        open.push(from)
        // A socket that closes takes with it what it has not sent yet.
        if (open.length < 50) continue
        await sleep(2)
        for (const one of open.splice(0)) one.close()
      }
    })
    const after = await stage.judge({ rssMiB: 32 })
    const counted = moved(stage, after, 'drops_no_qp') + moved(stage, after, 'drops_socket_buffer')
    expect(counted).toBeGreaterThanOrEqual(2 * sources)
  })

  it('sends as much as it can', async () => {
    stage = await openStage()
    const senders = await Promise.all([0, 1, 2].map((i) => stage!.sender(i)))
    const until = performance.now() + 1000 * long(30)
    let sent = 0
    await stage.during(async () => {
      await Promise.all(
        senders.map(async (from) => {
          const packets = Array.from({ length: 16 }, (_, i) =>
            i % 2 === 0
              ? from.bytes(
                  to(nobody, W.RcWriteOnly, { reth: { va: 0n, rkey: i, dmaLength: 1024 }, payload: randomBytes(1024) }),
                )
              : randomBytes(1200),
          )
          while (performance.now() < until) {
            for (const packet of packets) await from.send(packet)
            sent += packets.length
          }
        }),
      )
    })
    const after = await stage.judge()
    const counted = ['icrc_errors', 'drops_no_qp', 'drops_socket_buffer'].map((name) => moved(stage!, after, name))
    expect(counted.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(sent)
  })
})
