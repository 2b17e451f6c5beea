/** Multicast groups on a host with devices of several kinds. */
import { afterAll, expect, it } from 'vitest'
import { Access, Opcode, openDevice, QpState, QpType, SendFlag, WcStatus, workCompletions } from '../../../src/index.ts'

const qkey = 0x1234
/** ff12:401b:ffff:: and so on: a multicast GID of link-local scope that stands for an IPv4 group. */
const gid = Uint8Array.of(0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9)

function member(device: string) {
  const context = openDevice(device)
  const pd = context.allocPd()
  const cq = context.createCq(8)
  const buffer = context.alloc(4096)
  const mr = pd.regMr(buffer, Access.LocalWrite)
  const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap })
  qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey })
  qp.modify({ state: QpState.Rtr })
  qp.modify({ state: QpState.Rts, sqPsn: 0 })
  qp.postRecv({ wrId: 1, sgList: [{ addr: mr.addr, length: 2048, lkey: mr.lkey }] })
  const close = (): void => {
    qp.close()
    mr.close()
    cq.close()
    pd.close()
    context.close()
  }
  return { pd, cq, mr, qp, close }
}

const [sender, receiver, stranger] = [member('shm0'), member('shm1'), member('roce:127.0.0.1')]
afterAll(() => {
  for (const { close } of [sender, receiver, stranger]) close()
})

it('a datagram to a group reaches its members on shm, and not those on another kind of device', () => {
  for (const { qp } of [receiver, stranger]) qp.attachMcast(gid, 0xc001)
  const grh = { dgid: gid, sgidIndex: 0, hopLimit: 1, trafficClass: 0, flowLabel: 0 }
  const ah = sender.pd.createAh({ portNum: 1, sl: 0, dlid: 0xc001, grh })
  sender.qp.postSend({
    wrId: 2,
    opcode: Opcode.Send,
    sendFlags: SendFlag.Signaled,
    sgList: [{ addr: sender.mr.addr, length: 8, lkey: sender.mr.lkey }],
    ah,
    remoteQpn: 0xffffff,
    remoteQkey: qkey,
  })
  // What is posted on shm is done when `postSend` returns.
  const wc = workCompletions(4)
  expect(sender.cq.poll(wc)).toBe(1)
  expect(wc[0]).toMatchObject({ wrId: 2, status: WcStatus.Success })
  expect(receiver.cq.poll(wc)).toBe(1)
  expect(wc[0]).toMatchObject({ wrId: 1, status: WcStatus.Success, byteLen: 48 })
  expect(stranger.cq.poll(wc)).toBe(0)
  for (const { qp } of [receiver, stranger]) qp.detachMcast(gid, 0xc001)
  ah.close()
})
