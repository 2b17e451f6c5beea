// An HTTP server and client in CommonJS: keep-alive, large bodies both ways, pipelining, fetch.
const http = require('node:http')
const net = require('node:net')
const { createHash } = require('node:crypto')
const { once } = require('node:events')

const sha = (data) => createHash('sha256').update(data).digest('hex').slice(0, 16)

async function serve(host) {
  const { pattern } = await import('./main.mjs')
  const body = pattern(10 << 20)
  const server = http.createServer((request, response) => {
    if (request.url === '/big') response.end(body)
    else if (request.url === '/chunked') {
      for (let i = 0; i < 100; i++) response.write(`line ${i}\n`)
      response.end()
    } else if (request.method === 'POST') {
      const hash = createHash('sha256')
      request.on('data', (chunk) => hash.update(chunk)).on('end', () => response.end(hash.digest('hex').slice(0, 16)))
    } else if (request.url === '/who') {
      const { remoteAddress, localPort, remotePort } = request.socket
      response.end(JSON.stringify({ remoteAddress, here: localPort === server.address().port, there: remotePort > 0 }))
    } else response.end(`you asked for ${request.url}`)
  })
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  const { pattern, show } = await import('./main.mjs')
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const call = async (path, options = {}, data) => {
    const request = http.request({ port, host, path, agent, ...options })
    request.end(data)
    const [response] = await once(request, 'response')
    const chunks = []
    const { localPort } = response.socket
    for await (const chunk of response) chunks.push(chunk)
    return { status: response.statusCode, body: Buffer.concat(chunks), localPort }
  }
  const first = await call('/one')
  const second = await call('/two')
  show(
    first.status,
    first.body.toString(),
    second.body.toString(),
    'same connection',
    first.localPort === second.localPort,
  )
  const big = await call('/big')
  show('10 MiB', big.body.length, sha(big.body), sha(pattern(10 << 20)))
  show('chunked', sha((await call('/chunked')).body))
  show('posted', (await call('/', { method: 'POST' }, pattern(5 << 20))).body.toString(), sha(pattern(5 << 20)))
  show('who', (await call('/who')).body.toString())
  const many = await Promise.all(Array.from({ length: 50 }, (_, i) => call(`/${i}`, { agent: undefined })))
  show(
    'fifty',
    many.every(({ body }, i) => body.toString() === `you asked for /${i}`),
  )
  agent.destroy()

  const answer = await fetch(`http://${host}:${port}/fetched`, { headers: { connection: 'close' } })
  show('fetch', answer.status, await answer.text())

  // Pipelined: all requests before the first answer.
  const raw = net.connect(port, host)
  let text = ''
  raw.setEncoding('latin1').on('data', (part) => {
    text += part
  })
  for (let i = 0; i < 9; i++) raw.write(`GET /p${i} HTTP/1.1\r\nhost: x\r\n\r\n`)
  raw.write('GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await once(raw, 'close')
  show('pipelined', text.match(/you asked for \/(p\d|last)/g).join(' '))
}

void import('./main.mjs').then(({ main }) => main(serve, use))
