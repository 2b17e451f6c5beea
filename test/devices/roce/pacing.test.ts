/** What one peer asks for does not keep the device from serving others. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  Access,
  connectQp,
  EventType,
  nativeAvailable,
  Opcode,
  openDevice,
  QpType,
  SendFlag,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { emitPacket, gidOfIp, IcrcFlow, packetLength, parseIp, WireOpcode } from '../../../src/wire/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

const mtu = 4096
const regionBytes = 256 << 20
const reads = 16
const attackerQp = 0x4242

describe.skipIf(!nativeAvailable)('READs of much memory, and then a packet that breaks a rule', () => {
  it('are answered in turns: a message of another connection does not wait for the last of them', async () => {
    const victim = openDevice(loopbackDevice(1))
    const other = openDevice(loopbackDevice(2))
    const attacker = createSocket('udp4')
    const closing: { close(): void }[] = [attacker, victim, other]
    const own = <T extends { close(): void }>(what: T): T => {
      closing.push(what)
      return what
    }
    attacker.bind(4791, loopbackAddress(3))
    await once(attacker, 'listening')
    try {
      const ends = [victim, other].map((context) => {
        const pd = own(context.allocPd())
        const cq = own(context.createCq(16))
        return { pd, cq, qp: own(pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })) }
      })
      const [here, there] = ends as [(typeof ends)[0], (typeof ends)[0]]
      const psns = [100, 200] as const
      const gid = (n: number): Uint8Array => gidOfIp(parseIp(loopbackAddress(n))!)
      connectQp(here.qp, { psn: psns[0] }, { qpn: there.qp.qpNum, psn: psns[1], lid: 0, gid: gid(2) })
      connectQp(there.qp, { psn: psns[1] }, { qpn: here.qp.qpNum, psn: psns[0], lid: 0, gid: gid(1) })

      const big = victim.alloc(regionBytes)
      const region = own(here.pd.regMr(big, Access.LocalWrite | Access.RemoteRead))
      const attackedCq = own(victim.createCq(16))
      const attacked = own(here.pd.createQp({ type: QpType.RC, sendCq: attackedCq, recvCq: attackedCq }))
      const psn = 5000
      const accessFlags = Access.RemoteRead
      const peer = { qpn: attackerQp, psn, lid: 0, gid: gid(3) }
      connectQp(attacked, { psn: 1 }, peer, { pathMtu: mtu, accessFlags, maxDestRdAtomic: reads })
      const flow = new IcrcFlow(parseIp(loopbackAddress(3))!, parseIp(loopbackAddress(1))!, 4791)
      const send = (opcode: number, at: number, more: object, bytes: number): Promise<void> => {
        const bth = {
          ...{ opcode, solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false },
          ...{ destQp: attacked.qpNum, ackReq: false, psn: at & 0xffffff },
        }
        const packet = { bth, payload: new Uint8Array(bytes), ...more }
        const whole = Buffer.alloc(packetLength(packet) + 4)
        flow.write(whole, 0, emitPacket(packet, whole, 0))
        return new Promise((done) => attacker.send(whole, 4791, loopbackAddress(1), () => done()))
      }

      const before = victim.counters().sent_pkts!
      const each = regionBytes / mtu
      const reth = { va: BigInt(region.addr), rkey: region.rkey, dmaLength: regionBytes }
      for (let i = 0; i < reads; i++) await send(WireOpcode.RcReadRequest, psn + i * each, { reth }, 0)
      await send(WireOpcode.RcWriteLast, psn + reads * each, {}, 8)
      const wc = workCompletions(16)
      for (let event = victim.pollAsyncEvent(); event?.type !== EventType.QpReqErr; event = victim.pollAsyncEvent()) {
        if (event) victim.ackAsyncEvent(event)
        here.cq.poll(wc)
      }
      const from = own(here.pd.regMr(victim.alloc(64), Access.LocalWrite))
      const mr = own(there.pd.regMr(other.alloc(64), Access.LocalWrite))
      there.qp.postRecv({ wrId: 1, sgList: [{ addr: mr.addr, length: 64, lkey: mr.lkey }] })
      here.qp.postSend({
        wrId: 2,
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [{ addr: from.addr, length: 64, lkey: from.lkey }],
      })
      while (here.cq.poll(wc) === 0) there.cq.poll(wc)
      expect(wc[0]!.status).toBe(WcStatus.Success)
      // Had the device sent all the responses before it looked at anything else, these would be all of them.
      expect(victim.counters().sent_pkts! - before).toBeLessThan((reads * each) / 2)
    } finally {
      for (const what of closing.reverse()) what.close()
    }
  })
})
