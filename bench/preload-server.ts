/** An ordinary HTTP server, which knows nothing of RDMA: HOST BYTES. Answers every request with so many bytes. Prints its port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const body = 'x'.repeat(Number(process.argv[3]))
const server = createServer((_, response) => {
  response.setHeader('content-length', body.length)
  response.end(body)
})
// Nothing of HTTP wakes up for connections that are idle.
server.timeout = server.keepAliveTimeout = server.requestTimeout = 0
server.listen({ host: process.argv[2], port: 0, backlog: 1024 }, () =>
  console.log((server.address() as AddressInfo).port),
)
// The parent has gone when this ends.
process.stdin.resume().on('end', () => process.exit(0))
