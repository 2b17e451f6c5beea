// Web frameworks and HTTP clients, servers and clients in one process: `node http.mjs HOST`.
import { once } from 'node:events'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import express from 'express'
import Fastify from 'fastify'
import { Agent, Pool, request, fetch as undiciFetch } from 'undici'

const host = process.argv[2] ?? '127.0.0.1'
const show = (...values) => console.log(...values)

const app = express()
app.use(express.json({ limit: '8mb' }))
app.get('/hello/:name', (request, response) => response.json({ hello: request.params.name }))
app.post('/echo', (request, response) => response.json(request.body))
app.get('/stream', (_, response) => {
  for (let n = 0; n < 100; n++) response.write('x'.repeat(10_000))
  response.end()
})
app.get('/slow', () => {})
app.get('/broken', (_, response) => {
  response.write('half')
  setImmediate(() => response.destroy())
})
const server = app.listen(0, host)
await once(server, 'listening')
const origin = `http://${host}:${server.address().port}`

show('fetch', await (await fetch(`${origin}/hello/world`)).text())
const body = JSON.stringify({ text: 'y'.repeat(1_000_000) })
const posted = await fetch(`${origin}/echo`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
show('echo', (await posted.text()) === body)
show('stream', (await (await fetch(`${origin}/stream`)).arrayBuffer()).byteLength)
show('404', (await fetch(`${origin}/nothing`)).status)
const aborted = await fetch(`${origin}/slow`, { signal: AbortSignal.timeout(200) }).catch((error) => error)
show('aborted', aborted.name)
const broken = await (await fetch(`${origin}/broken`)).text().catch((error) => error)
show('broken', broken instanceof Error)

const pool = new Pool(origin, { connections: 4, pipelining: 4, connect: { timeout: 2000 } })
const answers = await Promise.all(
  Array.from({ length: 50 }, async (_, n) => (await pool.request({ path: `/hello/${n}`, method: 'GET' })).body.json()),
)
show('pool', answers.map(({ hello }) => hello).join(' '))
await pool.close()

const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
const ports = new Set()
for (let n = 0; n < 3; n++) {
  const [response] = await once(httpRequest(`${origin}/hello/a`, { agent }).end(), 'response')
  ports.add(response.socket.localPort)
  response.resume()
  await once(response, 'end')
}
show('kept alive', ports.size)
agent.destroy()
server.closeAllConnections()
await new Promise((resolve) => server.close(resolve))

const fastify = Fastify()
fastify.get('/json', async () => ({ ok: true }))
fastify.post(
  '/validated',
  { schema: { body: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } } },
  (r) => r.body,
)
await fastify.listen({ port: 0, host })
const other = `http://${host}:${fastify.server.address().port}`
const dispatcher = new Agent({ connect: { timeout: 2000 }, keepAliveTimeout: 100 })
show('fastify', await (await undiciFetch(`${other}/json`, { dispatcher })).text())
const headers = { 'content-type': 'application/json' }
const refused = await undiciFetch(`${other}/validated`, { dispatcher, method: 'POST', headers, body: '{"n":"x"}' })
show('validated', refused.status)
await refused.text()
await dispatcher.close()
await fastify.close()
show('refused', (await request(`http://${host}:1/`).catch((error) => error)).code)
