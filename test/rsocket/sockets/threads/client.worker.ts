/** The other end of a blocking connection, in a thread of its own. What it does is in its data. */
import { parentPort } from 'node:worker_threads'
import {
  AF_INET,
  PROT_WRITE,
  RDMA_IOMAPSIZE,
  type RSocket,
  rsocket,
  SHUT_WR,
  SOCK_STREAM,
  SOL_RDMA,
} from '../../../../src/index.ts'
import { threadData } from '../../../../src/memory/index.ts'

export interface Task {
  device: string
  address: string
  port: number
  what: 'echo' | 'pour' | 'wait' | 'mapped'
  bytes: number
}

const { device, address, port, what, bytes } = threadData<Task>()
const s: RSocket = rsocket(AF_INET, SOCK_STREAM, 0, { device })
s.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, 1)
const connected = s.connect({ address, port })
if (connected < 0) throw new Error(s.reason)
const buffer = new Uint8Array(100_000)
if (what === 'echo') {
  for (let n = s.recv(buffer); n > 0; n = s.recv(buffer)) {
    let sent = 0
    while (sent < n) sent += s.send(buffer.subarray(sent, n))
  }
  s.close()
} else if (what === 'pour') {
  // From memory of the device, so that it is not copied on the way.
  const direct = s.alloc(70_000)
  for (let left = bytes; left > 0; ) {
    const n = Math.min(left, direct.length)
    for (let i = 0; i < n; i++) direct[i] = (bytes - left + i) & 0xff
    left -= s.send(direct.subarray(0, n))
  }
  s.shutdown(SHUT_WR)
  // Until the other side has it all.
  s.recv(buffer)
  parentPort!.postMessage(s.counters())
  s.close()
} else if (what === 'mapped') {
  const target = s.alloc(bytes)
  s.riomap(target, PROT_WRITE, 0, 0)
  s.send(Uint8Array.of(1))
  s.recv(buffer)
  parentPort!.postMessage(target.reduce((sum, byte) => sum + byte, 0))
  s.close()
} else {
  parentPort!.postMessage('connected')
  s.recv(buffer)
}
