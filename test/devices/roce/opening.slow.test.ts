/** Whoever opens a device, in whatever order: it has its sockets when openDevice returns, and they go with the last user. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { RoceDevice } from '../../../src/devices/roce/device.ts'
import { Slot } from '../../../src/devices/roce/socket-table.ts'
import { nativeAvailable, openDevice } from '../../../src/index.ts'
import { startThread, UdpSocket } from '../../../src/memory/index.ts'
import { deviceAt } from '../../../src/verbs/provider/device.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { seeded } from '../../random.ts'
import { type Churn, runChurn } from './churn.ts'

const seed = Number(process.env.VERBENA_SEED ?? Date.now() % 1e6)
const again = `VERBENA_SEED=${seed} npx vitest run --config vitest.slow.config.ts test/devices/roce/opening.slow.test.ts`

const inUse = expect.objectContaining({
  code: 'EADDRINUSE',
  reason: 'device-in-use',
  message: expect.stringMatching(/UDP port 4791 of .* is in use/),
})

/** Binds the port of device `n`, as somebody else would; a function that gives it back. Rejects if it is taken. */
async function takePort(n: number): Promise<() => Promise<void>> {
  const socket = createSocket('udp4')
  socket.bind({ address: loopbackAddress(n), port: 4791, exclusive: true })
  await once(socket, 'listening')
  return async () => {
    socket.close()
    await once(socket, 'close')
  }
}

function opener(n: number, ends = false) {
  const workerData = { device: loopbackDevice(n), ends }
  return startThread(new URL('./opener.worker.ts', import.meta.url), { workerData })
}

async function hears(worker: ReturnType<typeof opener>, word: string): Promise<void> {
  for (;;) if (((await once(worker, 'message')) as [string])[0] === word) return
}

describe.skipIf(!nativeAvailable)('the sockets of a device', () => {
  it('are there for threads that open it at about the same time', async () => {
    // What matters most is who comes first in a process. More of them, and for longer, in churn.test.ts.
    const churn: Churn = {
      devices: [loopbackDevice(10)],
      seed,
      ms: 200,
      workers: 3,
      pauseMs: 150,
      mortals: false,
    }
    const { reached, failures } = await runChurn([churn])
    expect(failures, again).toEqual([])
    expect(reached).toBeGreaterThanOrEqual(4)
  })

  it('are there for the second opener where the first has failed', async () => {
    const giveBack = await takePort(1)
    for (let attempt = 0; attempt < 2; attempt++) expect(() => openDevice(loopbackDevice(1))).toThrow(inUse)
    await giveBack()
    const context = openDevice(loopbackDevice(1))
    await expect(takePort(1)).rejects.toThrow('EADDRINUSE')
    context.close()
    await (await takePort(1))()
  })

  it('go when the last user closes it, whatever became of the others', async () => {
    const worker = opener(2)
    await hears(worker, 'opened')
    const context = openDevice(loopbackDevice(2))
    await worker.terminate()
    context.close()
    await (await takePort(2))()
  })

  it('stay while there is a user where the process has the device alone, too', async () => {
    process.env.VERBENA_ROCE_SHARED = '0'
    const [first, second] = [openDevice(loopbackDevice(7)), openDevice(loopbackDevice(7))]
    delete process.env.VERBENA_ROCE_SHARED
    first.close()
    await expect(takePort(7)).rejects.toThrow('EADDRINUSE')
    second.close()
    await (await takePort(7))()
  })

  it('go with a thread that ends without closing it', async () => {
    const worker = opener(3, true)
    await once(worker, 'exit')
    await (await takePort(3))()
  })

  it('go with the last user, also if that is terminated', async () => {
    const worker = opener(6)
    await hears(worker, 'opened')
    await expect(takePort(6)).rejects.toThrow('EADDRINUSE')
    await worker.terminate()
    // Whoever sees that it is gone cleans up after it: here the thread that started it.
    let giveBack: (() => Promise<void>) | undefined
    for (const deadline = performance.now() + 10_000; giveBack === undefined && performance.now() < deadline; )
      giveBack = await takePort(6).catch(() => new Promise((resolve) => setTimeout(resolve, 5)))
    expect(giveBack).toBeDefined()
    await giveBack!()
  })

  it('are there after a thread ended in the middle of closing or opening one', async () => {
    const name = loopbackDevice(6)
    const first = openDevice(name)
    const { host, table } = first.device as unknown as RoceDevice
    const { ownI32: i32, own } = table
    // Between taking the descriptor out of the table and closing it.
    i32[own + Slot.changing] = i32[own + Slot.fd]!
    i32[own + Slot.fd] = 0
    first.close()
    await (await takePort(6))()
    // Between binding it and entering the descriptor into the table.
    const address = Uint8Array.from(loopbackAddress(6).split('.').map(Number))
    i32[own + Slot.changing] = UdpSocket.open(host.segment.buffer, { address, port: 4791 }).fd + 1
    const second = openDevice(name)
    await expect(takePort(6)).rejects.toThrow('EADDRINUSE')
    second.close()
    await (await takePort(6))()
  })

  it('are there after threads were ended while they opened it', async () => {
    const random = seeded(seed)
    for (let n = 0; n < 3; n++) {
      const worker = opener(4)
      await hears(worker, 'opens')
      await new Promise((resolve) => setTimeout(resolve, random() * 40))
      await worker.terminate()
    }
    const context = openDevice(loopbackDevice(4))
    await expect(takePort(4), again).rejects.toThrow('EADDRINUSE')
    context.close()
    await (await takePort(4))()
  })
})

describe.skipIf(!nativeAvailable)('the sockets of multicast groups', () => {
  const group = (n: number): Uint8Array =>
    Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 77, process.pid & 0xff, n)
  /** UDP sockets bound to groups of this test: of the process, other descriptors come and go at any moment. */
  const groupPrefix = [process.pid & 0xff, 77, 239]
    .map((byte) => byte.toString(16).padStart(2, '0').toUpperCase())
    .join('')
  const inTable = new RegExp(`^ *\\d+: ..${groupPrefix}:12B7 `, 'gm')
  /** The table is read piece by piece: where others open and close sockets meanwhile, a line may be missing, but none is too many. */
  const groupSockets = (): number =>
    Math.max(...Array.from({ length: 5 }, () => readFileSync('/proc/net/udp', 'latin1').match(inTable)?.length ?? 0))

  it('are one for each group; where there can be no more, nothing is left behind, and any thread can take one away', () => {
    const context = openDevice(loopbackDevice(5))
    const { device } = context
    expect(groupSockets()).toBe(0)
    for (let n = 1; n < 128; n++) device.joinGroup(group(n))
    device.joinGroup(group(7))
    expect(groupSockets()).toBe(127)
    for (let attempt = 0; attempt < 2; attempt++)
      expect(() => device.joinGroup(group(200))).toThrow('attachMcast: a device has 128 addresses and groups at most')
    expect(() => device.joinGroup(Uint8Array.of(...group(1).subarray(0, 12), 10, 0, 0, 1))).toThrow()
    expect(groupSockets()).toBe(127)
    // As a thread does that cleans up after another: by the number of the device's record.
    const reaper = deviceAt(device.host, device.index)!
    reaper.leaveGroup(group(7))
    expect(groupSockets()).toBe(127)
    reaper.leaveGroup(group(7))
    reaper.leaveGroup(group(7))
    expect(groupSockets()).toBe(126)
    device.joinGroup(group(200))
    context.close()
    expect(groupSockets()).toBe(0)
  })
})
