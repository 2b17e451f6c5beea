// Resets: of a connection, of one that is being made, and of none.
import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import { show } from './main.mjs'

const server = createServer((socket) =>
  socket.resume().on('error', (error) => show('server', error.code, error.syscall)),
)
server.listen(0, '127.0.0.1')
await once(server, 'listening')

for (const hurried of [false, true]) {
  const accepted = once(server, 'connection')
  const client = connect(server.address().port, '127.0.0.1')
  client.on('error', (error) => show('client', error.code))
  if (!hurried) await once(client, 'connect')
  client.resetAndDestroy()
  show(hurried ? 'while it connects' : 'connected', client.destroyed)
  const [socket] = await accepted
  await new Promise((resolve) => socket.on('close', resolve))
  show('at the end', client.destroyed)
}

const none = new Socket()
none.resetAndDestroy()
none.on('error', (error) => show(error.code))
server.close(() => show('closed'))
