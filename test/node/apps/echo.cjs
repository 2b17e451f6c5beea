// node:net alone, in CommonJS, with what programs do to sockets.
const net = require('node:net')
const { createHash } = require('node:crypto')
const { once } = require('node:events')

async function serve(host) {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.setKeepAlive(true, 1000)
    socket.setNoDelay(true)
    socket.pipe(socket)
  })
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

class Client extends net.Socket {
  async said(text) {
    this.write(text)
    const [back] = await once(this, 'data')
    return back.toString()
  }
}

async function use(port, host) {
  const { pattern, show } = await import('./main.mjs')
  const client = new Client()
  client.connect(port, host)
  client.setTimeout(10_000)
  client.unref().ref()
  show('waits', await client.said('before it is connected'))
  show('is a net.Socket', client instanceof net.Socket, client.readyState, client.pending, client.connecting)
  show(client.remoteAddress === host, client.remotePort === port, client.localPort > 0, client.address().family)
  show('bytes', client.bytesRead, client.bytesWritten)
  client.destroy()
  await once(client, 'close')
  show('after', client.destroyed, client.readyState, client.bytesRead, client.bytesWritten)

  const data = pattern(8 << 20)
  const stream = net.createConnection({ port, host })
  const hash = createHash('sha256')
  stream.on('data', (chunk) => hash.update(chunk))
  stream.end(data)
  await once(stream, 'close')
  show(
    '8 MiB',
    hash.digest('hex') === createHash('sha256').update(data).digest('hex'),
    stream.bytesRead,
    stream.bytesWritten,
  )

  const again = new net.Socket()
  for (let i = 0; i < 3; i++) {
    again.connect({ port, host })
    again.end(`round ${i}`)
    const got = []
    const onData = (chunk) => got.push(chunk)
    again.on('data', onData)
    await once(again, 'close')
    again.off('data', onData)
    show(Buffer.concat(got).toString())
  }

  let memory = 0
  const reader = net.connect({
    port,
    host,
    onread: {
      buffer: Buffer.alloc(1000),
      callback: (length) => {
        memory += length
        return true
      },
    },
  })
  reader.end(Buffer.alloc(12_345))
  await once(reader, 'close')
  show('onread', memory)

  const nobody = net.connect({ port: 1, host })
  const [error] = await once(nobody, 'error')
  show(error.code, error.syscall, error.port, error.address === host)

  const aborted = net.connect({ port, host, signal: AbortSignal.timeout(1) })
  show((await once(aborted, 'error'))[0].name)
}

void import('./main.mjs').then(({ main }) => main(serve, use))
