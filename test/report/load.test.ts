import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { defaultPlotSettings, loadResults, type Results, saveResults } from '../../src/report/index.ts'
import { smallRun, temporaryDirectory, throughputRun } from './synthetic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())

/** A document that is about to be damaged. */
type Draft = Record<string, unknown> & { sets: Record<string, unknown>[] }

let dir: string
let count = 0
beforeEach(() => {
  dir = smallRun(join(directory.path, String(count++)))
})

function changed(change: (document: Draft) => unknown): void {
  const document = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'))
  change(document)
  writeFileSync(join(dir, 'run.json'), JSON.stringify(document))
}

function failure(action: () => unknown): { code: string; message: string } {
  try {
    action()
  } catch (error) {
    return error as { code: string; message: string }
  }
  throw new Error('nothing was thrown')
}

it("several that save into one directory do not write into each other's file, and leave nothing else", () => {
  const { results } = loadResults(dir)
  // What a process that was killed has left.
  mkdirSync(join(dir, 'run.json.new'))
  saveResults(dir, results)
  expect(loadResults(dir).results).toEqual(results)
  const left = readdirSync(dir).filter((name) => name.endsWith('.new'))
  expect(left).toEqual(['run.json.new'])
})

describe('loadResults', () => {
  it('reads both tools', () => {
    expect(loadResults(dir)).toMatchObject({ dir, label: 'small', results: { tool: 'latency' } })
    const throughput = loadResults(throughputRun(directory.path))
    expect(throughput.results).toMatchObject({ tool: 'throughput', unit: 'messages/s' })
    expect(throughput.plot).toEqual(defaultPlotSettings())
  })

  it('ignores fields that a newer writer added', () => {
    changed((document) => {
      document.colour = 'green'
    })
    expect(loadResults(dir).results).not.toHaveProperty('colour')
  })

  it('fills in what plot.json leaves out', () => {
    writeFileSync(join(dir, 'plot.json'), '{"histogram": {"range": [0, 500]}}')
    const { plot } = loadResults(dir)
    expect(plot.histogram).toEqual({ ...defaultPlotSettings().histogram, range: [0, 500] })
    expect(plot.medians).toEqual(defaultPlotSettings().medians)
  })

  it('says what to do about a directory without results', () => {
    mkdirSync(join(directory.path, 'empty'), { recursive: true })
    for (const name of ['empty', 'none']) {
      const error = failure(() => loadResults(join(directory.path, name)))
      expect(error.code).toBe('ERR_REPORT_NO_RESULTS')
      expect(error.message).toMatch(/name a directory with saved results/)
    }
  })

  it('says which file is not JSON', () => {
    writeFileSync(join(dir, 'run.json'), '{"format": "verb')
    const error = failure(() => loadResults(dir))
    expect(error.code).toBe('ERR_REPORT_JSON')
    expect(error.message).toContain(join(dir, 'run.json'))
  })

  it.each([
    [
      'a set without a median',
      'sets[1].lat.median',
      (d: Draft) => Reflect.deleteProperty(d.sets[1]!.lat as object, 'median'),
    ],
    ['a negative count', 'sets[0].lost', (d: Draft) => Object.assign(d.sets[0]!, { lost: -1 })],
    [
      'a nested setting',
      'sets[0].settings.size',
      (d: Draft) => Object.assign(d.sets[0]!.settings as object, { size: [8] }),
    ],
    ['an id that leaves the directory', 'sets[2].id', (d: Draft) => Object.assign(d.sets[2]!, { id: '../../x' })],
    ['the same id twice', 'sets[1].id', (d: Draft) => Object.assign(d.sets[1]!, { id: '000' })],
    ['a newer version', 'version', (d: Draft) => Object.assign(d, { version: 2 })],
    ['another tool', 'tool', (d: Draft) => Object.assign(d, { tool: 'weather' })],
    ['no date', 'startedAt', (d: Draft) => Object.assign(d, { startedAt: 'yesterday' })],
  ])('names file and path for %s', (_what, path, change) => {
    changed(change)
    const error = failure(() => loadResults(dir))
    expect(error.code).toBe('ERR_REPORT_SCHEMA')
    expect(error.message).toContain(`${join(dir, 'run.json')}: `)
    expect(error.message).toContain(`${path}: `)
  })

  it('says which verbena reads another version', () => {
    changed((d) => Object.assign(d, { version: 2 }))
    const { message } = failure(() => loadResults(dir))
    expect(message).toContain('version: this version of verbena reads version 1 only; use the verbena that wrote it')
  })

  it('refuses a typing error in plot.json', () => {
    writeFileSync(join(dir, 'plot.json'), '{"histogram": {"rnage": [0, 500]}}')
    const error = failure(() => loadResults(dir))
    expect(error.message).toContain('rnage')
    expect(error.message).toContain('correct the file, or delete it')
  })

  it('refuses limits in the wrong order', () => {
    writeFileSync(join(dir, 'plot.json'), '{"histogram": {"range": [500, 0]}}')
    expect(failure(() => loadResults(dir)).message).toContain(
      'histogram.range: [500,0] is not valid. Expected the lower limit first: [0, 10000]',
    )
  })
})

describe('saveResults', () => {
  it('is read back equal', () => {
    const { results, plot } = loadResults(dir)
    const copy = join(directory.path, 'copy', 'deeper')
    saveResults(copy, results, plot)
    expect(loadResults(copy)).toMatchObject({ results, plot })
  })

  it('keeps a plot.json that a person edited', () => {
    writeFileSync(join(dir, 'plot.json'), '{"histogram": {"range": [0, 500]}}')
    saveResults(dir, loadResults(dir).results)
    expect(loadResults(dir).plot.histogram.range).toEqual([0, 500])
  })

  it('writes nothing when the results are not valid', () => {
    const { results } = loadResults(dir)
    const other = join(directory.path, 'other')
    const error = failure(() => saveResults(other, { ...results, durationSeconds: Number.NaN } as Results))
    expect(error.code).toBe('ERR_REPORT_SCHEMA')
    expect(existsSync(other)).toBe(false)
  })
})
