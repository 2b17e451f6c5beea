/** Sockets of a device that no process has, and that cannot be opened at first. */
import { closeSync, openSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { hostAddresses } from '../../../src/devices/roce/addresses.ts'
import type { RoceDevice } from '../../../src/devices/roce/device.ts'
import { RoceDev } from '../../../src/devices/roce/layout.ts'
import { OpenSockets } from '../../../src/devices/roce/open-sockets.ts'
import { wakeService } from '../../../src/devices/roce/service-handle.ts'
import { maxSlots, Slot } from '../../../src/devices/roce/socket-table.ts'
import { type Context, openDevice } from '../../../src/index.ts'
import { hostLinks, nativeAvailable } from '../../../src/memory/index.ts'
import { becomeDescriptor, errnos, NativeError, UdpSocket } from '../../../src/memory/native/index.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

describe.skipIf(!nativeAvailable)('a socket that no process has', () => {
  let context: Context
  afterEach(() => context.close())

  /** Opens a device; its only socket, and a function that gives back its port, which otherwise stays taken. */
  function start(n: number) {
    context = openDevice(loopbackDevice(n))
    const device = context.device as RoceDevice
    const { table } = device
    const slot = [...Array(maxSlots).keys()].find((each) => table.isUsed(each))!
    const held = openSync('/', 'r')
    becomeDescriptor(held, table.fd(slot))
    return { device, table, word: table.word(slot), release: () => closeSync(held) }
  }
  const events = (): string[] => {
    const names: string[] = []
    for (let event = context.pollAsyncEvent(); event !== null; event = context.pollAsyncEvent()) {
      names.push(event.name)
      context.ackAsyncEvent(event)
    }
    return names
  }

  /** Makes the socket of an entry one that this process lacks, and nobody has. The thread that drives devices has seen all changes before. */
  async function lose({ users, table: { i32 } }: RoceDevice, word: number): Promise<void> {
    const home = processHost()
    const turns = (): number => Atomics.load(home.i32, home.at.meta + layout.Meta.serviceTurns)
    const before = turns()
    await until('turns', () => {
      wakeService(home)
      return turns() - before > 4
    })
    Atomics.store(i32, word + Slot.serial, i32[word + Slot.serial]! + 1)
    expect(users.bringInLine()).toBe(false)
  }

  /** Runs `work` while no socket can be opened. */
  function failing(code: 'EMFILE' | 'EADDRNOTAVAIL', work: () => void): void {
    const open = vi.spyOn(UdpSocket, 'open').mockImplementation(() => {
      throw new NativeError(code, errnos[code], 'bind', 'a socket could not be opened')
    })
    try {
      work()
      expect(open).toHaveBeenCalledTimes(1)
    } finally {
      open.mockRestore()
    }
  }

  it('of an address is opened again, once nobody has its port', async () => {
    const { device, table, word, release } = start(2)
    expect(device.shared).toBe(true)
    await lose(device, word)
    const missing = table.missing()
    // As while a process that has it does not answer.
    for (let n = 0; n < 3; n++) device.users.reopenMissing()
    expect([missing.length, table.missing()]).toEqual([1, missing])
    release()
    // As after the end of the process that had it: the thread that drives devices is woken, and tries.
    const { host, index } = device
    Atomics.add(host.i32, host.deviceWord(index) + RoceDev.changes, 1)
    for (const each of [host, processHost()]) wakeService(each)
    await until('the socket', () => table.missing().length === 0)
    expect([table.descriptors().length, table.slotOfAddress(0)]).toEqual([1, missing[0]])
    await until('agreement', () => device.users.bringInLine())
    expect(context.queryGidTable().length).toBe(1)
  })

  it('of a group is opened again for all that have joined, once there are descriptors', async () => {
    const { device, table, release } = start(3)
    release()
    const gid = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 11, process.pid & 0xff, 1)
    for (let n = 0; n < 2; n++) device.joinGroup(gid)
    const slot = table.slotOfGroup(gid)
    await lose(device, table.word(slot))
    failing('EMFILE', () => device.users.reopenMissing())
    expect(table.slotOfGroup(gid)).toBe(slot)
    device.users.reopenMissing()
    expect([table.missing(), table.slotOfGroup(gid)]).toEqual([[], slot])
    device.leaveGroup(gid)
    expect(table.slotOfGroup(gid)).toBe(slot)
    device.leaveGroup(gid)
    expect(table.slotOfGroup(gid)).toBe(-1)
  })

  it('of an address that the host has lost is closed, and opened when the host has that again', async () => {
    const { device, table, word, release } = start(4)
    release()
    await lose(device, word)
    // The thread that drives devices is woken, and may open it again at once.
    const close = vi.spyOn(OpenSockets.prototype, 'closeSlot')
    failing('EADDRNOTAVAIL', () => device.users.reopenMissing())
    expect(close).toHaveBeenCalledTimes(1)
    close.mockRestore()
    expect(table.missing()).toEqual([])
    await until('the host', () => device.followHost(hostLinks(), hostAddresses()))
    expect(table.descriptors().length).toBe(1)
  })

  it('is opened when the host changes, as soon as that is possible; until then its GID is not valid', async () => {
    const { device, table, word, release } = start(1)
    const follow = () => until('the host', () => device.followHost(hostLinks(), hostAddresses()))
    await follow()
    expect([context.queryGidTable().length, events()]).toEqual([1, []])
    // As where it could not be opened.
    Atomics.store(table.i32, word + Slot.serial, 0)
    await follow()
    expect(context.queryGidTable()).toEqual([])
    // The thread that drives devices may be the one that has found it, and about to say so.
    await until('an event', () => events().includes('GidChange'))
    await follow()
    expect([context.queryGidTable(), events()]).toEqual([[], []])
    release()
    await follow()
    expect(context.queryGidTable().length).toBe(1)
    await until('an event', () => events().includes('GidChange'))
    expect(table.descriptors().length).toBe(1)
    await follow()
    expect([table.descriptors().length, events()]).toEqual([1, []])
  })
})
