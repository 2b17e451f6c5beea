/**
 * A client by verbena/net: sends BYTES, reads until the server has ended, and prints checksums of both.
 *
 *     node net-client.mjs DEVICE ADDRESS PORT BYTES
 */
import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'verbena/net'

const [device, host, port, bytes] = process.argv.slice(2)
const text = randomBytes(Number(bytes))
const heard = createHash('sha256')
let count = 0
const socket = connect({ host, port: Number(port), device }, () => socket.write(text))
socket.on('data', (data) => {
  count += data.length
  heard.update(data)
})
socket.on('end', () => {
  const sent = createHash('sha256').update(text).digest('hex')
  const { remoteAddress, remotePort } = socket
  console.log(JSON.stringify({ remoteAddress, remotePort, sent, count, heard: heard.digest('hex') }))
})
