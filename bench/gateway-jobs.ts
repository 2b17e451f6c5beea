/**
 * The gateway's nodes between two processes: `verbena gateway node` with a signal of 8 values at 10 kHz in one, a file in the other. What
 * counts is the offset in the file, from the stamp of the signal to that of the receipt.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { medianOf } from '../src/stats/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { finished, startProgram } from './programs.ts'

const rateHz = 10_000
const samples = 20_000
/** The first ones run before everything is compiled. */
const warmUp = 5_000

interface Nodes {
  name: string
  /** Settings of the node that sends, and of that which receives. */
  sends: object
  receives: object
}

const signals = { count: 8, type: 'float' }
const devices = { shm: `shm:bench${process.pid}`, roce: 'roce:127.0.0.1' }
const infiniband = (mode: string, on: keyof typeof devices = 'shm'): Nodes => {
  const common = { type: 'infiniband', device: devices[on], rdma_transport_mode: mode }
  const [here, there] = ['127.0.0.1:1337', '127.0.0.1:1338']
  return {
    name: `infiniband (${mode}) on ${on}`,
    sends: { ...common, in: { address: here }, out: { address: there, max_inline_data: 128 } },
    receives: { ...common, in: { address: there, signals } },
  }
}
const name = `/bench${process.pid}`
const nodes: Record<string, Nodes> = {
  'gateway-infiniband-RC': infiniband('RC'),
  'gateway-infiniband-UC': infiniband('UC'),
  'gateway-infiniband-UD': infiniband('UD'),
  'gateway-infiniband-RC-roce': infiniband('RC', 'roce'),
  'gateway-infiniband-UD-roce': infiniband('UD', 'roce'),
  'gateway-shmem': {
    name: 'shmem, polling',
    sends: { type: 'shmem', mode: 'polling', out: { name } },
    receives: { type: 'shmem', mode: 'polling', in: { name, signals } },
  },
}

export interface GatewayJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

export const gatewayJobs: GatewayJob[] = Object.entries(nodes).map(([job, pair]) => ({
  name: job,
  async run(rounds) {
    const medians: number[] = []
    for (let round = 0; round < rounds; round++) medians.push(medianOf(await offsetsNs(pair)))
    return [compare(`samples of 8 values at 10 kHz, ${pair.name}`, medians, null, [], 'ns', 'less is better')]
  },
}))

/** Of one run, nanoseconds. */
async function offsetsNs({ sends, receives }: Nodes): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
  const output = join(folder, 'out.csv')
  const start = (file: string, configuration: object) => {
    writeFileSync(join(folder, file), JSON.stringify(configuration))
    return startProgram(process.execPath, [
      fileURLToPath(new URL('../../dist/verbena.js', import.meta.url)),
      'gateway',
      'node',
      join(folder, file),
    ])
  }
  try {
    const receiver = start('receiver.json', {
      nodes: { test: receives, out: { type: 'file', uri: output, format: 'csv' } },
      paths: [{ in: 'test', out: 'out', original_sequence_no: true }],
    })
    const sender = start('sender.json', {
      // So many more as are over before a connection is there.
      nodes: {
        signal: { type: 'signal', signal: 'mixed', values: 8, rate: rateHz, limit: samples + 2 * rateHz },
        test: sends,
      },
      paths: [{ in: 'signal', out: 'test' }],
    })
    const [ended, received] = [finished(sender), finished(receiver)]
    const { code, output: said } = await ended
    receiver.kill('SIGINT')
    await received
    if (code !== 0) throw new Error(`verbena gateway node ended with ${code}: ${said}`)
    const rows = readFileSync(output, 'latin1')
      .trim()
      .split('\n')
      .slice(1 + warmUp)
    if (rows.length < samples / 2) throw new Error(`only ${rows.length} samples arrived: ${said}`)
    return rows.map((row) => Number(row.split(',')[2]) * 1e9)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
