/** Queue pairs that one process hosts, on an adapter that several drive: what others come upon is left to it. */
import { setImmediate } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import {
  connectQp,
  defaultQkey,
  endpointOf,
  nativeAvailable,
  Opcode,
  openDevice,
  pathTo,
  QpType,
  SendFlag,
} from '../../../src/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { Hosting, testHandOver } from '../hand-over.ts'
import { Side, sge, timing } from '../shm/process-rig.ts'
import { until } from '../shm/rig.ts'

describe('hosted queue pairs', () => {
  testHandOver(loopbackDevice(1), loopbackDevice(1), { short: true, patient: true })
})

describe.skipIf(!nativeAvailable)('a process that stops', () => {
  const context = openDevice(loopbackDevice(2))
  afterAll(() => context.close())

  it('is left what has room; the rest is dropped and counted, and afterwards all goes on', async () => {
    const other = await new Hosting(loopbackDevice(2), { type: QpType.UD, bytes: 4096 }).begin()
    const a = new Side(context, { type: QpType.UD })
    const own = a.inSegment(4096)
    const local = endpointOf(a.qp)
    connectQp(a.qp, local, null, timing)
    await other.order({ connect: local })
    const ah = a.pd.createAh(pathTo(other.endpoint))
    const send = (seed: number): void => {
      own.poke(0, [seed])
      a.qp.postSend({
        ...{ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, 64)] },
        ...{ ah, remoteQpn: other.endpoint.qpn, remoteQkey: defaultQkey },
      })
    }
    const completes = (): boolean => a.completions(a.sendCq).length > 0
    const flood = async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent++) {
        send(1)
        let done = false
        await until('a completion', () => (done ||= completes()))
      }
    }
    // One that is stopped while it has the device's lock lets all others wait, so it is to be stopped while it has not.
    for (let stopped = false; !stopped; ) {
      other.child.kill('SIGSTOP')
      send(1)
      for (const deadline = performance.now() + 100; !stopped && performance.now() < deadline; await setImmediate())
        stopped = completes()
      if (stopped) break
      other.child.kill('SIGCONT')
      await until('a completion', completes)
    }
    await flood(1100)
    expect(context.counters().drops_host_busy).toBeGreaterThan(0)
    other.child.kill('SIGCONT')
    await other.order({ receive: { wrId: 9, addr: other.address, length: 200 } })
    let outstanding = 0
    await until('a message', () => {
      if (other.completions.length > 0) return true
      if (outstanding < 32) {
        send(2)
        outstanding++
      }
      outstanding -= a.completions(a.sendCq).length
      return false
    })
    expect(other.completions[0]).toMatchObject({ wrId: 9, status: 0, byteLen: 104 })
    ah.close()
    await other.end()
    a.close()
  })
})
