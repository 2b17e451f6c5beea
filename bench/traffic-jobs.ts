/**
 * Requests of `verbena traffic` beside messages of `verbena perf`: both as commands, between the same two adapters, in turn. The client
 * pushes 8 bytes a request, in a closed loop that is deep enough to fill its queue pair.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Comparison, compare } from './comparison.ts'
import { finished, freePort, startProgram } from './programs.ts'

export interface TrafficJob {
  name: string
  /** Whether it needs adapters on a network. */
  network: boolean
  run(rounds: number, devices: readonly [string, string]): Promise<Comparison[]>
}

const seconds = 3
const depth = 1024
const command = fileURLToPath(import.meta.resolve('verbena/package.json')).replace(/package\.json$/, 'dist/verbena.js')

type Verb = 'send' | 'write'

export const trafficJobs: readonly TrafficJob[] = [false, true].flatMap((network) =>
  (['send', 'write'] as const).map((verb) => ({
    name: `traffic-${network ? 'wire-' : ''}${verb}`,
    network,
    async run(rounds: number, devices: readonly [string, string]) {
      const segment = `shm:bench-${process.pid}`
      const [client, server] = network ? devices : ([segment, segment] as const)
      const ours: number[] = []
      const theirs: number[] = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await requests(verb, client, server))
        theirs.push(await messages(verb, client, server))
      }
      const on = client.split(':')[0]!
      const name = `requests of traffic, RC ${verb.toUpperCase()}, 8 bytes, ${on}`
      return [compare(name, ours, 'verbena perf', theirs, 'messages/s', 'more is better')]
    },
  })),
)

async function requests(verb: Verb, client: string, server: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
  const port = await freePort()
  const file = join(folder, 'traffic.yaml')
  const yaml = `servers: ["127.0.0.1:${port}"]\nflow: push\nsize: 8\nverbs: ${verb}\nduration: ${seconds}\narrival: { type: closed, depth: ${depth} }\n`
  writeFileSync(file, yaml)
  try {
    const { reached } = await measured<{ reached: { perSecond: number } }>(
      ['traffic', 'server', '--once', '-p', String(port), '-d', server],
      ['traffic', 'client', file, '-d', client, '--wait', '10', '--json'],
    )
    return reached.perSecond
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function messages(verb: Verb, client: string, server: string): Promise<number> {
  const rest = ['-p', String(await freePort()), '-s', '8', '-D', String(seconds)]
  const { runs } = await measured<{ runs: { client: { sent: { messagesPerSecond: number } } }[] }>(
    ['perf', `${verb}_bw`, '-d', server, ...rest],
    ['perf', `${verb}_bw`, '127.0.0.1', '--wait', '10', '-d', client, ...rest, '--json'],
  )
  return runs[0]!.client.sent.messagesPerSecond
}

/** Runs both ends; the client's document. */
async function measured<T>(server: string[], client: string[]): Promise<T> {
  const serving = startProgram(process.execPath, [command, ...server])
  const served = finished(serving)
  const asking = startProgram(process.execPath, [command, ...client])
  let output = ''
  asking.stdout!.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  try {
    const end = await finished(asking)
    if (end.code !== 0) throw new Error(`verbena ${client[0]} ended with ${end.code}: ${end.output.trim()}`)
    return JSON.parse(output) as T
  } finally {
    serving.kill()
    await served
  }
}
