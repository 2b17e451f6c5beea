// The asynchronous contexts that two clients at a time and their server run in: node:net, http, and an agent's sockets.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import http from 'node:http'
import { connect, createServer } from 'node:net'
import { main, show } from './main.mjs'

const storage = new AsyncLocalStorage()
const now = () => storage.getStore() ?? 'none'
const count = { 'net.client.socket': 0, 'net.server.socket': 0 }
for (const name of Object.keys(count))
  subscribe(name, () => {
    count[name]++
  })

async function serve(host) {
  let tcp = ''
  const lines = createServer((socket) => {
    const there = now()
    socket.on('data', (data) => storage.run(`handler of ${data}`, () => socket.write(`${there}, ${tcp}`)))
    socket.prependListener('data', () => {
      tcp = now()
    })
  })
  await new Promise((resolve) => storage.run('listen', () => lines.listen(0, host, resolve)))
  const server = http.createServer((request, response) => {
    const seen = [request.url, now()]
    storage.run(request.url, () => {
      request.once('data', () => seen.push(now()))
      request.on('end', () => response.end(JSON.stringify(seen)))
      if (request.method === 'POST') response.writeProcessing()
      else response.end(String(lines.address().port))
    })
  })
  await new Promise((resolve) => storage.run('http', () => server.listen(0, host, resolve)))
  server.on('close', () => lines.close())
  return server
}

async function line(port, host, name) {
  const seen = []
  const written = []
  const socket = storage.run(name, () => connect(port, host, () => seen.push(now())))
  for (let i = 0; i < 2; i++) {
    storage.run(`write ${i}`, () => socket.write(name, () => written.push(now())))
    const data = await new Promise((resolve) =>
      socket.once('data', (text) => {
        seen.push(now())
        resolve(text)
      }),
    )
    seen.push(data.toString())
  }
  storage.run('end', () => socket.end())
  await new Promise((resolve) =>
    socket.once('close', () => {
      seen.push(now())
      resolve()
    }),
  )
  return [name, ...seen, ...written].join('; ')
}

function post(port, host, agent, name) {
  return storage.run(
    name,
    () =>
      new Promise((resolve, reject) => {
        const request = http.request({ port, host, agent, method: 'POST', path: `/${name}` }, async (response) => {
          const seen = [now()]
          response.on('end', () => seen.push(now()))
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          resolve([name, ...seen, text].join('; '))
        })
        request.on('error', reject)
        request.on('information', () => request.end('the body'))
        request.flushHeaders()
      }),
  )
}

await main(serve, async (port, host) => {
  const linesPort = Number(await (await fetch(`http://${host}:${port}/`)).text())
  for (const text of await Promise.all(['A', 'B'].map((name) => line(linesPort, host, name)))) show(text)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2 })
  const names = ['C', 'D', 'E', 'F']
  for (const text of await Promise.all(names.map((name) => post(port, host, agent, name)))) show(text)
  agent.destroy()
  await new Promise((resolve) =>
    connect(1, host)
      .on('error', () => {})
      .on('close', resolve),
  )
  show(JSON.stringify(count))
})
