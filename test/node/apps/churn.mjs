// A cluster whose workers are killed one after the other, while clients go on connecting: node churn.mjs [KILLS] [HOST]
import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { show } from './main.mjs'

const [kills = '8', host = '127.0.0.1'] = process.argv.slice(2)

async function ask(port) {
  const client = connect(port, host)
  const told = new Promise((resolve) =>
    client.once('data', () => resolve('answered')).once('error', (error) => resolve(error.code)),
  )
  const closed = once(client, 'close').catch(() => {})
  const text = await Promise.race([told, closed.then(() => 'closed')])
  client.end()
  await closed
  return text
}

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork(), cluster.fork()]
  const [[{ port }]] = await Promise.all(workers.map((worker) => once(worker, 'listening')))
  let going = true
  const seen = {}
  const asking = [1, 2, 3, 4].map(async () => {
    while (going) {
      const text = await ask(port)
      seen[text] = (seen[text] ?? 0) + 1
    }
  })
  for (let i = 0; i < Number(kills); i++) {
    await sleep(100)
    workers.shift().process.kill('SIGKILL')
    const next = cluster.fork()
    await once(next, 'listening')
    workers.push(next)
  }
  going = false
  await Promise.all(asking)
  const { answered, ...others } = seen
  show('answered', answered > 0)
  show(
    'not answered',
    Object.keys(others)
      .filter((code) => code !== 'ECONNRESET' && code !== 'ETIMEDOUT')
      .join(', ') || 'only those of a worker that died',
  )
  show(await ask(port))
  cluster.disconnect()
} else createServer((socket) => socket.end(`worker ${cluster.worker.id}`)).listen(0, host)
