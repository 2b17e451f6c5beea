// A cluster whose workers share one port, and whose primary connects to them: node cluster.mjs [HOST]
import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

const host = process.argv[2] ?? '127.0.0.1'

/** What the worker that takes the connection says, or the code of the error. */
async function ask(port, address = host) {
  const client = connect(port, address)
  const answer = new Promise((resolve) =>
    client.once('data', (data) => resolve(data.toString())).once('error', (error) => resolve(error.code)),
  )
  const closed = once(client, 'close').catch(() => {})
  const text = await answer
  client.end()
  await closed
  return text
}

/** Connects until all these workers have answered; the answers in order. */
async function reach(port, ...workers) {
  const left = new Set(workers.map(({ id }) => `worker ${id}`))
  const seen = new Set()
  while (left.size > 0) {
    const answer = await ask(port)
    seen.add(answer)
    left.delete(answer)
  }
  return [...seen].sort().join(', ')
}

async function listening(worker) {
  const [{ address, port }] = await once(worker, 'listening')
  show(address === host ? 'listening' : `listening on ${address}`)
  return port
}

if (cluster.isPrimary) {
  const [first, second] = [cluster.fork(), cluster.fork()]
  const [port, same] = await Promise.all([listening(first), listening(second)])
  show('one port', port === same)
  show(await reach(port, first, second))

  const own = createServer().listen(port, host)
  const [error] = await once(own, 'error')
  show('the primary itself', error.code)

  // On roce that would be another device.
  if (host === '127.0.0.1') show('another address', await ask(port, '127.0.0.2'))

  first.process.kill('SIGKILL')
  await once(first, 'exit')
  show('one is killed', await ask(port), await ask(port), await ask(port))

  const third = cluster.fork()
  show('another takes its port', (await listening(third)) === port)
  show(await reach(port, second, third))

  second.disconnect()
  await once(second, 'exit')
  show('one disconnects', await ask(port), await ask(port), await ask(port))

  third.disconnect()
  await once(third, 'exit')
  show('all have ended', await ask(port))
} else createServer((socket) => socket.end(`worker ${cluster.worker.id}`)).listen(0, host)
