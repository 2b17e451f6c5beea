/**
 * A program that knows nothing of RDMA: with a HOST it listens there, connects to itself once, and ends; without, it ends at once. Prints
 * how much processor time the process has taken until then, in milliseconds.
 */
import { type AddressInfo, connect, createServer } from 'node:net'

const host = process.argv[2]
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  console.log((user + system) / 1000)
})
if (host !== undefined) {
  const server = createServer((socket) => {
    socket.end()
    server.close()
  })
  server.listen(0, host, () => connect((server.address() as AddressInfo).port, host).resume())
}
