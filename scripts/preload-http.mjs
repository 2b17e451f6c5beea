// Requests per second of an HTTP server that knows nothing of RDMA: over TCP, and under the preload over a device, with the
// same load generator, in alternating rounds of one run.
//
//     node scripts/preload-http.mjs [--seconds 3] [--connections 16] [--rounds 3] [--bytes 64] [--device shm:NAME] [--json]
//     node scripts/preload-http.mjs --host 127.0.0.2 --device roce:127.0.0.2 --client-device roce:127.0.0.3
//
// This file is also what the children run: `serve`, and `load PORT HOST …`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { medianOf, percentile } from 'verbena/report'

const self = fileURLToPath(import.meta.url)
const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '64' },
    host: { type: 'string', default: '127.0.0.1' },
    device: { type: 'string', default: `shm:http${process.pid}` },
    'client-device': { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help)
  console.log(
    'node scripts/preload-http.mjs [--seconds 3] [--connections 16] [--rounds 3] [--bytes 64] [--host 127.0.0.1] [--device shm:NAME] [--client-device NAME] [--json]',
  )
else if (positionals[0] === 'serve') serve()
else if (positionals[0] === 'load') await load(Number(positionals[1]))
else await compare()

function serve() {
  const body = Buffer.alloc(Number(values.bytes), 'x')
  const server = http.createServer((_request, response) => response.end(body))
  server.listen(0, values.host, () => console.log(server.address().port))
  process.stdin.resume().on('end', () => process.exit())
}

/** As many requests as there are connections are outstanding at any time. */
async function load(port) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number(values.connections) })
  const warmUntil = performance.now() + 500
  const end = warmUntil + Number(values.seconds) * 1000
  const latencies = []
  const one = () =>
    new Promise((resolve, reject) => {
      const from = performance.now()
      const request = http.get({ port, host: values.host, agent }, (response) => {
        response.resume().on('end', () => {
          const now = performance.now()
          if (from > warmUntil) latencies.push(now - from)
          resolve(now < end)
        })
      })
      request.on('error', reject)
    })
  await Promise.all(
    Array.from({ length: Number(values.connections) }, async () => {
      while (await one());
    }),
  )
  agent.destroy()
  latencies.sort((a, b) => a - b)
  const requestsPerSecond = Math.round(latencies.length / Number(values.seconds))
  console.log(
    JSON.stringify({ requestsPerSecond, medianMs: percentile(latencies, 50), p99Ms: percentile(latencies, 99) }),
  )
}

async function compare() {
  const results = { tcp: [], [values.device]: [] }
  for (let round = 0; round < Number(values.rounds); round++)
    for (const device of Object.keys(results)) results[device].push(await measure(device))
  if (values.json) {
    console.log(JSON.stringify({ settings: values, results }))
    return
  }
  console.log(
    `${values.connections} connections, ${values.bytes} bytes, ${values.rounds} rounds of ${values.seconds} s: medians`,
  )
  for (const [device, rounds] of Object.entries(results)) {
    const median = (name) => medianOf(rounds.map((r) => r[name]))
    console.log(
      `${device.padEnd(20)} ${String(median('requestsPerSecond')).padStart(8)} requests/s   median ${median('medianMs').toFixed(2)} ms   p99 ${median('p99Ms').toFixed(2)} ms`,
    )
  }
}

async function measure(device) {
  const preload = device === 'tcp' ? [] : ['--import', 'verbena/preload']
  const rules = { VERBENA_PRELOAD: `${values.host}, local`, VERBENA_PRELOAD_FALLBACK: 'none' }
  const envOf = (name) => (device === 'tcp' ? process.env : { ...process.env, ...rules, VERBENA_DEVICE: name })
  const options = Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name}`, value] : [],
  )
  const start = (name, ...args) =>
    spawn(process.execPath, [...preload, self, ...args, ...options], {
      cwd: root,
      env: envOf(name),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
  const server = start(device, 'serve')
  const [port] = await once(server.stdout, 'data')
  const client = start(values['client-device'] ?? device, 'load', String(port).trim())
  let text = ''
  client.stdout.on('data', (data) => {
    text += data
  })
  await once(client, 'close')
  server.stdin.end()
  await once(server, 'close')
  return JSON.parse(text)
}
