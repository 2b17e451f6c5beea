// How a server learns that a process or a thread with a connection has ended, in whatever way. `node ends.mjs [HOST]`
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker } from 'node:worker_threads'
import { show } from './main.mjs'

const file = fileURLToPath(import.meta.url)

/** What a client does when the server has greeted it. */
const ways = {
  exit: () => process.exit(),
  'exit after a write': (socket) => socket.write('last', () => process.exit()),
  throw: () => {
    throw new Error('not caught')
  },
  unref: (socket) => socket.unref(),
  destroy: (socket) => socket.destroy(),
  'exit with data unread': () => {},
}

function leave(way, port, host) {
  const socket = net.connect(Number(port), host)
  if (way === 'exit with data unread') socket.pause().once('connect', () => setTimeout(() => process.exit(), 300))
  socket.once('data', () => ways[way](socket))
}

async function serve(host) {
  const server = net.createServer((socket) => socket.write('go')).listen(0, host)
  await once(server, 'listening')
  const { port } = server.address()
  for (const kind of ['process', 'thread'])
    for (const way of Object.keys(ways)) {
      const args = ['leave', way, String(port), host]
      const connected = once(server, 'connection')
      const client =
        kind === 'process'
          ? spawn(process.execPath, [...process.execArgv, file, ...args], { stdio: 'ignore' })
          : new Worker(file, { argv: args, stderr: true })
      client.on('error', () => {})
      const ended = new Promise((resolve) => client.on('exit', resolve))
      const [socket] = await connected
      const seen = []
      socket.on('data', (data) => seen.push(`${data}`)).on('end', () => seen.push('end'))
      socket.on('error', ({ code, syscall }) => seen.push(`${code} ${syscall}`))
      // At once, and not when an idle connection is probed.
      const late = setTimeout(() => socket.destroy(new Error('not noticed')), 10_000)
      await Promise.all([ended, new Promise((resolve) => socket.on('close', resolve))])
      clearTimeout(late)
      show(kind, way, ...seen)
    }
  server.close()
}

const [role, ...rest] = process.argv.slice(2)
if (role === 'leave') leave(...rest)
else if (isMainThread) await serve(role ?? '127.0.0.1')
