/** Addresses that a device has sent to are not remembered for ever. */
import { describe, expect, it, vi } from 'vitest'
import { Access, connectQp, nativeAvailable, Opcode, openDevice, QpType, workCompletions } from '../../../src/index.ts'
import { UdpSocket } from '../../../src/memory/index.ts'
import { gidOfIp } from '../../../src/wire/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const slow = process.env.VERBENA_SLOW === '1'

describe.skipIf(!nativeAvailable)('a device that sends to ever new addresses', () => {
  it('forgets the old ones, and reaches new ones as before', async () => {
    const forget = vi.spyOn(UdpSocket.prototype, 'forgetDestinations')
    const [context, other] = [openDevice(loopbackDevice(1)), openDevice(loopbackDevice(2))]
    const [a, b] = [context, other].map((each) => {
      const pd = each.allocPd()
      const cq = each.createCq(64)
      const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 32, maxRecvWr: 32 } })
      const mr = pd.regMr(each.alloc(4096), Access.LocalWrite)
      connectQp(qp, { psn: 1 }, null)
      return { each, pd, cq, qp, mr }
    }) as [End, End]
    type End = {
      each: typeof context
      pd: ReturnType<typeof context.allocPd>
      cq: ReturnType<typeof context.createCq>
      qp: ReturnType<ReturnType<typeof context.allocPd>['createQp']>
      mr: ReturnType<ReturnType<typeof context.allocPd>['regMr']>
    }
    const wc = workCompletions(32)
    const send = (dgid: Uint8Array, remoteQpn: number): void => {
      const ah = a.pd.createAh({ portNum: 1, grh: { dgid, sgidIndex: 0, hopLimit: 64 } })
      const sgList = [{ addr: a.mr.addr, length: 8, lkey: a.mr.lkey }]
      a.qp.postSend({ opcode: Opcode.Send, sendFlags: 2, ah, remoteQpn, remoteQkey: 0x11111111, sgList })
      while (a.cq.poll(wc) === 0);
      ah.close()
    }
    // More than one socket can have destinations, in the slower suite.
    const addresses = slow ? 70_000 : 4100
    for (let i = 0; i < addresses; i++) send(gidOfIp(Uint8Array.of(127, 200 + (i >> 16), i >> 8, i)), 99)
    expect(forget).toHaveBeenCalled()
    const { drops_no_path } = context.counters()
    b.qp.postRecv({ wrId: 1, sgList: [{ addr: b.mr.addr, length: 64, lkey: b.mr.lkey }] })
    send(other.queryGid(1, 0), b.qp.qpNum)
    await until('the datagram', () => b.cq.poll(wc) === 1)
    expect([drops_no_path, context.counters().drops_no_path]).toEqual([0, 0])
    for (const { each, pd, cq, qp, mr } of [a, b]) {
      qp.close()
      mr.close()
      cq.close()
      pd.close()
      each.close()
    }
  })
})
