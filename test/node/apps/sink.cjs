// A server that says what came over each connection; a client that sends and ends, or waits.
const net = require('node:net')
const { createHash } = require('node:crypto')
const { once } = require('node:events')

const [, , role] = process.argv

async function serve(host) {
  const server = net.createServer((socket) => {
    console.log('connected')
    const hash = createHash('sha256')
    let length = 0
    socket.on('data', (chunk) => {
      hash.update(chunk)
      length += chunk.length
    })
    socket.on('end', () => console.log(`${length} ${hash.digest('hex')}`))
    socket.on('error', (error) => console.log(error.code, error.syscall))
  })
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  const data = Buffer.alloc(3_000_000, 'verbena')
  const socket = net.connect(port, host)
  if (role === 'use') {
    socket.end(data)
    console.log(`${data.length} ${createHash('sha256').update(data).digest('hex')}`)
    return
  }
  socket.on('error', (error) => console.log(error.code, error.syscall))
  socket.setKeepAlive(true, 1000)
  socket.on('end', () => console.log('end'))
}

if (role === 'wait') process.argv[2] = 'use'
void import('./main.mjs').then(({ main }) => main(serve, use))
