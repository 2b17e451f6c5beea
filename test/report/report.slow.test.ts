import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { formatCount, formatNs, loadResults, type Report, renderReport, writeReport } from '../../src/report/index.ts'
import { largeRun, SIZES, smallRun, temporaryDirectory, throughputRun, writeLatencyRun } from './synthetic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const small = smallRun(directory.path)
const large = largeRun(directory.path)
const throughput = throughputRun(directory.path)
const [smallReport, throughputReport] = [await renderReport([small]), await renderReport([throughput])]

/** All text of an SVG or HTML string, tags taken out. */
function textOf(markup: string): string {
  return markup.replace(/<[^>]+>/g, '\n').replace(/\n+/g, '\n')
}

/** Positions on the horizontal axis, in pixels, of the red lines. */
function redLines(svg: string): number[] {
  return [...svg.matchAll(/<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+"[^>]*stroke="#d01c2b"/g)].map((match) =>
    Number(match[1]),
  )
}

describe('the page', () => {
  const { html, svgs, notes } = smallReport

  it('opens with the main figure', () => {
    const best = loadResults(small).results.sets[2]
    if (!best || !('lat' in best)) throw new Error('a latency set was expected')
    expect(html).toContain(`takes ${formatNs(best.lat.median)} (median, 8 B messages, RC send, inline)`)
  })

  it('needs nothing but itself', () => {
    expect(html).not.toMatch(/(?:src|href)="(?!data:)/)
    expect(html).not.toMatch(/@import|url\((?!#)/)
    expect(html.replaceAll('http://www.w3.org/', '')).not.toMatch(/https?:\/\//)
  })

  it('has no id twice', () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('names the machine, the versions, the command and the date', () => {
    const text = textOf(html)
    for (const part of [
      'Example CPU @ 2.00GHz, 2 cores',
      '8.0 GiB',
      'node 20.19.0',
      '--size 8,64',
      '2026-03-01T12:00:00',
    ]) {
      expect(text).toContain(part)
    }
  })

  it('lists all sets and, once, the settings that they share', () => {
    expect(
      html
        .match(/<tbody>[\s\S]*?<\/tbody>/g)!
        .at(-1)!
        .match(/<tr/g),
    ).toHaveLength(3)
    expect(html).toContain('<span>engine <b>native</b></span>')
  })

  it('is the same when it is made again', async () => {
    expect((await renderReport([small])).html).toBe(html)
  })

  it('holds each chart that is also given alone', () => {
    expect([...svgs.keys()]).toEqual(['histogram', 'histogram-zoom', 'inline'])
    // On the page its colours are those of the page.
    for (const svg of svgs.values()) expect(html).toContain(svg.replace(/<style>.*?<\/style>/, ''))
    expect(notes).toEqual([])
  })

  it('tells what inline saves: median(submit) − median(send)', () => {
    const [submit, send, inline] = loadResults(small).results.sets.map((set) => ('lat' in set ? set.lat.median : 0))
    const row = html.match(/<table class="sortable" id="inline">[\s\S]*?<tbody>\s*<tr[^>]*>(.*?)<\/tr>/)![1]!
    const cells = textOf(row).trim().split('\n')
    const expected = [submit!, send!, submit! - send!, inline!, submit! - inline!].map(formatCount)
    expect(cells).toEqual(['no inline', ...expected])
  })
})

describe('histograms', () => {
  const svg = smallReport.svgs.get('histogram')!

  it('have a red line at each median', () => {
    const sets = loadResults(small).results.sets.flatMap((set) => ('comp' in set ? [set.lat, set.comp] : []))
    const medians = sets.flatMap((summary) => (summary ? [summary.median] : []))
    // The plot of 900 pixels reaches from 62 to 876.
    const expected = medians.map((median) => 62 + (median / 10_000) * 814)
    const lines = redLines(svg)
    expect(lines).toHaveLength(5)
    for (const [i, x] of lines.entries()) expect(Math.abs(x - expected[i]!)).toBeLessThanOrEqual(1)
  })

  it('have a box for each set with the share above the limit and the maximum', () => {
    for (const set of loadResults(small).results.sets) {
      if (!('lat' in set)) continue
      expect(textOf(svg)).toContain(`median ${formatNs(set.lat.median)}`)
      expect(textOf(svg)).toMatch(new RegExp(`\\d\\.\\d\\d % above 10 µs, max. ${formatNs(set.lat.max)}`))
    }
  })

  it('have no line for a median beyond the limit', async () => {
    const narrow = (await renderReport([small], { rangeNs: [0, 100] })).svgs.get('histogram')!
    expect(redLines(narrow)).toEqual([])
    expect(textOf(narrow)).toMatch(/above 100 ns/)
  })

  it('are chosen from many sets, the others folded away', async () => {
    const report = await renderReport([large])
    const text = textOf(report.svgs.get('histogram')!)
    for (const title of ['RC send', 'RC write', 'UC send', 'UC write', 'UD send', 'UD write'])
      expect(text).toContain(`\n${title}\n`)
    // What all panels share is said once.
    expect(text.match(/size 8\b/g)).toHaveLength(1)
    expect(report.html).toContain('<summary>Histograms of all 42 sets</summary>')
    expect(report.svgs.has('histograms-7')).toBe(true)
  })

  it('have other limits beside those asked for, where these show nothing', async () => {
    const title = (of: Report) => /aria-label="([^"]*)"/.exec(of.svgs.get('histogram-zoom') ?? '')?.[1]
    expect(title(smallReport)).toBe('Latency, enlarged')
    const slow = await renderReport([smallRun(directory.path, 'tens-of-microseconds', 40)])
    expect(title(slow)).toBe('Latency, wider')
    expect(redLines(slow.svgs.get('histogram-zoom')!)).toHaveLength(5)
  })

  it('of a large run are on the page once its script draws them, and files', async () => {
    const settings = { service: 'RC', op: 'send' }
    const specs = Array.from({ length: 49 }, (_, i) => ({
      settings: { ...settings, size: 8 + i },
      typicalNs: 900,
      messages: 20,
    }))
    const many = await renderReport([writeLatencyRun(directory.path, 'many', specs)])
    expect(many.html).toMatch(/id="chart-histograms-1"[^>]*><div class="chart"><p[^>]*>[^<]*the file histograms-1.svg/)
    expect(many.svgs.get('histograms-1')).toContain('size 8')
    expect(many.html.length).toBeLessThan(1_000_000)
  })

  it('lay the runs of a comparison over each other', async () => {
    const other = smallRun(directory.path, 'other', 1.5)
    const report = await renderReport([small, other])
    const text = textOf(report.svgs.get('histogram')!)
    expect(text).toContain('t_lat, small')
    expect(text).toContain('t_comp, other')
    expect(report.html).toMatch(/other has 1\.\d\d times the latency of small/)
    expect(report.html).toContain('other / small')
  })
})

describe('repetitions', () => {
  it('are one setting, whose median is in the first sentence as in the chart: not the luckiest', async () => {
    const settings = { service: 'RC', op: 'send' }
    const of = (size: number, typical: number[]) =>
      typical.map((typicalNs, i) => ({ settings: { ...settings, size, repeat: i + 1 }, typicalNs, messages: 200 }))
    const run = writeLatencyRun(directory.path, 'repeated', [...of(8, [395, 483, 252]), ...of(64, [700, 300, 800])])
    const medians = loadResults(run).results.sets.map((set) => ('lat' in set ? set.lat.median : 0))
    const middle = (from: number): string => formatNs(medians.slice(from, from + 3).sort((a, b) => a - b)[1]!)
    const { html } = await renderReport([run])
    expect(html).toContain(
      `The fastest of 2 settings (the median of 3 repetitions of each) takes ${middle(0)} (median, 8 B messages, RC send); the slowest ${middle(3)}.`,
    )
  })
})

describe('the median chart', () => {
  it('has a line for each combination of the other settings and an error bar for each point', async () => {
    const svg = (await renderReport([large])).svgs.get('medians')!
    const text = textOf(svg)
    for (const line of ['RC send', 'RC write', 'UC send', 'UC write', 'UD send', 'UD write'])
      expect(text).toContain(line)
    expect(text).toContain('32 KiB')
    expect(svg.match(/stroke-width="1.3"/g)).toHaveLength(3 * 6 * SIZES.length)
  })

  it('is drawn over any setting that varies', async () => {
    expect((await renderReport([large], { over: 'service' })).svgs.get('medians-1')).toContain(
      'Median latency over service',
    )
    await expect(renderReport([large], { over: 'colour' })).rejects.toThrow(/these vary: service, op, size/)
  })

  it('takes a crowd of lines apart', async () => {
    const { svgs } = await renderReport([large, largeRun(directory.path, 'again', 1.1, 50)])
    const names = [...svgs.keys()]
    expect(names.filter((name) => name.startsWith('medians'))).toEqual(['medians-1', 'medians-2'])
  })
})

describe('throughput', () => {
  const { svgs, html } = throughputReport

  it('draws both charts of the techniques', () => {
    expect([...svgs.keys()]).toEqual(['throughput-concurrent', 'throughput-batch'])
    const text = textOf(svgs.get('throughput-concurrent')!)
    expect(text).toContain('messages of 8 B; write batch: batches of 4')
    for (const technique of ['send', 'write', 'write unsignaled', 'write inline', 'write batch'])
      expect(text).toContain(technique)
    expect(textOf(svgs.get('throughput-batch')!)).toContain('(write batch), messages of 8 B, 64 concurrent messages')
  })

  it('has bytes/s in the table', () => {
    expect(html).toContain('5.32 GB')
    expect(html).toContain('Up to 6.05 M messages/s')
  })
})

describe('what went wrong', () => {
  const settings = { service: 'RC <script>alert(1)</script>', op: '"&\'', size: 8 }

  it('is said on the page, and nothing from the results becomes markup', async () => {
    const bad = writeLatencyRun(
      directory.path,
      'bad <i>',
      [
        { settings, typicalNs: 500, lost: 2, error: 'peer <img src=x> went away' },
        { settings: { ...settings, size: 64 }, typicalNs: 700 },
      ],
      { complete: false, command: ['verbena', '<b>'] },
    )
    const { html, notes } = await renderReport([bad])
    expect(notes).toEqual([
      'The run bad <i> did not finish: this report shows the 2 sets measured before.',
      'Set 000 of bad <i> stopped early: peer <img src=x> went away',
    ])
    expect(html).toContain('peer &lt;img src=x&gt; went away')
    expect(html).not.toMatch(/<img|<script>alert|<i>|<b>verbena|<b><\/code>/)
    expect(html.match(/<script/g)).toHaveLength(2)
  })

  it('does not keep the report from being made without raw timestamps', async () => {
    const dir = smallRun(directory.path, 'without')
    rmSync(join(dir, '001.csv'))
    writeFileSync(join(dir, '002.csv'), 'number,t_subm,t_recv,t_comp\n0,1,2')
    const { notes, svgs } = await renderReport([dir])
    expect(notes).toHaveLength(2)
    expect(notes[0]).toMatch(/^No histogram of set 001: .*001\.csv.* does not exist/)
    expect(notes[1]).toMatch(/^No histogram of set 002: .*002\.csv:2: /)
    expect(textOf(svgs.get('histogram')!).match(/t_lat/g)).toHaveLength(1)
  })

  it('says when raw timestamps and run.json do not belong together', async () => {
    const dir = smallRun(directory.path, 'mixed')
    writeFileSync(join(dir, '000.csv'), 'number,t_subm,t_recv,t_comp\n0,1,2,3\n')
    expect((await renderReport([dir])).notes[0]).toContain('holds 1 latencies (lat), run.json says 2000')
  })

  it('works for runs with nothing in them', async () => {
    const none = writeLatencyRun(directory.path, 'none', [])
    expect((await renderReport([none])).html).toContain('No set was measured.')
    const lost = writeLatencyRun(directory.path, 'lost', [{ settings, typicalNs: 1, messages: 5, lost: 5 }])
    expect((await renderReport([lost])).html).toContain('No latency was measured.')
  })

  it('refuses options that fit nothing', async () => {
    await expect(renderReport([])).rejects.toThrow(/no directory was given/)
    await expect(renderReport([small], { rangeNs: [5, 5] })).rejects.toThrow(/give the lower limit first/)
  })
})

describe('writeReport', () => {
  it('writes the page and each chart', async () => {
    const out = join(directory.path, 'out', 'deeper')
    const paths = await writeReport([small, throughput], out)
    expect(paths[0]).toBe(join(out, 'report.html'))
    expect(paths.map((path) => path.slice(out.length + 1)).sort()).toEqual(readdirSync(out).sort())
    for (const path of paths.slice(1)) {
      const svg = readFileSync(path, 'utf8')
      expect(svg).toMatch(
        /^<svg role="img" aria-label="[^"]+" width="900" height="\d+" xmlns="http:\/\/www.w3.org\/2000\/svg"/,
      )
      expect(svg).not.toContain('NaN')
    }
  })
})
