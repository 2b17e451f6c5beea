/** An ordinary HTTP server, which knows nothing of RDMA: 64 bytes for every request. Prints its port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const body = 'x'.repeat(64)
const server = createServer((_, response) => {
  response.setHeader('content-length', body.length)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
// The parent has gone when this ends.
process.stdin.resume().on('end', () => process.exit(0))
