/** Small runs of the latency benchmark, each in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { combinations, makePlan } from '../../../src/tools/bench-kit/product.ts'
import { exclusion } from '../../../src/tools/bench-latency/plan.ts'
import { type LatencyRun, runLatency } from '../../../src/tools/bench-latency/run.ts'
import {
  type LatencyLists,
  type LatencySettings,
  parseLatencyLists,
} from '../../../src/tools/bench-latency/settings.ts'

const limits = { mtu: 4096, maxInlineData: 512 }

export type SmallRun = (
  parts: Partial<LatencyLists>[],
  options?: Partial<LatencyRun>,
) => { plan: ReturnType<typeof makePlan<LatencySettings>>; outDir: string; results: ReturnType<typeof runLatency> }

/** Their folders are removed when the test file ends. */
export function smallRuns(): SmallRun {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-latency-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let runs = 0
  return (parts, options = {}) => {
    const all = parts.flatMap((part) =>
      combinations<LatencySettings>({ ...parseLatencyLists({}), burst: [50], pause: [0], ...part }),
    )
    const plan = makePlan(all, (one) => exclusion(one, limits), 1, 1)
    const outDir = join(folder, String(++runs))
    const results = runLatency({ plan, warmup: 20, seed: 1, command: ['test'], outDir, ...options })
    return { plan, outDir, results }
  }
}
