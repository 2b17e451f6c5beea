// A client that gives up after 150 ms, of a server that does not answer over RDMA.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

const host = '127.0.79.1'
const server = createServer((socket) => socket.end('reached'))
server.listen(0, host)
await once(server, 'listening')
for (const to of [host, host, 'a.example']) {
  const lookup = (_host, { all }, done) => setImmediate(done, null, all ? [{ address: host, family: 4 }] : host, 4)
  const client = connect({ port: server.address().port, host: to, lookup })
  client.setTimeout(150, () => {
    show('given up')
    client.destroy()
  })
  client.on('data', (data) => show(`${data}`))
  await once(client, 'close')
}
server.close()
