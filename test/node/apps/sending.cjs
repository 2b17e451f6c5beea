// Sends a socket and a server to a child process, and what cannot be sent.
const { fork } = require('node:child_process')
const { once } = require('node:events')
const net = require('node:net')

async function parent() {
  const { show } = await import('./main.mjs')
  const child = fork(__filename, ['child'])
  const attempt = (what, handle) => {
    try {
      child.send(what, handle)
      return 'sent'
    } catch (error) {
      return `${error.name} ${error.code}`
    }
  }
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect(server.address().port, '127.0.0.1')
  const [socket] = await once(server, 'connection')
  show('a socket', attempt('socket', socket))
  show('a server', attempt('server', server))
  show('a date', attempt('date', new Date()))
  const [text] = await once(child, 'message')
  show('the child', text)
  child.disconnect()
  client.destroy()
  socket.destroy()
  server.close()
}

if (process.argv[2] === 'child') {
  const got = []
  process.on('message', (what, handle) => {
    got.push(`${what} ${handle instanceof net.Socket || handle instanceof net.Server}`)
    handle?.unref?.()
    if (what === 'server') process.send(got.join(', '))
  })
} else void parent()
