/** What programs put on sockets that they have made themselves: TLS, HTTP, HTTP/2. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { describeNet, event } from '../implementations.ts'

const cert = readFileSync(new URL('../apps/localhost-cert.pem', import.meta.url))
const key = readFileSync(new URL('../apps/localhost-key.pem', import.meta.url))

describeNet('on top of sockets', (bench) => {
  it('TLS, on both sides', async () => {
    const server = bench.server({}, (socket) => {
      const secure = new tls.TLSSocket(socket, { isServer: true, key, cert })
      secure.on('data', (data: Buffer) => secure.end(`you said ${data}`))
    })
    const port = await bench.listen(server)
    const socket = bench.connect({ port })
    await event(socket, 'connect')
    const client = tls.connect({ socket, ca: cert, servername: 'localhost' })
    await event(client, 'secureConnect')
    expect(client.authorized).toBe(true)
    client.write('secret')
    let text = ''
    client.on('data', (data: Buffer) => {
      text += data
    })
    await event(client, 'end')
    expect(text).toBe('you said secret')
  })

  it('TLS on a socket that is still connecting', async () => {
    const server = bench.server({}, (socket) => {
      new tls.TLSSocket(socket, { isServer: true, key, cert }).end(Buffer.alloc(500_000, 'x'))
    })
    const port = await bench.listen(server)
    const client = tls.connect({ socket: bench.connect({ port }), ca: cert, servername: 'localhost' })
    let length = 0
    client.on('data', (data: Buffer) => {
      length += data.length
    })
    await event(client, 'end')
    expect(length).toBe(500_000)
  })

  it('an HTTP server that is given connections, and a client that makes its own', async () => {
    const web = http.createServer((request, response) => {
      const { remoteAddress, localPort } = request.socket
      response.end(`${request.url} ${remoteAddress === bench.host} ${localPort === port}`)
    })
    const server = bench.server({}, (socket) => web.emit('connection', socket))
    const port = await bench.listen(server)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    agent.createConnection = () => bench.connect({ port })
    for (const path of ['/one', '/two']) {
      const request = http.get({ path, agent })
      const [response] = (await event(request, 'response')) as [http.IncomingMessage]
      let text = ''
      for await (const part of response) text += part
      expect(text).toBe(`${path} true true`)
    }
    agent.destroy()
  })

  it('HTTP/2', async () => {
    const web = http2.createServer((request, response) => response.end(`${request.url} over HTTP/2`))
    const server = bench.server({}, (socket) => web.emit('connection', socket))
    const port = await bench.listen(server)
    const session = http2.connect('http://somewhere', { createConnection: () => bench.connect({ port }) as Socket })
    const texts = await Promise.all(
      ['/a', '/b', '/c'].map(async (path) => {
        let text = ''
        for await (const part of session.request({ ':path': path })) text += part
        return text
      }),
    )
    expect(texts).toEqual(['/a over HTTP/2', '/b over HTTP/2', '/c over HTTP/2'])
    session.close()
    await event(session, 'close')
  })
})
