/** The chart library is large: whoever makes no report does not load it, in no thread. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../cli/ends.ts'
import { type Outcome, outcome, startProcess } from '../cli/run.ts'

const directory = mkdtempSync(join(tmpdir(), 'verbena-modules-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Node leaves a list of the scripts of each thread in a folder: it counts what they execute. */
function counted(folder: string, args: string[]): Promise<Outcome> {
  return outcome(startProcess(args, { env: { ...process.env, NODE_V8_COVERAGE: join(directory, folder) } }))
}

interface Loaded {
  threads: number
  files: Set<string>
}

function loaded(folder: string): Loaded {
  const lists = readdirSync(join(directory, folder)).map(
    (name) => JSON.parse(readFileSync(join(directory, folder, name), 'utf8')) as { result: { url: string }[] },
  )
  const urls = lists.flatMap(({ result }) => result.map(({ url }) => url)).filter((url) => url.startsWith('file:'))
  return { threads: lists.length, files: new Set(urls.map((url) => fileURLToPath(url))) }
}

/** Files with the library in them, by the name of a function that plugs a painter into it. */
function withCharts({ files }: Loaded): string[] {
  return [...files].filter((file) => readFileSync(file, 'utf8').includes('registerPainter'))
}

const results = join(directory, 'results')

beforeAll(async () => {
  const args = ['bench', 'latency', '--size', '8', '--burst', '20', '--out', results]
  expect(await counted('latency', args)).toMatchObject({ code: 0 })
})

describe('the chart library', () => {
  it('is loaded by verbena report', { timeout: 60_000 }, async () => {
    expect(await counted('report', ['report', results])).toMatchObject({ code: 0 })
    expect(withCharts(loaded('report'))).toHaveLength(1)
  })

  it('is not loaded by benchmarks and their threads', () => {
    const latency = loaded('latency')
    expect(latency.threads).toBeGreaterThanOrEqual(3)
    expect(latency.files.size).toBeGreaterThan(5)
    expect(withCharts(latency)).toEqual([])
  })

  it.skipIf(!canShare)('is not loaded by verbena perf', { timeout: 60_000 }, async () => {
    const common = ['perf', 'send_lat', '-d', segment(), '-p', await freePort(), '-n', '20']
    const ends = [counted('server', common), counted('client', [...common, '--wait', '60', 'localhost'])]
    for (const end of ends) expect(await end).toMatchObject({ code: 0 })
    for (const folder of ['server', 'client']) {
      const perf = loaded(folder)
      expect(perf.files.size).toBeGreaterThan(5)
      expect(withCharts(perf)).toEqual([])
    }
  })
})
