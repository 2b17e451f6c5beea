/** Blocking sockets: the calls wait in their thread, so each end has one. And peers that die. */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import {
  AF_INET,
  IPPROTO_TCP,
  POLLHUP,
  type RSocket,
  rsocket,
  SO_KEEPALIVE,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_SOCKET,
  type SocketAddress,
  TCP_KEEPIDLE,
} from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import type { Task } from './threads/client.worker.ts'
import type { ServerTask } from './threads/server.worker.ts'

const open: RSocket[] = []
const workers: Worker[] = []

function start(file: 'server' | 'client', workerData: Task | ServerTask): Worker {
  const worker = startThread(new URL(`./threads/${file}.worker.ts`, import.meta.url), { workerData })
  workers.push(worker)
  return worker
}

/** Runs both ends to their end; what the client said. */
async function both(
  device: string,
  address: string,
  what: ServerTask['what'],
  bytes = 0,
  clients = 1,
): Promise<unknown> {
  const server = start('server', { device, address, what, bytes })
  const [port] = (await once(server, 'message')) as [number]
  const done = once(server, 'message')
  const task: Task = { device, address, port, what: what === 'poll' ? 'echo' : what, bytes }
  const said = Array.from({ length: clients }, () => {
    const client = start('client', task)
    return Promise.race([once(client, 'message'), once(client, 'exit')])
  })
  expect(await done).toEqual(['done'])
  return (await said[0])![0]
}

afterEach(async () => {
  for (const s of open.splice(0)) if (!s.closed) s.close()
  for (const worker of workers.splice(0)) await worker.terminate()
})

describe.each([
  ['shm0', '127.0.0.1'],
  [loopbackDevice(1), loopbackAddress(1)],
])('on %s', (device, address) => {
  test('a conversation, with all flags', async () => {
    await both(device, address, 'echo')
  })

  test('a stream from memory of the device', async () => {
    const bytes = 40 * 70_000
    const counters = await both(device, address, 'pour', bytes)
    // Where a send would have to wait for an acknowledgement copying is better for pieces of this size.
    expect(counters).toMatchObject({ bytesSent: bytes, bytesDirect: device === 'shm0' ? bytes : 0 })
  })
})

test('rpoll and rselect over several', async () => {
  await both('shm0', '127.0.0.1', 'poll', 0, 2)
})

test('riowrite into the memory of a thread that waits', async () => {
  expect(await both('shm0', '127.0.0.1', 'mapped', 100_000)).toBe(200_000)
})

describe('a peer that dies', () => {
  async function withPeer(): Promise<{ s: RSocket; peer: Worker }> {
    const listener = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device: 'shm0' })
    open.push(listener)
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen()
    const { port } = listener.getsockname() as SocketAddress
    const peer = start('client', { device: 'shm0', address: '127.0.0.1', port, what: 'wait', bytes: 0 })
    const connected = once(peer, 'message')
    const s = await listener.acceptAsync()
    open.push(s)
    await connected
    return { s, peer }
  }

  test('is noticed by who receives, with keepalives', async () => {
    const { s, peer } = await withPeer()
    s.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, 1)
    s.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
    await peer.terminate()
    const error = await s.recvAsync(new Uint8Array(1)).catch((error: unknown) => error)
    expect(['ECONNRESET', 'ETIMEDOUT']).toContain((error as { code: string }).code)
    expect(s.poll(0) & POLLHUP).toBe(POLLHUP)
  })

  test('is noticed by who sends', async () => {
    const { s, peer } = await withPeer()
    await peer.terminate()
    const error = await s.sendAsync(new Uint8Array(1 << 20)).catch((error: unknown) => error)
    expect(['ECONNRESET', 'ETIMEDOUT']).toContain((error as { code: string }).code)
    expect(s.reason).not.toBe('')
  })
})
