// A server, and a client that may not reach it.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

const server = createServer((socket) => socket.end('reached'))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const client = connect(server.address().port, '127.0.0.1')
client.on('data', (data) => show(data.toString()))
client.on('error', (error) => show(error.code, error.syscall))
await once(client, 'close').catch(() => {})
server.close()
