// A WebSocket echo, with the package ws.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { WebSocket, WebSocketServer } from 'ws'
import { main, pattern, show } from './main.mjs'

async function serve(host) {
  const server = new WebSocketServer({ port: 0, host, perMessageDeflate: true })
  server.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })))
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  const socket = new WebSocket(`ws://${host}:${port}`)
  await once(socket, 'open')
  for (const text of ['hello', 'grüße', '']) {
    socket.send(text)
    const [data, isBinary] = await once(socket, 'message')
    show('echo', JSON.stringify(data.toString()), isBinary)
  }
  const big = pattern(4 << 20)
  socket.send(big)
  const [back] = await once(socket, 'message')
  show(
    'binary',
    back.length,
    createHash('sha256').update(back).digest('hex') === createHash('sha256').update(big).digest('hex'),
  )
  const got = []
  socket.on('message', (data) => got.push(Number(data)))
  for (let i = 0; i < 1000; i++) socket.send(String(i))
  while (got.length < 1000) await once(socket, 'message')
  show(
    'thousand in order',
    got.every((n, i) => n === i),
  )
  socket.ping('are you there')
  const [pong] = await once(socket, 'pong')
  show('pong', pong.toString())
  socket.close(1000, 'bye')
  const [code, reason] = await once(socket, 'close')
  show('closed', code, reason.toString())
}

void main(serve, use)
