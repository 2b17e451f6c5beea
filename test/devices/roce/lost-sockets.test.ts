/** Sockets of a device that no process has, and that cannot be opened at first. */
import { closeSync, openSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { hostAddresses } from '../../../src/devices/roce/addresses.ts'
import type { RoceDevice } from '../../../src/devices/roce/device.ts'
import { maxSlots, Slot } from '../../../src/devices/roce/socket-table.ts'
import { type Context, openDevice } from '../../../src/index.ts'
import { hostLinks, nativeAvailable } from '../../../src/memory/index.ts'
import { becomeDescriptor } from '../../../src/memory/native/index.ts'
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

  it('is opened when the host changes, as soon as that is possible; until then its GID is not valid', async () => {
    const { device, table, word, release } = start(1)
    const follow = () => until('the host', () => device.followHost(hostLinks(), hostAddresses()))
    await follow()
    expect([context.queryGidTable().length, events()]).toEqual([1, []])
    // As where it could not be opened.
    Atomics.store(table.i32, word + Slot.serial, 0)
    await follow()
    expect([context.queryGidTable(), events()]).toEqual([[], ['GidChange']])
    await follow()
    expect([context.queryGidTable(), events()]).toEqual([[], []])
    release()
    await follow()
    expect([context.queryGidTable().length, events()]).toEqual([1, ['GidChange']])
    expect(table.descriptors().length).toBe(1)
    await follow()
    expect([table.descriptors().length, events()]).toEqual([1, []])
  })
})
