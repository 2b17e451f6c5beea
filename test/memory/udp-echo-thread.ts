/** A thread of udp.test.ts: sends back what arrives at a socket of the main thread, until the event descriptor is signalled. */
import { parentPort } from 'node:worker_threads'
import { UdpSocket, waitReadable } from '../../src/memory/native/index.ts'
import { threadData } from '../../src/memory/threads.ts'

const { memory, fd, family, stop, at, peer, peerPort } = threadData<{
  memory: WebAssembly.Memory
  fd: number
  family: 4 | 6
  stop: number
  at: number
  peer: Uint8Array
  peerPort: number
}>()
const socket = UdpSocket.adopt(memory.buffer, fd, family)
const destination = socket.destination(peer, peerPort)
const fds = Int32Array.of(fd, stop)
const ready = new Uint8Array(2)
let echoed = 0
parentPort!.postMessage('up')
while (ready[1] === 0) {
  waitReadable(fds, 2, 60_000, ready)
  for (let n = socket.receive(at, 65_536); n >= 0; n = socket.receive(at, 65_536)) {
    new Uint8Array(memory.buffer)[at]! ^= 0xff
    if (socket.send(at, n, socket.segmentBytes, destination) === n) echoed++
  }
}
socket.close()
parentPort!.postMessage({ echoed })
