/** `verbena bench collective` with ranks that it starts itself. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { type CollectiveResults, loadResults } from '../../../src/report/index.ts'
import { outcome, startProcess } from '../../cli/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-collective-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Run {
  settings: Record<string, string | number>
  time: Record<string, number>
  lost: number
}

it.skipIf(!nativeAvailable)('measures every transport and operation, and rank 0 alone prints', async () => {
  const out = join(folder, 'all')
  const { code, stdout, stderr } = await outcome(
    startProcess([
      ...['bench', 'collective', '--procs', '3', '--size', '1,8192', '--repetitions', '5', '--warmup', '2', '--json'],
      ...['--measure', 'rtt,send-complete,1n,n1,send-time,post-rr', '--max-posts', '2', '--out', out],
    ]),
  )
  expect({ code, stderr: /rank \d/.test(stderr) }).toEqual({ code: 0, stderr: false })
  const { runs, unit } = JSON.parse(stdout) as { runs: Run[]; unit: string }
  expect(unit).toBe('ns')
  const rtt = runs.filter(({ settings }) => settings.measure === 'MEA_RTT_TIME')
  // RC has four operations, UC three, with two sizes; UD and multicast one of one byte; each to one and to two.
  expect(rtt).toHaveLength(2 * (2 * 7 + 2))
  for (const { settings, time, lost } of runs) {
    expect(Object.keys(settings).slice(0, 5)).toEqual(['transport', 'mode', 'measure', 'size', 'processes'])
    expect(Object.keys(time)).toEqual(['count', 'min', 'mean', 'median', 'p90', 'p99', 'max'])
    expect(time.min! > 0 && time.min! <= time.mean! && time.mean! <= time.max!, JSON.stringify(settings)).toBe(true)
    if (settings.transport === 'RC') expect([time.count, lost]).toEqual([5, 0])
  }
  expect(stderr).toMatch(/a datagram on shm:\S+ has at most 4096 bytes/)
  const results = loadResults(out).results as CollectiveResults
  expect(results).toMatchObject({ tool: 'collective', complete: true })
  expect(results.machine).toMatchObject({ cores: availableParallelism(), pollingThreads: 3 })
  expect(readFileSync(join(out, '001.csv'), 'utf8')).toMatch(/^repetition,time\n(\d,\d+(\.\d)?\n){5}$/)
  if (process.platform === 'linux')
    expect(readdirSync('/dev/shm').filter((name) => name.includes('bench-collective'))).toEqual([])
})
