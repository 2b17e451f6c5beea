/** A device whose port another thread is about to give back: the next one waits for that, however little time either of them gets. */
import { expect, it, vi } from 'vitest'
import type * as Memory from '../../../src/memory/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

/** On a machine so busy each short sleep lasts long, in all of which the other thread got as little of the processor. */
const sleepMs = 100
const clock = vi.hoisted(() => ({ ahead: 0, onSleep: () => {} }))
vi.mock('../../../src/memory/index.ts', async (original) => {
  const memory = await original<typeof Memory>()
  return {
    ...memory,
    nowNs: () => memory.nowNs() + clock.ahead,
    sleepUntilNs: () => {
      clock.ahead += sleepMs * 1e6
      clock.onSleep()
    },
  }
})
const { nativeAvailable, openDevice } = await import('../../../src/index.ts')
const { UdpSocket } = await import('../../../src/memory/index.ts')

it.skipIf(!nativeAvailable)('a port that is about to be given back is waited for by pauses, not by the clock', () => {
  const address = Uint8Array.from(loopbackAddress(1).split('.'), Number)
  const held = UdpSocket.open(new SharedArrayBuffer(8), { address, port: 4791 })
  let pauses = 0
  clock.onSleep = () => {
    if (++pauses === 50) held.close()
  }
  openDevice(loopbackDevice(1)).close()
  expect(pauses).toBe(50)
})
