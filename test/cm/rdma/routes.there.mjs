// Listens on all addresses, by TCP and by RDMA, and says to each what it sees as the client's address.
import tcp from 'node:net'

const rdma = (await import('../../../dist/net.js')).default
const greet = (socket) => {
  socket.on('error', () => {})
  socket.end(JSON.stringify([socket.remoteAddress, socket.localAddress]))
}
const listen = (net, port) => new Promise((resolve) => net.createServer(greet).listen({ port, host: '::' }, resolve))
await Promise.all([listen(tcp, 7001), listen(rdma, 7002)])
console.log('up')
