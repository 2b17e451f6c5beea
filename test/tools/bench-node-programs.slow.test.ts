/** `verbena bench node`: what it says of files, what it measures, and how it is interrupted. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/index.ts'
import { loadResults, type NodeResults, ReportError, readLatencies } from '../../src/report/index.ts'
import { dropWarmUp, evaluate, lastSequence } from '../../src/tools/bench-node/evaluate.ts'
import { planNodes } from '../../src/tools/bench-node/plan.ts'
import { underTest } from '../../src/tools/bench-node/settings.ts'
import { begin, verbena } from '../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-node-'))
afterAll(() => rmSync(folder, { recursive: true }))

const row = (sequence: number, offset: string): string => `1,000000000,${offset},${sequence},0.5\n`

function fileOf(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('evaluation', () => {
  it('counts missed steps, what is missing, what was not transmitted; latencies are in nanoseconds', () => {
    // Of ten steps the generator missed 3 and 4; 0 came before the connection, 6 and 9 were lost.
    const input = fileOf('a_input.csv', `# header\n${[0, 1, 2, 5, 6, 7, 8, 9].map((s) => row(s, 'nan')).join('')}`)
    const arrived = [1, 2, 5, 7, 8].map((s, i) => row(s, `0.00000${i + 1}000`))
    const output = fileOf('a_output.csv', `# header\n${arrived.join('')}`)
    expect(evaluate(input, output, 10)).toEqual({
      lat: { count: 5, min: 1000, p10: 1000, median: 3000, p90: 5000, p99: 5000, p999: 5000, max: 5000 },
      missed: 2,
      missing: 5,
      notTransmitted: 3,
      notTransmittedConnected: 2,
    })
    expect([...readLatencies(output)]).toEqual([1000, 2000, 3000, 4000, 5000])
    expect(readLatencies(input)).toHaveLength(0)
    expect(lastSequence(input)).toBe(9)
  })

  it('is the same when samples change their order on the way, and when nothing arrives', () => {
    const input = fileOf('b_input.csv', [0, 1, 2, 3].map((s) => row(s, 'nan')).join(''))
    const output = fileOf('b_output.csv', [2, 1, 3].map((s) => row(s, '0.000002000')).join(''))
    expect(evaluate(input, output, 4)).toMatchObject({ missed: 0, missing: 1, notTransmitted: 1 })
    expect(evaluate(input, output, 4).notTransmittedConnected).toBe(0)
    const empty = fileOf('c_output.csv', '# header\n')
    expect(evaluate(input, empty, 5)).toMatchObject({
      ...{ lat: { count: 0 }, missed: 1, missing: 5, notTransmitted: 4, notTransmittedConnected: 0 },
    })
    expect(lastSequence(empty)).toBe(-1)
  })

  it('leaves out the rows of the warm-up, and nothing else', () => {
    const path = fileOf('d.csv', `# header\n${[5, 98, 99, 100, 102].map((s) => row(s, 'nan')).join('')}`)
    dropWarmUp(path, 100)
    const expected = `# header\n${[100, 102].map((s) => row(s, 'nan')).join('')}`
    expect(readFileSync(path, 'utf8')).toBe(expected)
    dropWarmUp(path, 100)
    expect(readFileSync(path, 'utf8')).toBe(expected)
    dropWarmUp(path, 1000)
    expect(readFileSync(path, 'utf8')).toBe('# header\n')
  })

  it.each([
    ['1,0,0.1\n', 1],
    [`${row(1, '0.1')}1,0,0.1,x,0.5\n`, 2],
    [`# header\n${row(1, '0.1')}1,0,0.1,2,0.5`, 3],
  ])('refuses the damaged file %j, with its line', (text, line) => {
    const path = fileOf('damaged.csv', text)
    expect(() => readLatencies(path)).toThrow(ReportError)
    expect(() => readLatencies(path)).toThrow(`${path}:${line}: this is no sample`)
  })

  it('says which file is not there', () => {
    expect(() => readLatencies(join(folder, 'none.csv'))).toThrow(
      /none\.csv: the samples cannot be read: does not exist/,
    )
  })
})

describe('a plan', () => {
  it('has all combinations, with settings of infiniband for that alone, and a loopback in threads', () => {
    const given = {
      node: ['loopback,infiniband'],
      values: ['1', '8'],
      device: ['shm,roce'],
      periodicSignaling: ['1,64'],
    }
    const sets = planNodes(given, 'processes', 1).sets.map(({ settings }) => settings)
    const usual = { rate: 10_000, timer: 'hybrid' }
    expect(sets).toEqual([
      ...[1, 8].map((values) => ({ node: 'loopback', mode: 'polling', values, ...usual, ends: 'threads' })),
      ...[1, 8].flatMap((values) =>
        ['shm', 'roce'].flatMap((device) =>
          [1, 64].map((periodicSignaling) => ({
            ...{ node: 'infiniband', mode: 'RC', values, ...usual, ends: 'processes', device, periodicSignaling },
          })),
        ),
      ),
    ])
  })

  it('takes those settings to the nodes', async () => {
    const settings = { node: 'infiniband', mode: 'UD', values: 4, rate: 10, timer: 'tsc', ends: 'threads' } as const
    const nodes = await underTest({
      ...settings,
      device: 'roce',
      maxInlineData: 0,
      periodicSignaling: 4,
      bufferSubtraction: 2,
    })
    expect(nodes.sender).toMatchObject({
      ...{ type: 'infiniband', rdma_transport_mode: 'UD' },
      out: { max_inline_data: 0, periodic_signaling: 4 },
    })
    // With a loopback address the device is that of the address.
    expect(nodes.sender).not.toHaveProperty('device')
    expect(nodes.receiver).toMatchObject({ in: { buffer_subtraction: 2, signals: '4f' } })
    const usual = await underTest(settings)
    expect(usual.sender).toMatchObject({ device: expect.stringMatching(/^shm/), out: { max_inline_data: 128 } })
    expect(usual.receiver).toMatchObject({ in: { buffer_subtraction: 128 } })
  })
})

const short = ['--rate', '500', '--warmup', '50', '--pin', 'none']

describe('bench node', () => {
  it('measures all combinations, and keeps their files', async () => {
    const out = join(folder, 'runs')
    const nodes = ['--threads', '--node', 'loopback,socket', '--mode', 'eventfd,udp', '--values', '2', ...short]
    const { code, stdout } = await verbena('bench', 'node', ...nodes, '--limit', '50', '--out', out, '--json')
    expect(code).toBe(0)
    const { runs, unit } = JSON.parse(stdout)
    expect(unit).toBe('ns')
    expect(runs.map((run: { settings: unknown }) => run.settings)).toEqual([
      { node: 'loopback', mode: 'eventfd', values: 2, rate: 500 },
      { node: 'socket', mode: 'udp', values: 2, rate: 500 },
    ])
    for (const run of runs) {
      expect(Object.keys(run)).toEqual(['settings', 'latency', 'missed', 'missing', 'notTransmitted'])
      const { latency, missed, missing, notTransmitted } = run
      // On a busy machine all samples may be late.
      if (missing === 50) {
        expect(latency).toBe(null)
        continue
      }
      expect(Object.keys(latency)).toEqual(['count', 'min', 'p10', 'median', 'p90', 'p99', 'max'])
      expect(latency.count).toBe(50 - missing)
      expect(missing).toBe(missed + notTransmitted)
      expect(latency.min).toBeGreaterThan(0)
      expect(latency.max).toBeGreaterThanOrEqual(latency.median)
    }
    expect(readdirSync(out).toSorted()).toEqual([
      '001_eventfd-2-500-50_input.csv',
      '001_eventfd-2-500-50_output.csv',
      '002_udp-2-500-50_input.csv',
      '002_udp-2-500-50_output.csv',
      'plot.json',
      'run.json',
    ])
    const { results } = loadResults(out)
    expect(results).toMatchObject({ tool: 'node', complete: true })
    for (const { settings, limit, steps } of (results as NodeResults).sets)
      expect([settings.ends, limit, steps]).toEqual(['threads', 50, 50])
  })

  // A process each: the warm-up is in neither file, and no sample is lost between connected nodes.
  it.skipIf(!nativeAvailable)('measures between processes, from the connection on', async () => {
    const out = join(folder, 'processes')
    const nodes = ['--processes', '--node', 'infiniband', '--mode', 'RC', ...short, '--limit', '100']
    const { code, stdout, stderr } = await verbena('bench', 'node', ...nodes, '--out', out, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) })
    const [{ latency, missing, missed, notTransmitted }] = JSON.parse(stdout).runs
    expect(notTransmitted).toBe(0)
    expect(missing).toBe(missed)
    expect(latency.count).toBe(100 - missed)
    const [set] = (loadResults(out).results as NodeResults).sets
    expect(set!.settings).toMatchObject({ ends: 'processes', device: 'shm' })
    expect(set!.counts.receiver).toMatchObject({ connections: 1, malformed: 0 })
  })

  it('ends when it is interrupted, with what was measured until then', async () => {
    const out = join(folder, 'interrupted')
    const nodes = [
      '--threads',
      '--node',
      'loopback',
      '--limit',
      '100',
      '--repeat',
      '100',
      ...short,
      '--out',
      out,
      '--json',
    ]
    const { interrupt, outcome } = begin(['bench', 'node', ...nodes])
    // The first run is over when the second one begins.
    const second = join(out, '002_polling-8-500-100_input.csv')
    await expect.poll(() => filesOf(out), { timeout: 30_000 }).toContain(second)
    interrupt()
    const { code, stdout, stderr } = await outcome
    expect(code).toBe(130)
    expect(stderr).toMatch(/interrupted after \d+ of 100 sets; they are in /)
    const { results } = loadResults(out)
    expect(results.complete).toBe(false)
    const sets = (results as NodeResults).sets
    expect(sets[0]).toMatchObject({ id: '001', limit: 100, steps: 100 })
    for (const { lat, steps, missed, missing, notTransmitted } of sets) {
      expect(lat.count).toBe(steps - missing)
      expect(missing).toBe(missed + notTransmitted)
    }
    expect(JSON.parse(stdout).runs).toHaveLength(sets.length)
  })

  it('says what cannot start, and measures the others', async () => {
    const out = join(folder, 'some')
    const nodes = ['--threads', '--node', 'infiniband,loopback', '--device', 'mlx5_9', ...short, '--limit', '20']
    const { code, stdout, stderr } = await verbena('bench', 'node', ...nodes, '--out', out, '--json')
    expect(code).toBe(1)
    expect(stderr).toMatch(/set 001: .*mlx5_9/)
    expect(JSON.parse(stdout).runs.map(({ settings }: { settings: object }) => settings)).toEqual([
      { node: 'loopback', mode: 'polling', values: 8, rate: 500 },
    ])
  })

  it.each([
    [['--node', 'lopback'], /--node: 'lopback' is not valid\. Expected loopback/],
    [['--mode', 'RC'], /--mode: loopback has other modes: polling, eventfd/],
    [['--rate', 'x'], /--rate: 'x' is not valid/],
    [['--values', '0'], /--values: '0' is not valid/],
    [['--pin', 'x'], /--pin: 'x' is not valid/],
    [['--threads', '--processes'], /--threads: it contradicts --processes/],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await verbena('bench', 'node', ...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

function filesOf(dir: string): string[] {
  try {
    return readdirSync(dir).map((name) => join(dir, name))
  } catch {
    return []
  }
}
