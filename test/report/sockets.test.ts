import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { flameSvg } from '../../src/report/charts/flame.ts'
import { type FlameNode, loadFlame, loadResults, renderReport, saveResults } from '../../src/report/index.ts'
import { socketRun, temporaryDirectory } from './synthetic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const dir = socketRun(directory.path)

function textOf(markup: string): string {
  return markup.replace(/<[^>]+>/g, '\n').replace(/\n+/g, '\n')
}

/** The rows of a table, as text. */
function rowsOf(html: string, id: string): string[][] {
  const table = new RegExp(`id="${id}">[\\s\\S]*?</table>`).exec(html)?.[0] ?? ''
  return [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/g)].map(([, cell]) => textOf(cell!).trim()),
  )
}

const report = await renderReport([dir])

describe('the report of sockets', () => {
  const { html, svgs, notes } = report

  it('opens with the best of both transports', () => {
    expect(notes).toEqual([])
    expect(html).toContain('47.9 Gbit/s over rsockets (1 MiB), 12.0 Gbit/s over TCP of the kernel (1 MiB)')
    expect(html).toContain('A transaction takes 1.25 µs over rsockets, 5.00 µs over TCP of the kernel.')
  })

  it('draws both transports in one chart, of the throughput and of the CPU use', () => {
    expect([...svgs.keys()]).toEqual([
      ...['socket-throughput', 'socket-throughput-linear', 'socket-cpu', 'flame-025-client', 'flame-025-server'],
    ])
    const throughput = textOf(svgs.get('socket-throughput')!)
    expect(throughput).toMatch(/\nrsocket\n/)
    expect(throughput).toMatch(/\nkernel TCP\n/)
    const cpu = textOf(svgs.get('socket-cpu')!)
    // The server's share of TCP is not known in these results.
    for (const line of ['rsocket, client', 'rsocket, server', 'kernel TCP, client'])
      expect(cpu).toContain(`\n${line}\n`)
    expect(cpu).not.toContain('kernel TCP, server')
  })

  it('puts the medians side by side, with their ratio', () => {
    const rows = rowsOf(html, 'socket-comparison')
    expect(rows[0]).toEqual(['test', 'size', 'rsocket', 'kernel TCP', 'rsocket / kernel TCP'])
    expect(rows[1]).toEqual(['TCP_RR', '1 B', '800,000', '200,000', '× 4.00'])
    expect(rows).toHaveLength(8)
    expect(rows[7]![1]).toBe('1 MiB')
  })

  it('lists all sets, with what is not known left out', () => {
    const rows = rowsOf(html, 'socket-table')
    expect(rows).toHaveLength(29)
    const tcp = rows.find((row) => row.includes('tcp'))!
    expect(tcp.slice(-3)).toEqual(['0.90', '–', '1.75'])
    expect(rows[0]![5]).toBe('CPU s/GB')
    expect(tcp[5]).toBe('–')
  })

  it('says where the time went, with a picture for each end', () => {
    const rows = rowsOf(html, 'cost-table')
    expect(rows[0]).toEqual(['measurement', 'rate', 'rsocket', 'copies'])
    expect(rows[1]).toEqual(['TCP_STREAM, 64 B, rsocket, client', '960 Mbit/s', '60.0 %', '40.0 %'])
    expect(rowsOf(html, 'functions-025-client')[1]).toEqual(['60.0 %', 'send', 'rsocket/send-side', 'rsocket'])
    expect(html).toContain(svgs.get('flame-025-client')!.replace(/<style>.*?<\/style>/, ''))
  })

  it('has no id twice and needs nothing but itself', () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
    expect(html.replaceAll('http://www.w3.org/', '')).not.toMatch(/https?:\/\//)
  })

  it('compares runs, and is made without profiles', async () => {
    const other = socketRun(directory.path, 'other', false)
    const both = await renderReport([dir, other])
    expect(both.notes).toEqual([])
    expect(textOf(both.svgs.get('socket-throughput')!)).toContain('rsocket, other')
    expect((await renderReport([other])).html).not.toContain('Where the time went')
    const ids = [...both.html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('is made without a tree of calls that is damaged, and says so', async () => {
    const damaged = socketRun(directory.path, 'damaged')
    writeFileSync(join(damaged, '025-client.flame.json'), '{"name":3}')
    rmSync(join(damaged, '025-server.flame.json'))
    const { notes, svgs } = await renderReport([damaged])
    expect(notes).toHaveLength(2)
    expect(notes[0]).toMatch(/No flame graph of .*client: .*025-client.flame.json: name: /)
    expect([...svgs.keys()].some((name) => name.startsWith('flame'))).toBe(false)
  })

  it('refuses results that are not what the format says', () => {
    const { results } = loadResults(dir)
    if (results.tool !== 'rsocket') throw new Error('sockets were expected')
    const wrong = { ...results, sets: [{ ...results.sets[0]!, cpu: { client: -1, server: null, process: null } }] }
    expect(() => saveResults(join(directory.path, 'wrong'), wrong)).toThrow(/sets\[0\]\.cpu\.client/)
  })
})

describe('a flame graph', () => {
  const root = loadFlame(dir, '025', 'client')
  const svg = flameSvg({ name: 'x', title: 'A & B', width: 900, root })
  const frames = [
    ...svg.matchAll(/class="frame" x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"[^>]*><title>(.*?)<\/title>/g),
  ]

  it('puts callees below their caller, as wide as their share', () => {
    expect(frames.map(([, x, , width, title]) => [Number(x), Number(width), title!.split(' (')[0]])).toEqual([
      [0, 100, 'client thread'],
      [0, 95, 'send'],
      [0, 40, 'copy &lt;of&gt; an array'],
      [40, 15, 'post'],
    ])
    const [top, send, copy, post] = frames.map(([, , y]) => Number(y))
    expect(send).toBeGreaterThan(top!)
    expect(copy).toBe(post)
    expect(frames[3]![4]).toBe('post (shm/module): 15.0 %, shm')
  })

  it('leaves out what cannot be seen, and draws nothing of nothing', () => {
    const thin: FlameNode = { ...root.children[0]!, samples: 0.1, children: [] }
    expect(flameSvg({ name: 'x', title: 't', width: 900, root: { ...root, children: [thin] } })).not.toContain('send (')
    const empty = flameSvg({ name: 'x', title: 't', width: 900, root: { ...root, samples: 0, children: [] } })
    expect(empty).not.toContain('class="frame"')
  })
})

describe('the table of sets', () => {
  it('has a line for each set, with text in quotes where it must', () => {
    const lines = readFileSync(join(dir, 'sets.csv'), 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(29)
    expect(lines[0]).toMatch(/^set,test,transport,size,.*,cpu_client,cpu_server,cpu_process,error$/)
    expect(lines[1]).toContain('"shm0,shm1"')
  })
})
