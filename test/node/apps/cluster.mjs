// Two workers of a cluster with one port, and a client for each connection.
import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()]
  cluster.on('exit', (_worker, code) => {
    if (code > 0) process.exit(1)
  })
  const [[{ port }]] = await Promise.all(workers.map((worker) => once(worker, 'listening')))
  for (let i = 0; i < 4; i++) {
    const client = connect(port, '127.0.0.1')
    const [data] = await once(client, 'data')
    show(data.toString())
    client.end()
    await once(client, 'close')
  }
  for (const worker of workers) worker.kill()
} else createServer((socket) => socket.end('from a worker')).listen(Number(process.argv[2] ?? 0), '127.0.0.1')
