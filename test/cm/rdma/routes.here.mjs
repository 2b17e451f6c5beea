// Connects to each address, by TCP and by RDMA; prints the local address, and what the other side sees, or the error.
import tcp from 'node:net'

const { createEventChannel, PortSpace } = await import('../../../dist/index.js')
const rdma = (await import('../../../dist/net.js')).default
const mapped = (text) => text.replace('::ffff:', '')

function ask(net, port, host, options = {}) {
  return new Promise((resolve) => {
    let local = ''
    let said = ''
    const socket = net.connect({ port, host, ...options })
    socket.on('connect', () => (local = socket.localAddress))
    socket.on('data', (bytes) => (said += bytes))
    socket.on('error', (error) => resolve(error.code))
    socket.on('end', () => {
      const [seen, at] = JSON.parse(said).map(mapped)
      resolve(`${local} seen as ${seen} at ${at}`)
      socket.destroy()
    })
  })
}

/** What the RDMA CM says by itself: its source, or the status of its error. */
function resolved(destination, source) {
  const channel = createEventChannel({ device: 'roce' })
  const id = channel.createId(PortSpace.Tcp)
  try {
    id.resolveAddr(source && { address: source }, { address: destination, port: 7002 })
    const { status } = channel.tryGetEvent()
    return status === 0 ? id.localAddress.address : status
  } catch (error) {
    return error.code
  } finally {
    id.close()
    channel.close()
  }
}

const answers = {}
for (const to of process.env.ADDRESSES.split(' ')) {
  const [destination, source] = to.split('<')
  const options = source === undefined ? {} : { localAddress: source }
  answers[to] = {
    tcp: await ask(tcp, 7001, destination, options),
    rdma: await ask(rdma, 7002, destination, options),
    cm: resolved(destination, source),
  }
}
console.log(JSON.stringify(answers))
process.exit()
