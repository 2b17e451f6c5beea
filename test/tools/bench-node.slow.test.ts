/** `verbena bench node` on all that it knows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { modeNames, type NodeSettings, nodeModes, nodeNames } from '../../src/tools/bench-node/settings.ts'
import { verbena } from '../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-node-'))
afterAll(() => rmSync(folder, { recursive: true }))

// A node that has to connect may need its second attempt: what comes before is lost.
it('runs each of its node-types in each mode', async () => {
  const out = join(folder, 'all')
  const nodes = [
    '--node',
    nodeNames.join(','),
    '--mode',
    modeNames.join(','),
    '--device',
    `shm:bench-node-${process.pid}`,
  ]
  const { code, stdout, stderr } = await verbena(
    'bench',
    'node',
    ...nodes,
    '--rate',
    '500',
    '--limit',
    '1500',
    '--out',
    out,
    '--json',
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringMatching(/is not valid/) })
  const { runs } = JSON.parse(stdout)
  expect(runs.map(({ settings: { node, mode } }: { settings: NodeSettings }) => [node, mode])).toEqual(
    nodeNames.flatMap((node) => nodeModes[node].map((mode) => [node, mode])),
  )
  for (const { latency } of runs) expect(latency.count).toBeGreaterThan(0)
})
