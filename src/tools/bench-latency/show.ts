/** Runs a plan of latency sets at the terminal: progress, then the table and a histogram, or one JSON document. */
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { currentRun, paint, print, table, terminalWidth, wantsColour } from '../../cli/terminal/index.ts'
import {
  formatCount,
  type LatencyResults,
  type LatencySet,
  latencies,
  middleSets,
  readTimestamps,
  terminalHistogram,
} from '../../report/index.ts'
import { measure, settingText, varying } from '../bench-kit/index.ts'
import { type LatencyRun, runLatency } from './run.ts'

/** Returns the exit code. With `reports`, the caller writes the report and prints its location. */
export async function measureLatency(
  run: Omit<LatencyRun, 'command'>,
  json: boolean,
  reports = false,
): Promise<number> {
  return await measure({
    ...{ outDir: run.outDir, json, plannedSets: run.plan.sets.length },
    run: (hooks) => runLatency({ ...run, ...hooks }),
    describe: ({ settings }) => `${settings.service} ${settings.op} ${settings.size} B`,
    document: latencyDocument,
    show: (results, outDir) => show(results, outDir, reports),
  })
}

/** Returns the document that `--json` prints. */
function latencyDocument(results: LatencyResults): object {
  const runs = results.sets.map(({ settings, lat, comp, sent, lost, error }) => ({
    settings,
    lat,
    comp,
    sent,
    lost,
    ...(error === undefined ? {} : { error }),
  }))
  return { runs, unit: results.unit }
}

type LatencyColumn = 'n' | 'min' | 'p10' | 'median' | 'p90' | 'p99' | 'p99.9' | 'max' | 'lost' | 't_comp'

/** Columns with their figure of a set. */
const columns: Record<LatencyColumn, (set: LatencySet) => number | null> = {
  n: ({ lat }) => lat.count,
  min: ({ lat }) => lat.min,
  p10: ({ lat }) => lat.p10,
  median: ({ lat }) => lat.median,
  p90: ({ lat }) => lat.p90,
  p99: ({ lat }) => lat.p99,
  'p99.9': ({ lat }) => lat.p999,
  max: ({ lat }) => lat.max,
  lost: ({ lost }) => lost,
  t_comp: ({ comp }) => comp?.median ?? null,
}
const droppedFirst: readonly LatencyColumn[] = ['p10', 'n', 'min', 't_comp', 'max', 'lost', 'p99.9', 'p90']

/**
 * Selects, of sets that differ only in their repetition, the one with the median of their medians: on a busy machine some
 * lose a core for a while.
 */
function representative(sets: readonly LatencySet[]): LatencySet[] {
  const run = { label: '' }
  const entries = sets.map((set) => ({ run, set }))
  return middleSets(entries, ({ set }) => set.lat.median).map(({ set }) => set)
}

function show(results: LatencyResults, outDir: string, reports: boolean): void {
  const sets = representative(results.sets)
  const repeats = Math.round(results.sets.length / Math.max(1, sets.length))
  const vary = varying(sets.map(({ settings }) => settings)).filter((key) => key !== 'repeat')
  const keys = vary.length > 0 ? vary : ['service', 'op', 'size']
  const tableOf = (names: readonly LatencyColumn[]): string => {
    const rows = sets.map((set) => [
      ...keys.map((key) => settingText(set.settings[key])),
      ...names.map((name) => {
        const figure = columns[name](set)
        return figure === null ? '–' : formatCount(figure)
      }),
    ])
    return table([...keys, ...names], rows)
  }
  print(
    paint('bold', 'One-way latency, ns') +
      paint(
        'dim',
        ` (t_comp: median until the sender’s completion${repeats > 1 ? `; of ${repeats} repetitions the middle one` : ''})`,
      ),
  )
  if (sets.length > 0) print(fittingTable(tableOf, currentRun().io.stdout.columns ?? Number.POSITIVE_INFINITY))
  showHistogram(sets, outDir)
  print(`\nResults: ${outDir}`)
  if (!reports) print(paint('dim', `Report:  verbena report ${outDir}`))
}

/** Returns the table with as many columns as fit into `room` characters; the report has all in any case. */
export function fittingTable(tableOf: (names: readonly LatencyColumn[]) => string, room: number): string {
  let names = Object.keys(columns) as LatencyColumn[]
  for (const dropped of droppedFirst) {
    const text = tableOf(names)
    if (Math.max(...text.split('\n').map((line) => stripVTControlCharacters(line).length)) <= room) return text
    names = names.filter((name) => name !== dropped)
  }
  return tableOf(names)
}

/** Shows the histogram of the set that a reader most likely looks for first: RC, busy polling, the smallest messages. */
function showHistogram(sets: readonly LatencySet[], outDir: string): void {
  const rank = ({ settings, lat }: LatencySet): number =>
    (settings.service === 'RC' ? 4 : 0) +
    (settings.poll === 'busy' ? 2 : 0) +
    (settings.engine === 'poster' ? 1 : 0) +
    (lat.count > 0 ? 8 : 0)
  const [set] = [...sets].sort((a, b) => rank(b) - rank(a) || Number(a.settings.size) - Number(b.settings.size))
  if (!set || set.lat.count === 0) return
  const { tSubm, tRecv } = readTimestamps(join(outDir, `${set.id}.csv`))
  const { service, op, size, poll } = set.settings
  const title = `\n${service} ${op}, ${size} bytes, ${poll} polling: set ${set.id}`
  const limit = histogramLimit(set.lat)
  const options = { title, width: terminalWidth(), rangeNs: [0, limit] as const, colour: wantsColour() }
  print(terminalHistogram(latencies(tSubm, tRecv), options))
}

/**
 * Returns a round upper limit that covers all but one in a thousand, but never so high that the rest is a spike at the left edge.
 * Longer latencies are counted in the box.
 */
export function histogramLimit({ median, p999 }: { median: number; p999: number }): number {
  const wanted = Math.max(10, Math.min(p999, median * 6))
  const power = 10 ** Math.floor(Math.log10(wanted))
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((digit) => digit * power).find((limit) => limit >= wanted)!
}
