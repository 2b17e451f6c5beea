// ws and Socket.IO, servers and clients in one process: `node websockets.mjs HOST`.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Server } from 'socket.io'
import { io } from 'socket.io-client'
import { WebSocket, WebSocketServer } from 'ws'

const host = process.argv[2] ?? '127.0.0.1'
const show = (...values) => console.log(...values)

const server = new WebSocketServer({ port: 0, host, perMessageDeflate: true })
await once(server, 'listening')
server.on('connection', (socket) => {
  socket.on('message', (data, binary) => {
    if (String(data) === 'terminate') socket.terminate()
    else if (String(data) === 'close') socket.close(4001, 'as asked')
    else socket.send(data, { binary })
  })
})
const url = `ws://${host}:${server.address().port}`
const open = async () => {
  const socket = new WebSocket(url, { handshakeTimeout: 2000 })
  await once(socket, 'open')
  return socket
}
const socket = await open()
let right = 0
for (let n = 0; n < 100; n++) {
  const sent = Buffer.alloc(1 + n * 950, n)
  socket.send(sent)
  const [data] = await once(socket, 'message')
  if (sent.equals(data)) right++
}
show('echoes', right)
socket.ping('still there?')
show('pong', String((await once(socket, 'pong'))[0]))
for (const how of ['close', 'terminate']) {
  const each = await open()
  each.on('error', () => {})
  each.send(how)
  show(how, (await once(each, 'close'))[0])
}
socket.close(1000)
show('closed', (await once(socket, 'close'))[0])
await new Promise((resolve) => server.close(resolve))

const http = createServer()
const sockets = new Server(http)
sockets.on('connection', (each) => {
  each.on('add', (a, b, reply) => reply(a + b))
  each.on('binary', (bytes, reply) => reply(bytes.length))
  each.on('leave', () => each.disconnect(true))
  each.join('room')
})
http.listen(0, host)
await once(http, 'listening')
const address = `http://${host}:${http.address().port}`
for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
  const client = io(address, { transports, forceNew: true, timeout: 2000, reconnection: false })
  await once(client, 'connect')
  const sum = await client.emitWithAck('add', 1, 2)
  const length = await client.emitWithAck('binary', Buffer.alloc(300_000))
  const heard = once(client, 'news')
  sockets.to('room').emit('news', 'all')
  show(transports.join(' then '), sum, length, (await heard)[0])
  const gone = once(client, 'disconnect')
  client.emit('leave')
  show('disconnected', (await gone)[0])
  client.close()
}
await sockets.close()
show('ended')
