/**
 * A program that knows nothing of RDMA: with a HOST it listens there, connects to itself once, and ends; with a number as well it makes so
 * many requests of HTTP to itself, one after the other; without, it ends at once. Prints how much processor time the process has taken
 * until then, in milliseconds.
 */
import { once } from 'node:events'
import { Agent, createServer as createHttpServer, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'

const [host, requests] = process.argv.slice(2)
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  console.log((user + system) / 1000)
})
if (host !== undefined && requests !== undefined) {
  const server = createHttpServer((_, response) => response.end('0123456789abcdef'))
  server.listen(0, host)
  await once(server, 'listening')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let i = 0; i < Number(requests); i++) {
    const [response] = await once(get({ host, port: (server.address() as AddressInfo).port, agent }), 'response')
    await once((response as IncomingMessage).resume(), 'end')
  }
  process.exit()
} else if (host !== undefined) {
  const server = createServer((socket) => {
    socket.end()
    server.close()
  })
  server.listen(0, host, () => connect((server.address() as AddressInfo).port, host).resume())
}
