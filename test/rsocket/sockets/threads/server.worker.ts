/** The end that listens and checks, in a thread of its own: what it finds wrong is an error of the thread. */
import assert from 'node:assert/strict'
import { parentPort } from 'node:worker_threads'
import {
  AF_INET,
  Errno,
  MSG_DONTWAIT,
  MSG_PEEK,
  MSG_WAITALL,
  POLLIN,
  POLLOUT,
  type PollFd,
  RDMA_IOMAPSIZE,
  type RSocket,
  type RSocketLike,
  rpoll,
  rselect,
  rsocket,
  SHUT_WR,
  SOCK_STREAM,
  SOL_RDMA,
  type SocketAddress,
} from '../../../../src/index.ts'
import { threadData } from '../../../../src/memory/index.ts'
import type { Task } from './client.worker.ts'

export interface ServerTask {
  device: string
  address: string
  what: Task['what'] | 'poll'
  bytes: number
}

const { device, address, what, bytes } = threadData<ServerTask>()
const listener = rsocket(AF_INET, SOCK_STREAM, 0, { device })
listener.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 1)
assert.equal(listener.bind({ address, port: 0 }), 0, listener.reason)
assert.equal(listener.listen(), 0)
parentPort!.postMessage((listener.getsockname() as SocketAddress).port)

function accept(): RSocket {
  const s = listener.accept()
  assert.ok(typeof s === 'object')
  return s
}

function conversation(): void {
  const s = accept()
  const into = new Uint8Array(1000)
  for (let i = 1; i <= 300; i++) {
    assert.equal(s.send(new Uint8Array(i).fill(i)), i)
    if (i % 3 === 0) {
      assert.equal(s.recv(into.subarray(0, 1), MSG_PEEK), 1)
      assert.equal(into[0], i & 0xff)
    }
    assert.equal(s.recv(into.subarray(0, i), MSG_WAITALL), i)
    assert.ok(into.subarray(0, i).every((byte) => byte === (i & 0xff)))
    assert.equal(s.recv(into, MSG_DONTWAIT), -Errno.EAGAIN)
  }
  assert.equal(s.sendv([Uint8Array.of(1, 2), Uint8Array.of(3)]), 3)
  const parts = [new Uint8Array(1), new Uint8Array(2)]
  assert.equal(s.recvv(parts, MSG_WAITALL), 3)
  assert.deepEqual(
    parts.map((part) => [...part]),
    [[1], [2, 3]],
  )
  s.shutdown(SHUT_WR)
  assert.equal(s.recv(into), 0)
  s.close()
}

function drain(): void {
  const s = accept()
  const into = new Uint8Array(50_000)
  let sum = 0
  for (let n = s.recv(into); n > 0; n = s.recv(into)) {
    for (let i = 0; i < n; i++) if (into[i] !== ((sum + i) & 0xff)) assert.fail(`byte ${sum + i} is ${into[i]}`)
    sum += n
  }
  assert.equal(sum, bytes)
  s.send(Uint8Array.of(1))
  s.close()
}

function several(): void {
  const fds: PollFd[] = [{ fd: listener, events: POLLIN, revents: 0 }]
  const sockets: RSocket[] = []
  while (sockets.length < 2) {
    assert.equal(rpoll(fds), 1)
    sockets.push(accept())
  }
  const [one, two] = sockets as [RSocket, RSocket]
  const all: PollFd[] = [listener, one, two].map((fd) => ({ fd, events: POLLIN, revents: 99 }))
  const seen = (): number[] => all.map(({ revents }) => revents)
  assert.equal(rpoll(all, 0), 0)
  assert.deepEqual(seen(), [0, 0, 0])
  two.send(Uint8Array.of(1))
  assert.equal(rpoll(all), 1)
  assert.deepEqual(seen(), [0, 0, POLLIN])
  const [read, write] = [new Set<RSocketLike>(sockets), new Set<RSocketLike>(sockets)]
  assert.equal(rselect(read, write, null, 0), 3)
  assert.deepEqual([...read], [two])
  assert.equal(two.recv(new Uint8Array(1)), 1)
  assert.equal(rpoll(all, 5), 0)
  one.close()
  assert.equal(rselect(new Set([one]), null, null, 0), -Errno.EBADF)
  const last: PollFd[] = [
    { fd: null, events: POLLIN, revents: 5 },
    { fd: two, events: POLLOUT, revents: 0 },
  ]
  assert.equal(rpoll(last, 0), 1)
  two.close()
}

function mapped(): void {
  const s = accept()
  assert.equal(s.recv(new Uint8Array(1)), 1)
  assert.equal(s.riowrite(new Uint8Array(bytes).fill(2), 0), bytes)
  s.send(Uint8Array.of(1))
  assert.equal(s.recv(new Uint8Array(1)), 0)
  s.close()
}

switch (what) {
  case 'echo':
    conversation()
    break
  case 'pour':
    drain()
    break
  case 'poll':
    several()
    break
  default:
    mapped()
}
listener.close()
parentPort!.postMessage('done')
