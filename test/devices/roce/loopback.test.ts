/** Packets of an adapter to itself stay in memory, but for those that others are to see. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Loopback, loopbackBytes } from '../../../src/devices/roce/loopback.ts'
import type { Path } from '../../../src/devices/roce/paths.ts'
import { Sockets } from '../../../src/devices/roce/sockets.ts'
import { nativeAvailable, Opcode, openDevice, SendFlag, sendWr, tap, WcStatus, type Wrap } from '../../../src/index.ts'

import { loopbackDevice } from '../../loopback.ts'
import { connect, drain, type End, makeEnd, until } from '../shm/rig.ts'

const path = (n: number) => ({ local: n }) as Path

test('packets come out as they went in, with what was said of them', () => {
  const loopback = new Loopback(4096)
  for (let n = 0; n < 3; n++) {
    const at = loopback.open(100 + n)
    expect(at).toBeGreaterThanOrEqual(4096)
    loopback.close(100 + n, path(n), n, 60 + n)
  }
  expect(loopback.waiting).toBe(true)
  let before = 0
  for (let n = 0; n < 3; n++) {
    expect(loopback.next()?.local).toBe(n)
    expect(loopback.end - loopback.at).toBe(100 + n)
    expect(loopback.at).toBeGreaterThanOrEqual(before)
    before = loopback.end
    expect([loopback.trafficClass, loopback.hopLimit]).toEqual([n, 60 + n])
  }
  expect(loopback.next()).toBeNull()
  expect(loopback.waiting).toBe(false)
})

test.each([64, 4096])(
  'packets of %i bytes never leave the room that there is; when it is used up, it is said',
  (bytes) => {
    const loopback = new Loopback(0)
    let packets = 0
    for (let at = loopback.open(bytes); at >= 0; at = loopback.open(bytes)) {
      expect(at + bytes).toBeLessThanOrEqual(loopbackBytes)
      loopback.close(bytes, path(0), 0, 0)
      packets++
    }
    expect(loopback.full).toBe(true)
    while (loopback.next() !== null) packets--
    expect(packets).toBe(0)
    expect(loopback.full).toBe(false)
    expect(loopback.open(bytes)).toBe(0)
  },
)

test('one that comes while others are delivered follows them', () => {
  const loopback = new Loopback(0)
  loopback.open(8)
  loopback.close(8, path(0), 0, 0)
  expect(loopback.next()?.local).toBe(0)
  loopback.open(8)
  loopback.close(8, path(1), 0, 0)
  expect(loopback.next()?.local).toBe(1)
  expect(loopback.next()).toBeNull()
})

/** A WRITE of 3 MB between two queue pairs of one adapter, and what the adapter has counted since. */
async function writeInside(wrap: Wrap[]): Promise<{ loopback: number; sent: number; received: number }> {
  const bytes = 3e6
  const context = openDevice(loopbackDevice(1), { wrap })
  const before = context.counters()
  const [from, to] = [makeEnd(context, { slots: 8, bytes }), makeEnd(context, { slots: 8, bytes })]
  try {
    connect(from, to, { timeout: 15 })
    for (let i = 0; i < bytes; i++) from.buffer[i] = i * 7
    from.qp.postSend(
      sendWr({ wrId: 5, opcode: Opcode.Write, sendFlags: SendFlag.Signaled, ...remote(from, to, bytes) }),
    )
    const done: { wrId: number; status: number }[] = []
    await until('completion', () => drain(from.cq, done).length > 0)
    expect(done).toEqual([{ wrId: 5, status: WcStatus.Success }])
    expect(Buffer.compare(from.buffer, to.buffer)).toBe(0)
    const { loopback_pkts, sent_pkts, rcvd_pkts } = context.counters()
    return {
      loopback: loopback_pkts! - before.loopback_pkts!,
      sent: sent_pkts! - before.sent_pkts!,
      received: rcvd_pkts! - before.rcvd_pkts!,
    }
  } finally {
    from.close()
    to.close()
    context.close()
  }
}

function remote(from: End, to: End, bytes: number) {
  return { sgList: [from.sge(0, bytes)], remoteAddr: to.mr.addr, rkey: to.mr.rkey }
}

test('what an adapter sends to itself no socket carries', async () => {
  const { loopback, sent, received } = await writeInside([])
  expect(loopback).toBeGreaterThan(3e6 / 4096)
  expect({ sent, received }).toEqual({ sent: loopback, received: loopback })
})

test.skipIf(!nativeAvailable)('with middleware everything goes through the kernel, and is in the capture', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-loopback-'))
  try {
    const file = join(folder, 'inside.pcapng')
    const { loopback, sent } = await writeInside([tap(file)])
    expect(loopback).toBe(0)
    expect(sent).toBeGreaterThan(3e6 / 4096)
    expect(readFileSync(file).length).toBeGreaterThan(3e6)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.skipIf(!nativeAvailable)(
  'a long message to the adapter itself is many turns, between which packets from outside are taken',
  async () => {
    const bytes = 24 << 20
    const context = openDevice(loopbackDevice(1))
    const [from, to] = [makeEnd(context, { slots: 8, bytes }), makeEnd(context, { slots: 8, bytes })]
    const receive = vi.spyOn(Sockets.prototype, 'receive')
    const wakes = vi.spyOn(context.device.host.segment.parking, 'wakeDeferred')
    try {
      connect(from, to, { timeout: 15 })
      from.buffer.fill(9)
      let looks = 0
      // Another thread may go on with one between two turns.
      for (let tries = 0; tries < 10 && looks < 4; tries++) {
        receive.mockClear()
        wakes.mockClear()
        from.qp.postSend(sendWr({ opcode: Opcode.Write, sendFlags: SendFlag.Signaled, ...remote(from, to, bytes) }))
        looks = receive.mock.calls.length
        // Nothing else drives the adapter, and no packet from outside reminds of it.
        await until('completion', () => from.cq.filled)
        drain(from.cq)
      }
      expect(looks).toBeGreaterThanOrEqual(4)
      // Threads whose packets these are do not wait for the end of the message.
      expect(wakes.mock.calls.length).toBeGreaterThanOrEqual(4)
      expect(to.buffer[bytes - 1]).toBe(9)
    } finally {
      receive.mockRestore()
      wakes.mockRestore()
      from.close()
      to.close()
      context.close()
    }
  },
)
