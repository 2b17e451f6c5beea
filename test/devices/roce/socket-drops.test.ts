/** What the kernel says of full buffers. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { kernelDrops } from '../../../src/devices/roce/socket-drops.ts'
import { addressKey } from '../../../src/devices/roce/udp-table.ts'
import { nativeAvailable, openDevice } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const sender = createSocket('udp4')
afterAll(() => sender.close())

it.skipIf(!existsSync('/proc/net/udp'))('counts what came while nobody received', async () => {
  const address = loopbackAddress(1)
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4096 })
  socket.bind({ address, port: 4791, exclusive: true })
  await once(socket, 'listening')
  const key = addressKey(Uint8Array.from(address.split('.').map(Number)))
  expect(kernelDrops(4791).get(key)).toBe(0)
  // SendProgress at once, all of them, so that the event loop has no turn to receive any.
  for (let i = 0; i < 64; i++) sender.send(new Uint8Array(1024), 4791, address)
  await until('drops', () => kernelDrops(4791).get(key)! > 0)
  expect(kernelDrops(4790).has(key)).toBe(false)
  socket.close()
})

describe.skipIf(!nativeAvailable)('a device', () => {
  it('counts empty datagrams, too', async () => {
    const context = openDevice(loopbackDevice(2))
    for (let i = 0; i < 10; i++) sender.send(new Uint8Array(0), 4791, loopbackAddress(2))
    await until('ten drops', () => {
      context.pollAsyncEvent()
      return context.counters().drops_malformed === 10
    })
    expect(context.counters().rcvd_pkts).toBe(0)
    context.close()
  })
})
