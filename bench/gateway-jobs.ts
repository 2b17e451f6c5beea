/**
 * The gateway's nodes between two processes, as `verbena bench node` measures them: 8 values at 10 kHz, from the step of the signal to
 * the receipt.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureNode, type NodeSettings } from '../src/tools/bench-node/index.ts'
import { type Comparison, compare } from './comparison.ts'

const samples = 20_000
const warmUp = 10_000

const infiniband = (mode: string, device: string): Pick<NodeSettings, 'node' | 'mode' | 'device'> => ({
  ...{ node: 'infiniband', mode, device },
})
const nodes: Record<string, Pick<NodeSettings, 'node' | 'mode' | 'device'>> = {
  'gateway-infiniband-RC': infiniband('RC', 'shm'),
  'gateway-infiniband-UC': infiniband('UC', 'shm'),
  'gateway-infiniband-UD': infiniband('UD', 'shm'),
  'gateway-infiniband-RC-roce': infiniband('RC', 'roce'),
  'gateway-infiniband-UD-roce': infiniband('UD', 'roce'),
  'gateway-shmem': { node: 'shmem', mode: 'polling' },
}

export interface GatewayJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

export const gatewayJobs: GatewayJob[] = Object.entries(nodes).map(([name, of]) => ({
  name,
  async run(rounds) {
    const medians: number[] = []
    for (let round = 0; round < rounds; round++) medians.push(await medianNs(of))
    const on = of.device === undefined ? '' : ` on ${of.device}`
    const title = `samples of 8 values at 10 kHz, ${of.node} (${of.mode})${on}`
    return [compare(title, medians, null, [], 'ns', 'less is better')]
  },
}))

/** Of one run. */
async function medianNs(of: Pick<NodeSettings, 'node' | 'mode' | 'device'>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
  try {
    const settings: NodeSettings = { ...of, values: 8, rate: 10_000, timer: 'hybrid', ends: 'processes' }
    const { signal } = new AbortController()
    const { lat } = await measureNode(settings, {
      ...{ id: '001', limit: samples, warmUp, pin: 'auto', folder, signal },
      log: () => {},
    })
    if (lat.count < samples / 2) throw new Error(`only ${lat.count} of ${samples} samples arrived`)
    return lat.median
  } finally {
    rmSync(folder, { recursive: true })
  }
}
