/** Runs a plan of latency sets at the terminal: progress, then the table and a histogram, or one JSON document. */
import { join } from 'node:path'
import { paint, print, table, terminalWidth, wantsColour } from '../../cli/terminal/index.ts'
import {
  formatCount,
  type LatencyResults,
  type LatencySet,
  latencies,
  readTimestamps,
  terminalHistogram,
} from '../../report/index.ts'
import { rankOf } from '../../stats/index.ts'
import { measure, settingText, varying } from '../bench-kit/index.ts'
import { type LatencyRun, runLatency } from './run.ts'

/** The exit code. With `reports`, the caller writes the report and says where it is. */
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

/** What --json prints. */
export function latencyDocument(results: LatencyResults): object {
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

const columns = ['n', 'min', 'p10', 'median', 'p90', 'p99', 'p99.9', 'max', 'lost', 't_comp']

/**
 * Of sets that differ in nothing but their repetition, the one with the median of their medians: on a busy machine some
 * lose a core for a while.
 */
function representative(sets: readonly LatencySet[]): LatencySet[] {
  const groups = new Map<string, LatencySet[]>()
  for (const set of sets) {
    const key = JSON.stringify({ ...set.settings, repeat: 0 })
    groups.set(key, [...(groups.get(key) ?? []), set])
  }
  return [...groups.values()].map((group) => {
    const sorted = group.sort((a, b) => a.lat.median - b.lat.median)
    return sorted[rankOf(sorted.length, 50) - 1]!
  })
}

function show(results: LatencyResults, outDir: string, reports: boolean): void {
  const sets = representative(results.sets)
  const repeats = Math.round(results.sets.length / Math.max(1, sets.length))
  const vary = varying(sets.map(({ settings }) => settings)).filter((key) => key !== 'repeat')
  const keys = vary.length > 0 ? vary : ['service', 'op', 'size']
  const rows = sets.map(({ settings, lat, comp, lost }) => [
    ...keys.map((key) => settingText(settings[key])),
    ...[lat.count, lat.min, lat.p10, lat.median, lat.p90, lat.p99, lat.p999, lat.max, lost].map(formatCount),
    comp ? formatCount(comp.median) : '–',
  ])
  print(
    paint('bold', 'One-way latency, ns') +
      paint(
        'dim',
        ` (t_comp: median until the sender’s completion${repeats > 1 ? `; of ${repeats} repetitions the middle one` : ''})`,
      ),
  )
  if (rows.length > 0) print(table([...keys, ...columns], rows))
  showHistogram(sets, outDir)
  print(`\nResults: ${outDir}`)
  if (!reports) print(paint('dim', `Report:  verbena report ${outDir}`))
}

/** The set that a reader most likely looks for first: RC, busy polling, small messages, the most of them. */
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
 * As far as most messages took, 1, 2 or 5 times a power of ten; at least 10 µs, and never so far that the median is lost
 * at the left edge: what took longer is in the box.
 */
export function histogramLimit({ median, p90 }: { median: number; p90: number }): number {
  const wanted = Math.max(10_000, Math.min(p90, median * 20))
  const power = 10 ** Math.floor(Math.log10(wanted))
  return [1, 2, 5, 10].map((digit) => digit * power).find((limit) => limit >= wanted)!
}
