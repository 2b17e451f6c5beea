// HTTPS and TLS, and HTTP/2 with and without it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'
import https from 'node:https'
import tls, { connect } from 'node:tls'
import { main, pattern, show } from './main.mjs'

const cert = readFileSync(new URL('./localhost-cert.pem', import.meta.url))
const key = readFileSync(new URL('./localhost-key.pem', import.meta.url))
const sha = (data) => createHash('sha256').update(data).digest('hex').slice(0, 16)

async function serve(host) {
  const body = pattern(3 << 20)
  // One port for HTTP/2 and HTTP/1.
  const server = http2.createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    if (request.url === '/big') response.end(body)
    else {
      const { remoteAddress, encrypted } = request.socket
      response.end(`HTTP ${request.httpVersion} for ${remoteAddress}, encrypted ${encrypted}`)
    }
  })
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  const agent = new https.Agent({ keepAlive: true, ca: cert })
  for (const path of ['/one', '/big', '/two']) {
    const [response] = await once(https.get({ port, host, path, agent, servername: 'localhost' }), 'response')
    const { authorized, remotePort } = response.socket
    const chunks = []
    for await (const chunk of response) chunks.push(chunk)
    const data = Buffer.concat(chunks)
    show('https', path, path === '/big' ? sha(data) : data.toString(), authorized, remotePort === port)
  }
  agent.destroy()

  const plain = connect({ port, host, ca: cert, ALPNProtocols: ['http/1.1'], servername: 'localhost' })
  await once(plain, 'secureConnect')
  show('tls', plain.authorized, plain.alpnProtocol, plain.remoteAddress, plain.getPeerCertificate().subject.CN)
  plain.end('GET /old HTTP/1.0\r\n\r\n')
  show('tls', (await plain.setEncoding('utf8').toArray()).join('').split('\r\n\r\n')[1])

  // A server that answers long after the client has ended its direction, and only then reads.
  const late = tls.createServer({ key, cert }, (socket) => {
    setTimeout(() => {
      socket.end('an answer')
      socket.resume()
    }, 200)
  })
  late.listen(0, host === '127.0.0.1' ? host : undefined)
  await once(late, 'listening')
  const early = connect({ port: late.address().port, host: '127.0.0.1', ca: cert, servername: 'localhost' })
  early.end('a question')
  show('late', (await early.setEncoding('utf8').toArray()).join(''))
  late.close()

  const strict = tls.connect(port, host, { servername: 'somebody.example', ca: cert })
  const [error] = await once(strict, 'error')
  show('tls', error.code)

  const session = http2.connect(`https://${host}:${port}`, { ca: cert, servername: 'localhost' })
  const get = async (path) => {
    const stream = session.request({ ':path': path })
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => get(`/${i}`)))
  show('http2', all.length, new Set(all.map(String)).size, String(all[0]))
  show('http2', sha(await get('/big')))
  session.close()
  await once(session, 'close')

  const clear = http2.createServer((request, response) => response.end(`${request.url} in clear`))
  clear.listen(0, host === '127.0.0.1' ? host : undefined)
  await once(clear, 'listening')
  const open = http2.connect(`http://127.0.0.1:${clear.address().port}`)
  const stream = open.request({ ':path': '/h2c' })
  show('http2', String((await stream.setEncoding('utf8').toArray()).join('')))
  open.close()
  clear.close()
}

void main(serve, use)
