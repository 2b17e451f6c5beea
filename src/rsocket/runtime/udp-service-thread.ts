/**
 * The thread that owns the UDP sockets of datagram rsockets, as librdmacm has one: UDP works while the thread of the
 * sockets blocks, and a socket's port is known as soon as it is bound.
 */
import { createSocket, type Socket } from 'node:dgram'
import type { MessagePort } from 'node:worker_threads'
import { threadData } from '../../memory/index.ts'
import { datagramCost, type FromUdp, Room, type ToUdp } from './udp-messages.ts'

const { port, signal } = threadData<{ port: MessagePort; signal: Int32Array }>()
const sockets = new Map<number, Socket>()

function post(message: FromUdp): void {
  port.postMessage(message)
  Atomics.add(signal, 0, 1)
  Atomics.notify(signal, 0)
}

function bind(message: Extract<ToUdp, { what: 'bind' }>): void {
  const { id, family, address, reuse, room } = message
  const socket = createSocket({ type: family === 6 ? 'udp6' : 'udp4', reuseAddr: reuse, ipv6Only: message.v6Only })
  sockets.set(id, socket)
  socket.once('error', (error: NodeJS.ErrnoException) => {
    sockets.delete(id)
    socket.close()
    post({ what: 'failed', id, code: error.code ?? '', text: error.message })
  })
  socket.bind({ port: message.port, address }, () => {
    socket.removeAllListeners('error')
    // An ICMP error arrives here: datagrams may be lost.
    socket.on('error', () => {})
    post({ what: 'bound', id, port: socket.address().port })
  })
  socket.on('message', (data, from) => {
    const waiting = Atomics.load(room, Room.waiting)
    const bytes = data.length + datagramCost
    // The longest datagram fits whatever the limit is.
    if (waiting > 0 && waiting + bytes > Atomics.load(room, Room.limit)) {
      Atomics.add(room, Room.dropped, 1)
      return
    }
    Atomics.add(room, Room.waiting, bytes)
    post({ what: 'data', id, data, address: from.address, port: from.port })
  })
}

port.on('message', (message: ToUdp) => {
  const socket = sockets.get(message.id)
  switch (message.what) {
    case 'bind':
      bind(message)
      break
    case 'send':
      socket?.send(message.data, message.port, message.address, () => {})
      break
    case 'broadcast':
      socket?.setBroadcast(message.on)
      break
    case 'close':
      sockets.delete(message.id)
      socket?.close()
  }
})

post({ what: 'ready' })
