// Clients of servers that do not answer over RDMA, in the network 127.0.79, or late, in 127.0.80.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import tls from 'node:tls'
import { show } from './main.mjs'

const file = (name) => readFileSync(new URL(`./localhost-${name}.pem`, import.meta.url))
const patienceMs = 5000
const events = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connect', 'ready', 'secureConnect', 'end']

async function listen(server, host) {
  server.listen(0, host)
  await once(server, 'listening')
  return server.address().port
}

function watch(socket) {
  const seen = []
  for (const name of events) socket.on(name, () => seen.push(name))
  socket.on('data', (data) => seen.push(`${data}`))
  socket.on('error', ({ code, syscall }) => seen.push(`error ${code} ${syscall}`))
  return new Promise((resolve) => socket.on('close', (hadError) => resolve([...seen, `close ${hadError}`])))
}

/** Waits for the peer as long as a program does that has little time. */
async function use(name, connect) {
  const socket = connect()
  const seen = await Promise.race([watch(socket), after(patienceMs, ['given up'], { ref: false })])
  socket.destroy()
  show(`${name}:`, ...seen, socket.bytesRead, socket.bytesWritten)
}

const given = { cert: file('cert'), key: file('key') }

for (const network of ['127.0.79', '127.0.80']) {
  let cases = 0
  /** A server at an address of its own, since peers are remembered. */
  const at = async (connect, secure = false) => {
    const host = `${network}.${++cases}`
    const pipe = (socket) => socket.on('error', () => {}).pipe(socket)
    const server = secure ? tls.createServer(given, pipe) : net.createServer({ allowHalfOpen: true }, pipe)
    const port = await listen(server, host)
    await connect({ port, host })
    await new Promise((resolve) => server.close(resolve))
  }
  const one = (name, connect, secure) => at((to) => use(name, () => connect(to)), secure)
  const lookup = (_host, { all }, done) => {
    const address = `${network}.${cases}`
    setImmediate(done, null, all ? [{ address, family: 4 }] : address, 4)
  }
  const buffer = Buffer.alloc(100)
  const onread = { buffer, callback: (length) => show('onread', buffer.toString('utf8', 0, length)) }
  const connect = (options) => net.connect(options).end('hello')
  await one('an address', connect)
  await one('a name', ({ port }) => connect({ port, host: 'a.example', lookup }).setNoDelay().setKeepAlive(true, 5000))
  await one('into a buffer', (to) => connect({ ...to, onread }))
  await one('let go', (to) => connect(to).unref().ref())
  await one('ended without a word', (to) => net.connect(to).resume().end())
  await one('reset', (to) => net.connect(to).resetAndDestroy())
  await one('destroyed at once', (to) => net.connect(to).destroy())
  await one('TLS', (to) => tls.connect({ ...to, rejectUnauthorized: false }).end('hello'), true)
  await at(async (to) => {
    const seen = await Promise.all(Array.from({ length: 5 }, () => watch(connect(to))))
    show('many', ...new Set(seen.map((one) => one.join(' '))))
  })
  await use('refused', () => net.connect(1, `${network}.99`))
}
process.exit()
