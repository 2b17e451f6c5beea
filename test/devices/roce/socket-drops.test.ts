/** What the kernel says of full buffers. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { PacketSocket } from '../../../src/devices/roce/packet-socket.ts'
import { kernelDrops } from '../../../src/devices/roce/socket-drops.ts'
import type { SocketTable } from '../../../src/devices/roce/socket-table.ts'
import { Sockets } from '../../../src/devices/roce/sockets.ts'
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

it('what the kernel says of a socket is added, also when its 32 bits begin anew', () => {
  using context = openDevice('shm0')
  const { host, index } = context.device
  const record = host.segment.allocate(4096)
  const table = {
    generation: 1,
    fd: (slot: number) => (slot === 0 ? 3 : -1),
    word: () => record / 4,
    group: () => null,
  }
  const said: number[] = []
  const socket = {
    ...{ fd: 3, family: 4, segmentation: false, segmentBytes: 0, truncated: true, kernelDrops: 0 },
    receive(): number {
      socket.kernelDrops = said.shift() ?? 0
      return socket.kernelDrops === 0 ? -1 : 100
    },
  }
  const local = { address: Uint8Array.of(127, 0, 0, 1), scopeId: 0, ifindex: 1 }
  const attach = (): PacketSocket => socket as unknown as PacketSocket
  const sockets = new Sockets(host, index, table as unknown as SocketTable, [local], attach)
  sockets.transport = { origin: {} } as Sockets['transport']
  sockets.refresh()
  const before = context.counters().drops_socket_buffer!
  const counted = [5, 0x7fffffff, 0x7fffffff, 0xfffffff0, 2].map((drops) => {
    said.push(drops)
    sockets.receive(0)
    return context.counters().drops_socket_buffer! - before
  })
  expect(counted).toEqual([5, 0x7fffffff, 0x7fffffff, 0xfffffff0, 2 ** 32 + 2])
  host.segment.free(record)
})
