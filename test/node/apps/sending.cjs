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
  const results = [attempt('socket', socket), attempt('server', server)]
  show('a socket', results[0])
  show('a server', results[1])
  show('a date', attempt('date', new Date()))
  if (results[1] === 'sent') show('the child', (await once(child, 'message'))[0])
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
