/** Congestion control on real sockets: packets are marked as capable, marks are answered, and only who opens first decides. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { fileSource } from '../../../src/files/index.ts'
import {
  connectQp,
  endpointOf,
  nativeAvailable,
  Opcode,
  openDevice,
  SendFlag,
  sendWr,
  tap,
} from '../../../src/index.ts'
import { pathTo } from '../../../src/verbs/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { makeEnd, until } from '../shm/rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-congestion-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))

const ethernetHeader = 14

/** Of all IPv4 packets in a capture: their ECN bits, and whether they are CNPs. */
async function ecnBits(path: string): Promise<string[]> {
  const found: string[] = []
  await fileSource(path).read(({ bytes, offset }) => {
    const isCnp = bytes[offset + ethernetHeader + 20 + 8] === WireOpcode.Cnp
    found.push(`${bytes[offset + ethernetHeader + 1]! & 3}${isCnp ? ' CNP' : ''}`)
    return true
  })
  return found
}

describe.skipIf(!nativeAvailable)('congestion control of roce', () => {
  it('marks packets as capable, and answers marks with CNPs', async () => {
    const path = join(folder, 'ecn.pcapng')
    const a = openDevice(loopbackDevice(1), { congestionControl: true, wrap: [tap(path)] })
    const b = openDevice(loopbackDevice(2), { congestionControl: true })
    const [x, y] = [makeEnd(a), makeEnd(b)]
    const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
    connectQp(x.qp, toX, toY)
    // What y sends says of itself that it met congestion.
    const ah = pathTo(toX)
    connectQp(y.qp, toY, toX, { ah: { ...ah, grh: { ...ah.grh!, trafficClass: 3 } } })
    const write = (from: typeof x, to: typeof y) =>
      from.qp.postSend(
        sendWr({
          ...{ opcode: Opcode.Write, wrId: 1, sendFlags: SendFlag.Signaled, sgList: [from.sge(0, 5000)] },
          ...{ remoteAddr: to.mr.addr, rkey: to.mr.rkey },
        }),
      )
    write(x, y)
    write(y, x)
    await until('both', () => b.counters().cnps_rcvd! > 0)
    expect(a.counters().ecn_marked).toBeGreaterThan(0)
    expect(a.counters().cnps_sent).toBeGreaterThan(0)
    // What x sends is capable, not marked.
    expect(b.counters().ecn_marked).toBe(0)
    for (const end of [x, y]) end.close()
    a.close()
    b.close()
    // The thread that drives the device closes the file after it has closed the socket.
    await vi.waitFor(async () => expect(new Set(await ecnBits(path))).toEqual(new Set(['2', '3', '0 CNP'])), 10_000)
  })

  // IBA CA17-5
  it('says nothing of congestion without it, but what a program says itself', async () => {
    const path = join(folder, 'plain.pcapng')
    const a = openDevice(loopbackDevice(5), { wrap: [tap(path)] })
    const b = openDevice(loopbackDevice(6))
    const [x, y] = [makeEnd(a), makeEnd(b)]
    const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
    const ah = pathTo(toX)
    connectQp(x.qp, toX, toY)
    connectQp(y.qp, toY, toX, { ah: { ...ah, grh: { ...ah.grh!, trafficClass: 3 } } })
    x.qp.postSend(
      sendWr({
        ...{ opcode: Opcode.Write, wrId: 1, sendFlags: SendFlag.Signaled, sgList: [x.sge(0, 5000)] },
        ...{ remoteAddr: y.mr.addr, rkey: y.mr.rkey },
      }),
    )
    await until('the ACK', () => a.counters().ecn_marked! > 0)
    for (const end of [x, y]) end.close()
    a.close()
    b.close()
    await vi.waitFor(async () => expect(new Set(await ecnBits(path))).toEqual(new Set(['0', '3'])), 10_000)
  })

  it('is off unless asked for, and the same for all who have the device open', () => {
    const first = openDevice(loopbackDevice(3))
    expect(() => openDevice(loopbackDevice(3), { congestionControl: true })).toThrow('open already without congestion')
    openDevice(loopbackDevice(3), { congestionControl: false }).close()
    first.close()
    const second = openDevice(loopbackDevice(3), { congestionControl: true })
    expect(() => openDevice(loopbackDevice(3), { congestionControl: false })).toThrow('open already with congestion')
    openDevice(loopbackDevice(3)).close()
    second.close()
  })

  it('comes from the environment, which says 0 or 1', () => {
    try {
      process.env.VERBENA_CONGESTION_CONTROL = '1'
      const first = openDevice(loopbackDevice(4))
      expect(() => openDevice(loopbackDevice(4), { congestionControl: false })).toThrow('with congestion control')
      first.close()
      process.env.VERBENA_CONGESTION_CONTROL = 'yes'
      expect(() => openDevice(loopbackDevice(4))).toThrow('VERBENA_CONGESTION_CONTROL is 0 or 1')
    } finally {
      delete process.env.VERBENA_CONGESTION_CONTROL
    }
  })
})
