/**
 * An ordinary HTTP client, which knows nothing of RDMA: PORT CONNECTIONS SECONDS. Each connection is kept, with one
 * request outstanding. Prints requests a second, after a fifth of the time to warm up.
 */
import { Agent, get } from 'node:http'

const [port, connections, seconds] = process.argv.slice(2).map(Number) as [number, number, number]
const agent = new Agent({ keepAlive: true, maxSockets: connections })
let answered = 0
let over = false

function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, agent }, (response) => {
      response.on('error', reject).on('end', resolve).resume()
    })
    request.on('error', reject)
  })
}

async function one(): Promise<void> {
  while (!over) {
    await ask()
    answered++
  }
}

const all = Promise.all(Array.from({ length: connections }, one))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
await Promise.race([pause(seconds * 200), all])
const before = answered
const began = performance.now()
await Promise.race([pause(seconds * 1000), all])
console.log((((answered - before) * 1000) / (performance.now() - began)).toFixed(1))
over = true
await all
agent.destroy()
process.exit(0)
