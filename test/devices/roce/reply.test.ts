/** Who answers a datagram answers from the address that it was sent to. */
import { expect, it } from 'vitest'
import {
  connectQp,
  endpointOf,
  nativeAvailable,
  Opcode,
  openDevice,
  QpType,
  SendFlag,
  VerbsError,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const qkey = 0x1234

function makeEnd(name: string) {
  const context = openDevice(name)
  const pd = context.allocPd()
  const cq = context.createCq(16)
  const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
  const buffer = context.alloc(8192)
  const mr = pd.regMr(buffer, 1)
  connectQp(qp, endpointOf(qp), null, { qkey })
  const receive = (wrId: number): void =>
    qp.postRecv({ wrId, sgList: [{ addr: mr.addr, length: 1024, lkey: mr.lkey }] })
  return { context, pd, cq, qp, mr, buffer, receive }
}

// The device on all addresses of the host has IPv4 and IPv6, where the host has.
const all = openDevice('roce')
const gids = all.queryGidTable()
all.close()

it.skipIf(!nativeAvailable || gids.length < 2)('over each entry of the GID table, with createAhFromWc', async () => {
  const end = makeEnd('roce')
  const wc = workCompletions(4)
  for (const { gid, gidIndex } of gids.slice(0, 4)) {
    // To itself: every address of the host is its own.
    const ah = end.pd.createAh({ portNum: 1, grh: { dgid: gid, sgidIndex: gidIndex, hopLimit: 64 } })
    const send = (to: typeof ah, wrId: number): void =>
      end.qp.postSend({
        wrId,
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        ah: to,
        remoteQpn: end.qp.qpNum,
        remoteQkey: qkey,
        sgList: [{ addr: end.mr.addr + 4096, length: 64, lkey: end.mr.lkey }],
      })
    const arrived = async (wrId: number): Promise<(typeof wc)[0]> => {
      let found: (typeof wc)[0] | undefined
      await until(`message ${wrId} over GID ${gidIndex}`, () => {
        for (const one of wc.slice(0, end.cq.poll(wc))) {
          expect(one.status).toBe(WcStatus.Success)
          if (one.wrId === wrId) found = { ...one } as typeof one
        }
        return found !== undefined
      })
      return found!
    }
    end.receive(100)
    send(ah, 1)
    const first = await arrived(100)
    const back = end.pd.createAhFromWc(1, first, end.buffer.subarray(0, 40))
    expect(back.attr.grh).toMatchObject({ dgid: gid, sgidIndex: gidIndex })
    end.receive(200)
    send(back, 2)
    await arrived(200)
    back.close()
    ah.close()
  }
  end.qp.close()
  end.mr.close()
  end.cq.close()
  end.pd.close()
  end.context.free(end.buffer)
  end.context.close()
})

it.skipIf(!nativeAvailable)('and a message to an address that the port does not have has no path back', () => {
  const end = makeEnd(loopbackDevice(1))
  const grh = new Uint8Array(40)
  grh.set([0x45], 20)
  grh.set([127, 0, 0, 1, 192, 0, 2, 77], 32)
  const wc = Object.assign(workCompletions(1)[0]!, { wcFlags: 1 })
  expect(() => end.pd.createAhFromWc(1, wc, grh)).toThrow(VerbsError)
  expect(() => end.pd.createAhFromWc(1, wc, grh)).toThrow('has no GID')
  end.qp.close()
  end.mr.close()
  end.cq.close()
  end.pd.close()
  end.context.free(end.buffer)
  end.context.close()
})
