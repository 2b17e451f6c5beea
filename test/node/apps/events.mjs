// What servers and clients tell, and how often: where ports or the device are taken, and where TCP follows RDMA.
import { once } from 'node:events'
import { BlockList, connect, createServer } from 'node:net'
import { show } from './main.mjs'

async function listen(host, options = {}) {
  const server = createServer(options, (socket) => socket.end('hello'))
  let listening = 0
  server.on('listening', () => listening++)
  server.listen(0, host)
  await once(server, 'listening')
  await new Promise((resolve) => setTimeout(resolve, 20))
  show('listening', listening, server.address().address, server.address().port > 0)
  return server
}

/** The events of a client until it is closed. */
async function use(options) {
  const client = connect(options).resume()
  const seen = []
  for (const name of ['lookup', 'connect', 'ready', 'end', 'error'])
    client.on(name, (value) => seen.push(value?.code ? `${name} ${value.code}` : name))
  await new Promise((resolve) => client.on('close', resolve))
  show(...seen)
}

const lookup =
  (...addresses) =>
  (_host, options, done) => {
    const list = addresses.map((address) => ({ address, family: 4 }))
    setImmediate(() => {
      if (options.all) done(null, list)
      else done(null, list[0].address, 4)
    })
  }

for (const host of ['127.0.0.1', '127.0.0.77', '127.0.0.78']) {
  const server = await listen(host)
  const { port } = server.address()
  await use({ port, host })
  await use({ port, host: 'name.example', lookup: lookup(host) })
  await use({ port, host: 'name.example', lookup: lookup('127.0.0.1', host) })
  if (Number.parseInt(process.versions.node, 10) > 20) {
    const blockList = new BlockList()
    blockList.addAddress(host)
    await use({ port, host, blockList })
    await use({ port, host: 'name.example', lookup: lookup(host), blockList })
    const strict = await listen(host, { blockList })
    await use({ port: strict.address().port, host, localAddress: host })
    strict.close()
  }
  server.close()
}
