/** Sockets of one thread share completion queues, and with them events: none is lost to a socket when another one is served. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AF_INET, MSG_DONTWAIT, POLLIN, POLLOUT, rsocket, SOCK_NONBLOCK, SOCK_STREAM } from '../../../src/index.ts'
import { Polling } from '../../../src/memory/index.ts'
import { activate } from '../../../src/rsocket/runtime/reactor.ts'
import type { Stream } from '../../../src/rsocket/runtime/stream.ts'
import type { StreamSocket } from '../../../src/rsocket/sockets/socket.ts'
import { layout } from '../../../src/verbs/provider/index.ts'

const device = 'shm0'
const sockets: StreamSocket[] = []
/** Ends of connections: what is sent on the first arrives at the second. */
let connections: [StreamSocket, StreamSocket][]

function stream(): StreamSocket {
  const socket = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device }) as StreamSocket
  sockets.push(socket)
  return socket
}

beforeEach(async () => {
  const listener = stream()
  listener.bind({ address: '127.0.0.1', port: 0 })
  listener.listen()
  const { port } = listener.getsockname() as { port: number }
  connections = []
  // So many that the last ones share a pair of queues.
  for (let i = 0; i < 8; i++) {
    const client = stream()
    const accepting = listener.acceptAsync()
    await client.connectAsync({ address: '127.0.0.1', port })
    connections.push([client, await accepting])
  }
  sockets.push(...connections.map(([, server]) => server))
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})

const byte = Uint8Array.of(1)

/** Watches the socket for what it can read, and waits until it rests. */
async function watchAtRest(socket: StreamSocket): Promise<{ read: number; stop: () => void }> {
  const seen = { read: 0, stop: () => {} }
  seen.stop = socket.watch(POLLIN, () => {
    const n = socket.recv(new Uint8Array(16), MSG_DONTWAIT)
    if (n > 0) seen.read += n
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  return seen
}

test('a message that another socket found in the queue is noticed by the one that is watched', async () => {
  const [[, idle], [from, watched]] = connections.slice(6) as [
    [StreamSocket, StreamSocket],
    [StreamSocket, StreamSocket],
  ]
  const seen = await watchAtRest(watched)
  from.send(byte)
  expect(idle.recv(new Uint8Array(16), MSG_DONTWAIT)).toBeLessThan(0)
  await vi.waitFor(() => expect(seen.read).toBe(1), 4000)
  seen.stop()
})

test('an event that a blocking call took leaves the queue armed for the sockets that are watched', async () => {
  const [[other, idle], [from, watched]] = connections.slice(6) as [
    [StreamSocket, StreamSocket],
    [StreamSocket, StreamSocket],
  ]
  const seen = await watchAtRest(watched)
  const { recvCq } = (watched as unknown as { own: Stream }).own.connection.qp
  const arming = vi.spyOn(recvCq, 'reqNotify')
  for (let i = 1; i <= 3; i++) {
    arming.mockClear()
    other.send(byte)
    // As a blocking call waits.
    idle.io!.sleep(100)
    // Without this the message would be noticed by the next look at idle streams.
    expect(arming).toHaveBeenCalled()
    expect(idle.recv(new Uint8Array(16), MSG_DONTWAIT)).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    from.send(byte)
    await vi.waitFor(() => expect(seen.read).toBe(i), 4000)
  }
  seen.stop()
})

test('a queue whose event a killed peer was making when it ended is armed again', async () => {
  const [, watched] = connections[7]!
  const seen = await watchAtRest(watched)
  const { own } = watched as unknown as { own: Stream }
  const recvCq = own.connection.qp.recvCq as unknown as { slot: number }
  const { host } = watched.io!.context.device
  const armed = host.cqWord(recvCq.slot) + layout.Cq.armed
  expect(host.i32[armed]).not.toBe(0)
  host.i32[armed] = layout.cqArmed.due
  await vi.waitFor(() => expect(host.i32[armed]).toBe(layout.cqArmed.any), 4000)
  seen.stop()
})

test('credits that waited for an entry of the send queue go when it is free, though nothing arrives', async () => {
  const [, watched] = connections[7]!
  const seen = await watchAtRest(watched)
  const { own } = watched as unknown as { own: Stream }
  const turn = vi.spyOn(own.member, 'turn')
  own.sentMeanwhile()
  expect(turn).not.toHaveBeenCalled()
  ;(own.connection as unknown as { in: { due: boolean } }).in.due = true
  own.sentMeanwhile()
  await vi.waitFor(() => expect(turn).toHaveBeenCalled(), 4000)
  seen.stop()
})

test('space is noticed by a socket that waits for it, whoever polls', async () => {
  const [[, idle], [from, to]] = connections.slice(6) as [[StreamSocket, StreamSocket], [StreamSocket, StreamSocket]]
  // Once a second it would find the space as well.
  vi.spyOn((from as unknown as { own: Stream }).own, 'probe').mockReturnValue()
  const full = new Uint8Array(1 << 16)
  while (from.send(full) > 0);
  let writable = 0
  const stop = from.watch(POLLOUT, () => writable++)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(writable).toBe(0)
  while (to.recv(full, MSG_DONTWAIT) > 0);
  expect(idle.recv(new Uint8Array(16), MSG_DONTWAIT)).toBeLessThan(0)
  await vi.waitFor(() => expect(writable).toBeGreaterThan(0), 4000)
  stop()
})

test.each<[string, (socket: StreamSocket) => unknown, number]>([
  ['pendingBytes', (socket) => socket.pendingBytes, 3],
  ['poll', (socket) => socket.poll(POLLOUT), 3],
  ['recv of a part', (socket) => socket.recv(new Uint8Array(1), MSG_DONTWAIT), 2],
])('a message that a call on the watched socket has found itself is noticed: %s', async (_, call, left) => {
  const [from, watched] = connections[7]!
  const seen = await watchAtRest(watched)
  from.send(Uint8Array.of(1, 2, 3))
  call(watched)
  await vi.waitFor(() => expect(seen.read).toBe(left), 4000)
  seen.stop()
})

test('requests that are done after the turn of their socket, in the last round before a rest, are noticed', async () => {
  const [[from], [sender, other]] = connections.slice(6) as [[StreamSocket, StreamSocket], [StreamSocket, StreamSocket]]
  const polls = vi.spyOn(Polling.prototype, 'goesOn').mockReturnValue(false)
  const full = new Uint8Array(1 << 16)
  while (from.send(full) > 0);
  // Once a second it would have another turn anyway.
  vi.spyOn((from as unknown as { own: Stream }).own, 'probe').mockReturnValue()
  // It waits for space, and has its turn before the other one.
  const stop = from.watch(POLLOUT, () => {})
  const seen = await watchAtRest(other)
  const streamOf = (socket: StreamSocket): Stream => (socket as unknown as { own: Stream }).own
  const turn = vi.spyOn(streamOf(from).member, 'turn')
  const order: string[] = []
  const both = new Promise<void>((resolve) => {
    vi.spyOn(streamOf(other).member, 'turn').mockImplementation(() => {
      if (turn.mock.calls.length === 0 || order.length > 0) return false
      order.push('done')
      turn.mockImplementation(() => {
        resolve()
        return false
      })
      streamOf(from).sentMeanwhile()
      return false
    })
  })
  activate(streamOf(from).member)
  activate(streamOf(other).member)
  await Promise.race([both, new Promise((_, reject) => setTimeout(reject, 3000, new Error('it had no turn')))])
  polls.mockRestore()
  sender.send(byte)
  stop()
  seen.stop()
})
