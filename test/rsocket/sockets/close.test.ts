/** Closing while events of the socket wait to be taken: nothing may wait for an acknowledgement that cannot come. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AF_INET, rsocket, SOCK_NONBLOCK, SOCK_STREAM } from '../../../src/index.ts'
import type { StreamSocket } from '../../../src/rsocket/sockets/socket.ts'

const device = 'shm0'

function stream(): StreamSocket {
  return rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device }) as StreamSocket
}

test('a socket is closed in the same turn in which its event is there', async () => {
  const listener = stream()
  expect(listener.bind({ address: '127.0.0.1', port: 0 })).toBe(0)
  expect(listener.listen()).toBe(0)
  const name = listener.getsockname()
  if (typeof name === 'number') throw new Error('no name')
  for (let i = 0; i < 5; i++) {
    const client = stream()
    const accepting = listener.acceptAsync()
    await client.connectAsync({ address: '127.0.0.1', port: name.port })
    const server = await accepting
    // The event loop waits for this device no more; then it is as before a sleep: what comes makes an event.
    await delay(5)
    client.prepareSleep()
    server.prepareSleep()
    expect(server.send(Uint8Array.of(1))).toBe(1)
    expect(client.send(Uint8Array.of(1))).toBe(1)
    expect(client.close()).toBe(0)
    expect(server.close()).toBe(0)
    expect([client.closed, server.closed]).toEqual([true, true])
  }
  expect(listener.close()).toBe(0)
})
