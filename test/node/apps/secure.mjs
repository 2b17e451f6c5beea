// Connections of TLS and HTTP/2: how they begin and how they end.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'
import net from 'node:net'
import tls from 'node:tls'
import { main, show } from './main.mjs'

const cert = readFileSync(new URL('./localhost-cert.pem', import.meta.url))
const key = readFileSync(new URL('./localhost-key.pem', import.meta.url))
const secure = { ca: cert, servername: 'localhost' }

async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

/** What a stream of HTTP/2 gives, until it is closed. */
function story(stream) {
  const told = []
  stream.on('response', (headers) => told.push(headers[':status']))
  stream.on('data', (chunk) => told.push(String(chunk)))
  stream.on('end', () => told.push('end'))
  stream.on('error', (error) => told.push(`${error.code} ${error.message}`))
  return new Promise((resolve) => stream.on('close', () => resolve(told.join(', '))))
}

async function sessions() {
  const refused = http2.connect('http://127.0.0.1:1')
  refused.on('connect', () => show('connected to nobody'))
  const [error] = await once(refused, 'error')
  show('refused', error.code, refused.connecting)

  const server = http2.createServer()
  const port = await listening(server)
  const session = http2.connect(`http://127.0.0.1:${port}`)
  show('at first', session.connecting, session.socket.connecting)
  const [[, socket], [serverSession]] = await Promise.all([once(session, 'connect'), once(server, 'session')])
  show('connected', session.connecting, socket.remotePort === port, serverSession.socket.server === server)

  server.once('stream', (stream) => {
    stream.respond()
    stream.end('an answer')
    stream.session.close()
  })
  show('closed by the server:', await story(session.request()))
  await once(session, 'close')

  const answers = {
    'a destroyed session'(stream) {
      stream.respond()
      stream.end('all of it')
      stream.on('finish', () => stream.session.destroy())
    },
    'a session destroyed with a code'(stream) {
      stream.session.destroy(7)
    },
    'a stream destroyed after a write'(stream) {
      stream.write('hello')
      stream.destroy(new Error('for a reason'))
    },
  }
  for (const [name, answer] of Object.entries(answers)) {
    server.once('session', (it) => it.on('error', () => {}))
    const client = http2.connect(`http://127.0.0.1:${port}`)
    client.on('error', (problem) => show(name, 'session', problem.message))
    server.once('stream', (stream) => stream.on('error', () => {}))
    server.once('stream', answer)
    show(name, await story(client.request()))
    client.destroy()
  }
  server.close()
}

/** A request and its end in one packet, as of a client that gives up. */
async function takenBack() {
  const server = http2.createServer()
  const port = await listening(server)
  const heard = once(server, 'stream')
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    stream.respond()
  })
  const client = net.connect(port, '127.0.0.1')
  const frame = (type, flags, id, payload) =>
    Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, id]), payload])
  client.write(
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(4, 0, 0, Buffer.alloc(0)),
      // GET, http, /, and an authority of one letter.
      frame(1, 5, 1, Buffer.from([0x82, 0x86, 0x84, 0x41, 0x01, 0x61])),
      frame(3, 0, 1, Buffer.from([0, 0, 0, 2])),
    ]),
  )
  client.on('error', () => {}).resume()
  const [stream] = await heard
  show('taken back', stream.id, stream.rstCode)
  await new Promise((resolve) => stream.on('close', resolve))
  show('closed', stream.rstCode)
  client.destroy()
  server.close()
}

async function tlsSockets() {
  const server = tls.createServer({ key, cert }, (socket) => socket.on('error', () => {}).end('0123456789'))
  const port = await listening(server)

  for (const bad of [{ ciphers: 'no-such-cipher' }, { minVersion: 'TLSv1.9' }, { pfx: Buffer.from('nonsense') }])
    try {
      tls.connect({ port, host: '127.0.0.1', ...secure, ...bad })
    } catch (error) {
      show('not connected', error.code)
    }
  const aborted = tls.connect({ port, host: '127.0.0.1', ...secure, signal: AbortSignal.abort() })
  show('aborted', (await once(aborted, 'error'))[0].code)

  const order = []
  const socket = tls.connect(port, '127.0.0.1', { ...secure }, () => order.push('callback'))
  for (const event of ['lookup', 'connect', 'ready', 'secureConnect', 'end']) socket.on(event, () => order.push(event))
  const keys = []
  socket.on('keylog', (line) => keys.push(String(line).split(' ')[0]))
  const resumable = once(socket, 'session')
  show('given', socket.connecting, socket.pending, socket.encrypted)
  show(String(Buffer.concat(await socket.toArray())))
  show(order.join(' '), keys.length > 0, new Set(keys).size === keys.length)
  const again = tls.connect({ port, host: '127.0.0.1', ...secure, session: (await resumable)[0] })
  again.resume()
  await once(again, 'secureConnect')
  show('resumed', again.isSessionReused())
  await once(again, 'close')

  const buffer = Buffer.alloc(4)
  const parts = []
  const reading = tls.connect({
    port,
    host: '127.0.0.1',
    ...secure,
    onread: { buffer, callback: (length, memory) => parts.push(String(memory.subarray(0, length))) },
  })
  await once(reading, 'end')
  show('onread', parts.join(' '))

  // TLS in TLS, from the start: what a proxy gets.
  const proxy = tls.createServer({ key, cert }, (outer) => {
    const inner = net.connect(port, '127.0.0.1')
    outer.pipe(inner).pipe(outer)
    outer.on('error', () => {})
    inner.on('error', () => {})
  })
  const outer = tls.connect({ port: await listening(proxy), host: '127.0.0.1', ...secure })
  const inner = tls.connect({ socket: outer, ...secure })
  show('in another', String(Buffer.concat(await inner.toArray())), inner.authorized)
  outer.destroy()
  proxy.close()
  server.close()
  // Nothing that was not connected is left open.
  await once(server, 'close')
}

async function serve(host) {
  const server = net.createServer((socket) => socket.end('x'))
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  show(String(Buffer.concat(await net.connect(port, host).toArray())))
  await sessions()
  await takenBack()
  await tlsSockets()
}

void main(serve, use)
