/** Reports of traffic: what was asked for beside what was generated, completion times, rates, tables. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { formatShare } from '../../src/report/format.ts'
import { loadResults, loadTrafficRecord, renderReport } from '../../src/report/index.ts'
import { summaryOf } from '../../src/traffic/index.ts'
import { temporaryDirectory } from './synthetic.ts'
import { trafficRun } from './synthetic-traffic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())

const dir = trafficRun(directory.path)
const { html, svgs, notes } = await renderReport([dir])

const textsOf = (name: string): string[] =>
  [...svgs.get(name)!.matchAll(/<text[^>]*>([^<]+)<\/text>/g)].map(([, text]) => text!)

describe('a report of traffic', () => {
  it('begins with what is complete of what was asked', () => {
    const { results } = loadResults(dir)
    if (results.tool !== 'traffic') throw new Error('these are results of traffic')
    const [{ all, asked, generated }] = results.sets as [(typeof results.sets)[number]]
    expect(asked.requests).toBe(3000)
    expect(all.done + all.lost + all.failed).toBe(3000)
    expect(html).toContain(`${all.done.toLocaleString('en-GB')} of 3,000 requests are complete`)
    expect(html).toContain(`<dt>Failed</dt><dd>${all.failed} (`)
    expect(html).toContain(`<dt>Sizes: off from those asked</dt><dd>at most ${formatShare(generated.sizes!.ks!)}</dd>`)
    expect(notes).toEqual([])
  })

  it('draws sizes and gaps, asked and generated, with their distance', () => {
    for (const [name, title] of [
      ['traffic-sizes', 'Sizes of flows'],
      ['traffic-gaps', 'Gaps between requests'],
    ] as const) {
      const texts = textsOf(name)
      expect(texts).toEqual(expect.arrayContaining([title, 'asked', 'generated', '100 %', '0 %']))
      expect(texts.join('\n')).toMatch(
        /^Shares are off by at most \d\.\d\d %; of draws from the distribution itself by more than 2\.48 %/m,
      )
    }
  })

  it('draws completion times and slowdown over the classes in their order', () => {
    for (const name of ['traffic-fct-sizes', 'traffic-slowdown-sizes']) {
      const texts = textsOf(name)
      expect(texts).toEqual(expect.arrayContaining(['median', '99 % are faster', '99.9 % are faster']))
      const classes = texts.filter((text) => /^(≤|>|&lt;|&gt;) ?\d+ [KM]iB$/.test(text))
      expect(classes.slice(0, 4)).toEqual(['≤ 1 KiB', '≤ 16 KiB', '≤ 128 KiB', '≤ 1 MiB'])
    }
    expect(textsOf('traffic-fct')).toEqual(expect.arrayContaining(['≤ 1 KiB', 'flow completion time']))
    expect(textsOf('traffic-rate')).toEqual(expect.arrayContaining(['asked', 'complete', 'time from the start']))
  })

  it('has a table for sizes, verbs, types and servers', () => {
    for (const id of ['traffic-size', 'traffic-verb', 'traffic-type', 'traffic-server'])
      expect(html).toContain(`<table class="sortable" id="${id}">`)
    for (const name of ['≤ 16 KiB', 'write', 'UC', '10.0.0.3:18515']) expect(html).toContain(`>${name}</td>`)
  })

  it('is of bounded size', () => {
    for (const file of ['run.json', '001.traffic.json'])
      expect(readFileSync(join(dir, file)).length, file).toBeLessThan(500_000)
  })

  it('compares several, and says what went wrong in which', async () => {
    const other = trafficRun(directory.path, 'again', undefined, (record) => ({
      ...record,
      failures: { '10.0.0.2:18515': 'the server is gone' },
    }))
    const both = await renderReport([dir, other])
    expect(both.notes).toEqual(['again: 10.0.0.2:18515: the server is gone'])
    expect([...both.svgs.keys()]).toEqual(
      expect.arrayContaining(['traffic-fct-p50', 'traffic-slowdown-p99', 'traffic-fct-1', 'traffic-sizes']),
    )
    expect(both.html).toMatch(/Reached: [^<]+ in traffic, [^<]+ in again\./)
  })

  it('does without what a collective or a closed loop does not have', async () => {
    const ring = 'servers: [a, b]\ncollective: { name: ring-all-reduce, size: 1MiB, iterations: 3 }\n'
    const closed = 'servers: [a]\nsize: 0\narrival: { type: closed, depth: 1 }\ncount: 20\n'
    for (const [name, yaml] of Object.entries({ ring, closed })) {
      const report = await renderReport([trafficRun(directory.path, name, yaml)])
      expect(report.svgs.has('traffic-sizes')).toBe(true)
      expect(report.svgs.has('traffic-gaps')).toBe(false)
      for (const svg of report.svgs.values()) expect(svg).not.toMatch(/NaN|Infinity/)
    }
  })
})

describe('a saved record', () => {
  it('is what was saved', () => {
    const { sets } = loadResults(dir).results
    expect(sets[0]).toMatchObject(summaryOf(loadTrafficRecord(dir, '001')))
  })

  it.each([
    ['a histogram that does not add up', /("fct":\{[^}]*"count":)\d+/, '$11', /fct: the buckets of a histogram hold/],
    ['a verb that is none', /("type":"RC","verb":)"send"/, '$1"sent"', /verb: /],
    ['lists of other lengths', /"dueBytes":\[/, '"dueBytes":[1,', /all lists of a series must be of one length/],
    ['a series without intervals', /"binSeconds":[\d.]+/, '"binSeconds":0', /binSeconds: /],
    ['no JSON', /\}\s*$/, '', /not valid JSON/],
  ])('with %s is refused', (name, from, to, message) => {
    const damaged = trafficRun(directory.path, name, 'servers: [a]\nsize: 8\nrequests: 1k/s\ncount: 20\n')
    const path = join(damaged, '001.traffic.json')
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
    expect(() => loadTrafficRecord(damaged, '001')).toThrow(message)
    expect(() => loadTrafficRecord(damaged, '001')).toThrow(/001\.traffic\.json: .*; send the traffic again/s)
  })
})
