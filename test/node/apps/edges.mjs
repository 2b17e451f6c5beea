// The edges of sockets: connecting twice, giving up, writing to a peer that has gone, ends with data unread, the order of events.
// `node edges.mjs [HOST]`: each case says what its two ends saw, each on its own.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import tls from 'node:tls'
import { show } from './main.mjs'

const host = process.argv[2] ?? '127.0.0.1'
const short = [
  'lookup',
  'connectionAttempt',
  'connectionAttemptFailed',
  'connect',
  'ready',
  'prefinish',
  'finish',
  'end',
]

/** What the socket tells from now on; `seen.over` is when it is closed. */
function watch(socket, names = short) {
  const seen = []
  for (const name of names) socket.on(name, () => seen.push(name))
  socket.on('error', ({ code, syscall }) => seen.push(`error ${code} ${syscall}`))
  socket.on('close', (hadError) => seen.push(`close ${hadError}`))
  seen.over = new Promise((resolve) => socket.on('close', resolve))
  return seen
}

const cases = {}

/** A server for one case: `accepted` gets each socket, and what it has seen is kept. */
async function serve(accepted = (socket) => socket.resume(), options = {}) {
  const seen = []
  const server = net.createServer(options, (socket) => {
    seen.push(watch(socket, ['end', 'finish']))
    accepted(socket)
  })
  const arrived = new Promise((resolve) => server.once('connection', resolve))
  server.listen(0, host)
  await once(server, 'listening')
  return { server, port: server.address().port, seen, arrived }
}

/** Both ends know that the socket is connected. */
const connected = (at, socket) => Promise.all([at.arrived, once(socket, 'ready')])

async function over({ server, seen }) {
  await new Promise((resolve) => server.close(resolve))
  await Promise.all(seen.map((one) => one.over))
  return seen.map((one) => one.join(', '))
}

cases['connect twice at once'] = async (tell) => {
  const at = await serve()
  const socket = new net.Socket()
  const seen = watch(socket)
  socket.connect(at.port, host, () => seen.push('first'))
  socket.connect(at.port, host, () => seen.push('second'))
  await seen.over
  await over(at)
  tell(seen)
}

cases['connect when connected'] = async (tell) => {
  const at = await serve()
  const socket = net.connect(at.port, host)
  const seen = watch(socket)
  await connected(at, socket)
  socket.connect(at.port, host, () => seen.push('second'))
  await once(socket, 'ready')
  socket.destroy()
  await seen.over
  tell(seen, ...(await over(at)))
}

const found = (_host, { all }, done) => setImmediate(done, null, all ? [{ address: host, family: 4 }] : host, 4)
const notFound = (_host, _options, done) => setImmediate(done, Object.assign(new Error('none'), { code: 'ENONE' }))

for (const [name, act] of Object.entries({
  'destroy before connect': (socket, port) => socket.connect(port, host).destroy(),
  'destroy in the look-up': (socket, port) =>
    socket.once('lookup', () => socket.destroy()).connect({ port, host: 'a.example', lookup: found }),
  'look-up that fails': (socket, port) => socket.connect({ port, host: 'a.example', lookup: notFound }),
  'destroyed with an error': (socket, port) => socket.connect(port, host).destroy(new Error('mine')),
  'end before connect': (socket, port) => socket.connect(port, host).resume().end('all'),
  'destroySoon before connect': (socket, port) => socket.connect(port, host).resume().destroySoon(),
  refused: (socket) => socket.connect(1, host),
  'refused by a name': (socket) => socket.connect({ port: 1, host: 'a.example', lookup: found }),
}))
  cases[name] = async (tell) => {
    const at = await serve()
    const socket = new net.Socket()
    const seen = watch(socket)
    act(socket, at.port)
    await seen.over
    // What reaches the server of a client that gives up may differ.
    await over(at)
    tell(seen)
  }

cases['destroy with data unread'] = async (tell) => {
  const at = await serve((socket) => setTimeout(() => socket.destroy(), 50), { pauseOnConnect: true })
  const socket = net.connect(at.port, host).resume()
  const seen = watch(socket)
  socket.write(Buffer.alloc(30_000))
  await seen.over
  tell(seen, ...(await over(at)))
}

cases['destroy with data unread, after an answer'] = async (tell) => {
  const at = await serve((socket) => socket.write('no', () => setTimeout(() => socket.destroy(), 50)), {
    pauseOnConnect: true,
  })
  const socket = net.connect(at.port, host)
  const seen = watch(socket)
  socket.on('data', (data) => seen.push(String(data)))
  socket.write(Buffer.alloc(30_000))
  await seen.over
  tell(seen, ...(await over(at)))
}

cases['destroy when all is read'] = async (tell) => {
  const at = await serve((socket) => socket.once('data', () => socket.destroy()))
  const socket = net.connect(at.port, host).resume()
  const seen = watch(socket)
  socket.write('all')
  await seen.over
  tell(seen, ...(await over(at)))
}

for (const [size, times] of [
  [100, 1],
  [100, 3],
  [10 << 20, 1],
])
  cases[`${times} writes of ${size} to a peer that has gone`] = async (tell) => {
    const written = []
    const writes = (socket) => async () => {
      for (let i = 0; i < times; i++) {
        socket.write(Buffer.alloc(size), (error) => written.push(error?.code ?? 'written'))
        await after(20)
        // On a busy machine no turn of the event loop has ended in that time.
        for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate)
      }
      socket.end()
    }
    const at = await serve((socket) => socket.resume().on('end', writes(socket)), { allowHalfOpen: true })
    const socket = net.connect(at.port, host)
    const seen = watch(socket)
    await connected(at, socket)
    socket.destroy()
    await seen.over
    tell(...(await over(at)), written)
  }

cases['a large write while the peer goes'] = async (tell) => {
  let failures = 0
  const at = await serve((socket) => socket.resume().on('error', () => failures++))
  const socket = net.connect(at.port, host)
  const [accepted] = await connected(at, socket)
  socket.destroy()
  accepted.write(Buffer.alloc(10 << 20))
  await watch(accepted).over
  tell(failures)
}

cases.reset = async (tell) => {
  const at = await serve()
  const socket = net.connect(at.port, host)
  const seen = watch(socket)
  await connected(at, socket)
  socket.resetAndDestroy()
  await seen.over
  tell(seen, ...(await over(at)))
}

cases.onread = async (tell) => {
  const at = await serve((socket) => socket.end('all'))
  const self = []
  const onread = {
    buffer: Buffer.alloc(100),
    callback(length) {
      self.push(length, this === socket)
    },
  }
  const socket = net.connect({ port: at.port, host, onread })
  await watch(socket).over
  await over(at)
  tell(self)
}

cases.bufferSize = async (tell) => {
  const at = await serve()
  const socket = net.connect(at.port, host)
  await once(socket, 'connect')
  const sizes = [socket.bufferSize]
  socket.cork()
  socket.write('abc')
  sizes.push(socket.bufferSize)
  const seen = watch(socket)
  socket.destroy()
  sizes.push(socket.bufferSize)
  await seen.over
  await over(at)
  tell(sizes.map(String))
}

cases['wrong arguments'] = async (tell) => {
  for (const args of [
    [[{ port: 1 }, () => {}]],
    [{ port: 1, autoSelectFamily: 'yes' }],
    [{ port: 1, autoSelectFamilyAttemptTimeout: 'long' }],
    [{ port: 1, autoSelectFamilyAttemptTimeout: 1.5 }],
    [{ port: 1, autoSelectFamilyAttemptTimeout: 0 }],
    [{ port: 70_000 }],
    [{ port: 1, localPort: 'x' }],
  ])
    try {
      const given = args[0]
      if (!Array.isArray(given)) given.host = host
      net.connect(...args).on('error', () => {})
      tell('taken')
    } catch ({ name, code }) {
      tell(name, code)
    }
}

cases['what a look-up is asked'] = async (tell) => {
  const lookup = (name, options, done) => {
    tell(
      name,
      ...Object.entries(options)
        .map(([key, value]) => `${key} ${value}`)
        .sort(),
    )
    setImmediate(done, new Error('none'))
  }
  for (const more of [{}, { family: 4 }, { hints: 8 }, { autoSelectFamily: false }])
    await watch(net.connect({ port: 1, host: 'a.example', lookup, ...more })).over
}

cases['a local port that is taken'] = async (tell) => {
  const at = await serve()
  const taken = net.connect({ port: at.port, host, localAddress: host, localPort: at.port })
  const failed = watch(taken)
  await failed.over
  const socket = net.connect(at.port, host, () => socket.end())
  const seen = watch(socket)
  await seen.over
  await over(at)
  tell(failed, seen)
}

cases['TLS that the server ends'] = async (tell) => {
  const file = (name) => readFileSync(new URL(`./localhost-${name}.pem`, import.meta.url))
  for (const how of ['end', 'destroy']) {
    const server = tls.createServer({ cert: file('cert'), key: file('key') }, (socket) => {
      socket.on('error', () => {})
      socket.write('hello', () => socket[how]())
    })
    server.listen(0, host)
    await once(server, 'listening')
    const socket = tls.connect({ port: server.address().port, host, rejectUnauthorized: false })
    const seen = watch(socket, ['secureConnect', 'end'])
    socket.on('data', (data) => seen.push(String(data)))
    await seen.over
    await new Promise((resolve) => server.close(resolve))
    tell(how, seen)
  }
}

for (const [name, run] of Object.entries(cases)) {
  const lines = []
  const tell = (...values) => lines.push(values.flat().join(', '))
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, 8000, 'has not ended')
  })
  const result = await Promise.race([run(tell), late])
  clearTimeout(timer)
  show(`${name}:`, lines.join(' | '), result ?? '')
}
process.exit()
