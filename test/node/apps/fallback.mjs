// Connections that go over TCP although a rule says RDMA, and what the channel says of them.
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

subscribe('verbena:net:fallback', ({ host, port, rule, reason, text }) =>
  show(`${host} ${port === current} ${rule} ${reason}: ${text.replace(/[\d.]+ (?=m?s)/, 'N ')}`),
)

let current = 0
for (const host of ['127.0.0.1', '127.0.79.1', '127.0.79.1']) {
  const server = createServer((socket) => socket.end('reached'))
  server.listen(0, host)
  await once(server, 'listening')
  current = server.address().port
  const client = connect({ port: current, host })
  client.on('data', (data) => show(`${data}`))
  await once(client, 'close')
  server.close()
}
