/** `verbena bench node`: what it measures, and what it says of files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { evaluate } from '../../src/tools/bench-node/evaluate.ts'
import { verbena } from '../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-node-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('evaluation', () => {
  it('counts missed steps, what is missing, what was not transmitted; latencies are in nanoseconds', () => {
    const row = (sequence: number, offset: string): string => `1,000000000,${offset},${sequence},0.5\n`
    const input = join(folder, 'a_input.csv')
    const output = join(folder, 'a_output.csv')
    // Of ten steps the generator missed 3 and 4; 0 came before the connection, 6 and 9 were lost.
    writeFileSync(input, `# header\n${[0, 1, 2, 5, 6, 7, 8, 9].map((s) => row(s, 'nan')).join('')}`)
    const arrived = [1, 2, 5, 7, 8].map((s, i) => row(s, `0.00000${i + 1}000`))
    writeFileSync(output, `# header\n${arrived.join('')}`)
    const { latencies, ...found } = evaluate(input, output, 10)
    expect(found).toEqual({
      latency: { count: 5, min: 1000, p10: 1000, median: 3000, p90: 5000, p99: 5000, max: 5000 },
      missed: 2,
      missing: 5,
      notTransmitted: 3,
      notTransmittedConnected: 2,
    })
    expect([...latencies]).toEqual([1000, 2000, 3000, 4000, 5000])
  })
})

describe('bench node', () => {
  it('measures all combinations, and keeps their files', async () => {
    const out = join(folder, 'runs')
    const nodes = ['--node', 'loopback,socket', '--mode', 'eventfd,udp', '--values', '2', '--rate', '500']
    const { code, stdout } = await verbena('bench', 'node', ...nodes, '--limit', '50', '--out', out, '--json')
    expect(code).toBe(0)
    const { runs, unit } = JSON.parse(stdout)
    expect(unit).toBe('ns')
    expect(runs.map((run: { settings: unknown }) => run.settings)).toEqual([
      { node: 'loopback', mode: 'eventfd', values: 2, rate: 500 },
      { node: 'socket', mode: 'udp', values: 2, rate: 500 },
    ])
    for (const { latency, missed, missing, notTransmittedConnected } of runs) {
      expect(latency.count).toBe(50 - missing)
      expect(missing).toBeGreaterThanOrEqual(missed)
      expect(notTransmittedConnected).toBe(0)
      expect(latency.min).toBeGreaterThan(0)
      expect(latency.max).toBeGreaterThanOrEqual(latency.median)
    }
    expect(readdirSync(out).toSorted()).toEqual([
      '001_eventfd-2-500-50_input.csv',
      '001_eventfd-2-500-50_output.csv',
      '002_udp-2-500-50_input.csv',
      '002_udp-2-500-50_output.csv',
      'runs.json',
    ])
    expect(JSON.parse(readFileSync(join(out, 'runs.json'), 'utf8'))).toEqual({ runs, unit })
  })

  it.each([
    [['--node', 'lopback'], /--node: 'lopback' is not known\. Expected loopback/],
    [['--mode', 'RC'], /--mode: loopback has other modes: polling, eventfd/],
    [['--rate', 'x'], /--rate: 'x' is not valid/],
    [['--values', '0'], /--values: '0' is not valid/],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await verbena('bench', 'node', ...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})
