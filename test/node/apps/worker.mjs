// A worker with a server, and its client in the main thread.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { show } from './main.mjs'

if (isMainThread) {
  const host = process.argv[2] ?? '127.0.0.1'
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData: host })
  const [port] = await once(worker, 'message')
  const client = connect(port, host)
  show(String((await once(client, 'data'))[0]))
  await once(client, 'close')
} else {
  const server = createServer((socket) => {
    socket.end('from a worker')
    server.close()
  })
  server.listen(0, workerData, () => parentPort.postMessage(server.address().port))
}
