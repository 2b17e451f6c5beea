/** `verbena collective`: measured among ranks that it starts, a table of it, and a run that a signal ends. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Chooser } from '../../../src/collectives/choose.ts'
import { nativeAvailable } from '../../../src/index.ts'
import { type AlgorithmResults, loadResults } from '../../../src/report/index.ts'
import { outcome, startProcess, verbena } from '../../cli/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-algorithms-'))
afterAll(() => rmSync(folder, { recursive: true }))
const out = join(folder, 'results')

const measure = (...options: string[]) => startProcess([...['collective', 'measure', '--procs', '3'], ...options])

it.skipIf(!nativeAvailable)('measures, and makes a table and a report', { timeout: 60_000 }, async () => {
  const { code, stdout, stderr } = await outcome(
    measure('--size', '8,20000', '--repetitions', '12', '--out', out, '--json'),
  )
  expect({ code, stderr: /rank \d/.test(stderr) }).toEqual({ code: 0, stderr: false })
  const { runs, unit } = JSON.parse(stdout)
  expect(unit).toBe('ns')
  // 23 algorithms of two sizes and two of a barrier, among two ranks; three have no recursive doubling of an allgather.
  expect(runs).toHaveLength(2 + 23 * 2 + 2 + 22 * 2)
  for (const { time, interval } of runs) {
    expect(time.count).toBe(12)
    expect(time.min > 0 && time.min <= time.median && time.median <= time.max).toBe(true)
    expect(interval[0] <= interval[1] && interval[0] >= time.min && interval[1] <= time.max).toBe(true)
  }
  expect(readFileSync(join(out, '001.csv'), 'utf8')).toMatch(/^repetition,time\n(\d+,\d+(\.\d)?\n){12}$/)
  expect(readdirSync('/dev/shm').filter((name) => name.includes('verbena-collective-'))).toEqual([])

  const table = join(folder, 'table.json')
  const tuned = await verbena('collective', 'tune', out, '-o', table, '--json')
  const { points, changes } = JSON.parse(tuned.stdout)
  expect(points).toBe(2 * (1 + 7 * 2))
  const chooser = new Chooser(3, JSON.parse(readFileSync(table, 'utf8')))
  for (const { collective, ranks, bytes, chosen, gain } of changes) {
    expect(gain).toBeGreaterThan(1.03)
    if (ranks === 3) expect(chooser.choose(collective, bytes)).toBe(chosen)
  }
  const report = await verbena('report', out)
  expect(report.code).toBe(0)
  expect(readFileSync(join(out, 'report.html'), 'utf8')).toContain('allreduce among 3 ranks')
})

it.skipIf(!nativeAvailable)('what was measured until a signal is saved', { timeout: 60_000 }, async () => {
  const interrupted = join(folder, 'interrupted')
  const child = measure(
    '--repetitions',
    '2000',
    '--collective',
    'allgather,alltoall',
    '--size',
    '8',
    '--out',
    interrupted,
  )
  const done = outcome(child)
  while (!existsSync(join(interrupted, '001.csv'))) await new Promise((resolve) => setTimeout(resolve, 20))
  child.kill('SIGTERM')
  const { code, stderr } = await done
  expect(stderr).toMatch(/interrupted after \d+ of 13 sets/)
  expect(code).toBe(143)
  const { complete, sets } = loadResults(interrupted).results as AlgorithmResults
  expect(complete).toBe(false)
  expect(sets.length).toBeGreaterThan(0)
})

it('results of something else make no table', async () => {
  const other = join(folder, 'other')
  await outcome(startProcess(['bench', 'latency', '--size', '8', '--burst', '8', '--out', other]))
  const { code, stderr } = await verbena('collective', 'tune', other, '-o', join(folder, 'none.json'))
  expect([code, stderr]).toEqual([2, expect.stringMatching(/has results of bench latency, not of collective measure/)])
})
