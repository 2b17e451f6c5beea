/**
 * An HTTP server like any other: it knows nothing of RDMA. It prints the checksum of what it serves.
 *
 *     node http-server.mjs ADDRESS PORT BYTES
 */
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'

const [address, port, bytes] = process.argv.slice(2)
const body = randomBytes(Number(bytes))
const server = createServer((_request, response) => {
  response.setHeader('content-length', body.length)
  response.end(body)
})
server.listen(Number(port), address, () => console.log(createHash('sha256').update(body).digest('hex')))
process.on('SIGINT', () => {
  server.close()
  server.closeAllConnections()
})
