/** `verbena bench node` on all that it knows, between threads and between processes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/index.ts'
import { modeNames, type NodeSettings, nodeModes, nodeNames } from '../../src/tools/bench-node/settings.ts'
import { verbena } from '../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-node-'))
afterAll(() => rmSync(folder, { recursive: true }))

it.skipIf(!nativeAvailable).each(['--threads', '--processes'])(
  'runs each of its node-types in each mode: %s',
  async (ends) => {
    const all = ['--node', nodeNames.join(','), '--mode', modeNames.join(','), '--device', 'shm,roce']
    const { code, stdout, stderr } = await verbena(
      ...['bench', 'node', ends, ...all, '--rate', '1000', '--limit', '300', '--warmup', '100', '--pin', 'none'],
      ...['--out', join(folder, ends), '--json'],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringMatching(/is not valid/) })
    const { runs } = JSON.parse(stdout)
    const devices = (node: string): (string | undefined)[] => (node === 'infiniband' ? ['shm', 'roce'] : [undefined])
    expect(
      runs.map(({ settings: { node, mode, device } }: { settings: NodeSettings }) => [node, mode, device]),
    ).toEqual(
      nodeNames.flatMap((node) =>
        nodeModes[node].flatMap((mode) => devices(node).map((device) => [node, mode, device])),
      ),
    )
    for (const { latency, missing, missed, notTransmitted } of runs) {
      expect(latency.count).toBe(300 - missing)
      expect(missing).toBe(missed + notTransmitted)
    }
  },
  300_000,
)
