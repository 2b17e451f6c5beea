/** An honest client whose streams share a queue pair, until it is killed: `trunk-client.mjs DEVICE HOST PORT`. */
import { AF_INET, RDMA_SHARE, rsocket, SOCK_NONBLOCK, SOCK_STREAM, SOL_RDMA } from 'verbena'

const [device, address, port] = process.argv.slice(2)
const block = new Uint8Array(20_000)
for (let i = 0; i < 5; i++) {
  const socket = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device })
  socket.setsockopt(SOL_RDMA, RDMA_SHARE, 1)
  await socket.connectAsync({ address, port: Number(port) })
  void (async () => {
    for (;;) {
      await socket.sendAsync(block)
      await socket.recvAsync(block)
    }
  })()
}
process.send('connected')
