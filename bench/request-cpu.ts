/**
 * The CPU time of an HTTP request, client and server in this one process, all of its threads: KIND HOST CONNECTIONS REQUESTS SECONDS.
 * Prints microseconds. At most so many requests are measured, or as many as the seconds allow, after half as many.
 *
 *     socket   over whatever carries connections to HOST
 *     memory   over streams in memory, which cost next to nothing: the floor, what Node's HTTP takes by itself
 */
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'

const [kind, host] = process.argv.slice(2) as [string, string]
const [connections, requests, seconds] = process.argv.slice(4).map(Number) as [number, number, number]
const body = '0123456789abcdef'

/** One end of a connection in memory, with the methods of a socket that HTTP calls. */
class MemoryEnd extends Duplex {
  peer!: MemoryEnd
  #roomFor: (() => void) | undefined

  override _read(): void {
    const written = this.#roomFor
    this.#roomFor = undefined
    written?.()
  }

  override _write(chunk: Buffer, _: BufferEncoding, written: () => void): void {
    if (this.peer.push(chunk)) written()
    else this.peer.#roomFor = written
  }

  override _final(ended: () => void): void {
    this.peer.push(null)
    ended()
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

const server = createServer((_, response) => {
  response.setHeader('content-length', body.length)
  response.end(body)
})
await new Promise<void>((listening) => server.listen(0, host, listening))
const { port } = server.address() as AddressInfo
const agent = new Agent({ keepAlive: true, maxSockets: connections })
if (kind === 'memory') {
  agent.createConnection = () => {
    const [client, accepted] = [new MemoryEnd(), new MemoryEnd()]
    client.peer = accepted
    accepted.peer = client
    server.emit('connection', accepted)
    return client
  }
}

function ask(): Promise<void> {
  return new Promise((answered, failed) => {
    get({ host, port, agent }, (response) => {
      response.on('error', failed).on('end', answered).resume()
    }).on('error', failed)
  })
}

/** The number of requests that were made. */
async function run(most: number, mostMs: number): Promise<number> {
  const until = performance.now() + mostMs
  let made = 0
  const one = async (): Promise<void> => {
    while (made < most && performance.now() < until) {
      made++
      await ask()
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  return made
}

await run(requests / 2, seconds * 500)
const before = process.cpuUsage()
const made = await run(requests, seconds * 1000)
const { user, system } = process.cpuUsage(before)
console.log((user + system) / made)
process.exit(0)
