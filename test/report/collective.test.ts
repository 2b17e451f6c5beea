/** The report of `verbena bench collective`: its figures, the map of the fastest, and what to use, from made-up times. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type CollectiveSet, renderReport, saveResults, summarize } from '../../src/report/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-report-collective-'))
afterAll(() => rmSync(folder, { recursive: true }))

let sets: CollectiveSet[] = []

function add(
  transport: string,
  mode: string,
  measure: string,
  size: number,
  processes: number,
  ns: number,
  lost = 0,
): void {
  const time = summarize([ns, ns * 1.2, ns * 1.4])
  const settings = { device: 'shm:lab', transport, mode, measure, repetitions: 3, size, processes }
  const received = Math.round(100 * (1 - lost))
  sets.push({ id: String(sets.length + 1).padStart(3, '0'), settings, time, mean: ns * 1.2, sent: 100, received, lost })
}

async function reportOf(name: string): Promise<{ html: string; charts: string[] }> {
  const dir = join(folder, name)
  saveResults(dir, {
    ...{ format: 'verbena-results', version: 1, tool: 'collective', unit: 'ns', complete: true, sets },
    ...{ command: ['verbena'], startedAt: '2026-01-01T00:00:00Z', durationSeconds: 1 },
    machine: { cpu: 'x', cores: 64, memoryBytes: 1, os: 'linux', load: 0, permitted: {} },
    versions: {},
  })
  const { html, svgs } = await renderReport([dir])
  return { html, charts: [...svgs.keys()] }
}

/** Texts of the cells of a table's body. */
function rowsOf(html: string, id: string): string[][] {
  const [, body] = new RegExp(`id="${id}">[\\s\\S]*?<tbody>([\\s\\S]*?)</tbody>`).exec(html)!
  return body!
    .split('</tr>')
    .slice(0, -1)
    .map((row) =>
      [...row.matchAll(/<t[dh][^>]*>([\s\S]*?)<\/t[dh]>/g)].map(([, text]) =>
        text!
          .replace(/<br>/g, ' ')
          .replace(/<[^>]+>/g, '')
          .trim(),
      ),
    )
}

it('shows the shapes of the study: RC WRITE with few processes, multicast with many', async () => {
  sets = []
  for (const processes of [1, 8, 9, 20])
    for (const size of [1, 2048]) {
      add('RC', 'WRITE', 'MEA_RTT_TIME', size, processes, 1000 * processes)
      add('RC', 'SEND', 'MEA_RTT_TIME', size, processes, 1100 * processes)
      add('multicast', 'SEND', 'MEA_RTT_TIME', size, processes, 8500, 0.25)
    }
  for (const [measure, ns] of [
    ['MEA_RTT_TIME', 900],
    ['RDMART_1N', 600],
    ['RDMART_N1', 300],
  ] as const)
    for (const processes of [1, 9]) add('RC', 'READ', measure, 1, processes, ns)
  const { html, charts } = await reportOf('study')
  // Both ranges of processes, and both sizes; READ, which is faster, does not win what it does not measure.
  expect(charts).toEqual([
    ...[
      'round-trip-1-to-15',
      'round-trip-1-to-20',
      'round-trip-2048-to-15',
      'round-trip-2048-to-20',
      'round-trip-sizes',
    ],
    'read-1',
  ])
  expect(rowsOf(html, 'winners-best')).toEqual([
    ['1 B', 'RC WRITE 1.00 µs', 'RC WRITE 8.00 µs', 'multicast SEND 8.50 µs', 'multicast SEND 8.50 µs'],
    ['2 KiB', 'RC WRITE 1.00 µs', 'RC WRITE 8.00 µs', 'multicast SEND 8.50 µs', 'multicast SEND 8.50 µs'],
  ])
  expect(rowsOf(html, 'recommendations').slice(0, 2)).toEqual([
    ['1 B', '1 to 8', 'RC WRITE', '1.20 µs to 9.60 µs', 'RC WRITE', '× 1.00'],
    ['1 B', '9 to 20', 'multicast SEND', '10.2 µs', 'RC WRITE', '× 2.35'],
  ])
  expect(rowsOf(html, 'loss-table')).toEqual([['multicast SEND', '800', '200', '25.0 %', '25.0 %']])
  expect(rowsOf(html, 'paper-table')[0]).toEqual(['multicast SEND', 'MEA_RTT_TIME', '1 B', '1', '47', '8.5', '× 0.181'])
  expect(html).toContain(
    'With 1 B and 20 remote processes, multicast SEND has the shortest round trip: 10.2 µs (median).',
  )
})

it('names no fastest where something was not measured, but where it was lost', async () => {
  sets = []
  for (const processes of [1, 8, 9]) {
    add('RC', 'SEND', 'MEA_RTT_TIME', 1, processes, 1000)
    if (processes !== 9) add('UD', 'SEND', 'MEA_RTT_TIME', 1, processes, 900)
  }
  Object.assign(sets.at(-2)!, { time: summarize([]), lost: 1 })
  const { html } = await reportOf('interrupted')
  expect(rowsOf(html, 'winners-best')).toEqual([['1 B', 'UD SEND 900 ns', 'RC SEND 1.00 µs', '–']])
  expect(rowsOf(html, 'recommendations').map(([, processes]) => processes)).toEqual(['1', '8'])
})

it('of single calls only has their charts, and no map', async () => {
  sets = []
  for (const posts of [1, 2]) {
    add('RC', 'SEND', 'MEA_POST_SR_CPU_OVERHEAD', 8, 1, 100 * posts)
    sets.at(-1)!.settings.posts = posts
  }
  const { html, charts } = await reportOf('calls')
  expect(charts).toEqual(['mea-post-sr-cpu-overhead'])
  expect(html).not.toContain('id="winners"')
  expect(html).not.toContain('id="losses"')
})

it('of which everything was lost says so', async () => {
  sets = []
  add('UD', 'SEND', 'MEA_RTT_TIME', 1, 1, 0, 1)
  sets[0]!.time = summarize([])
  const { html } = await reportOf('lost')
  expect(html).toContain('Nothing was measured.')
  expect(rowsOf(html, 'loss-table')[0]).toEqual(['UD SEND', '100', '100', '100 %', '100 %'])
})
