/**
 * HTTP of Node.js, unmodified, in two processes: over rsockets in shared memory under `verbena/preload`, and over TCP. The
 * server and the load are the same programs, with and without the preload.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { entryModule } from '../src/memory/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { finished, startProgram } from './programs.ts'

const seconds = 3
const connectionCounts = [1, 16] as const

const preloadModule = fileURLToPath(entryModule(import.meta.url, '../src/preload'))
const serverModule = fileURLToPath(entryModule(import.meta.url, './http-server'))
const loadModule = fileURLToPath(entryModule(import.meta.url, './http-load'))

export interface HttpJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

export const httpJobs: HttpJob[] = connectionCounts.map((connections) => ({
  name: `http-${connections}`,
  run: async (rounds) => {
    const [our, tcp]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      our.push(await requestsPerSecond(connections, `shm:http-${process.pid}-${round}`))
      tcp.push(await requestsPerSecond(connections, null))
    }
    const name = `HTTP under verbena/preload, ${connections} connection${connections === 1 ? '' : 's'}, rsocket on shm`
    return [compare(name, our, 'the same over TCP', tcp, 'requests/s', 'more is better')]
  },
}))

async function requestsPerSecond(connections: number, device: string | null): Promise<number> {
  const preload = device === null ? [] : ['--import', preloadModule]
  const environment = device === null ? {} : { VERBENA_DEVICE: device, VERBENA_PRELOAD: 'local rdma-only' }
  const server = startProgram(process.execPath, [...preload, serverModule], environment, 'pipe')
  try {
    const lines = createInterface({ input: server.stdout! })
    const [port] = (await Promise.race([once(lines, 'line'), once(server, 'close').then(() => [''])])) as [string]
    if (!/^\d+$/.test(port)) throw new Error('the HTTP server did not start')
    const args = [...preload, loadModule, port, `${connections}`, `${seconds}`]
    const { code, output } = await finished(startProgram(process.execPath, args, environment))
    if (code !== 0) throw new Error(`the HTTP load ended with ${code}: ${output.trim()}`)
    return Number(output)
  } finally {
    server.stdin?.end()
    if (server.exitCode === null && server.signalCode === null) await once(server, 'close')
  }
}
