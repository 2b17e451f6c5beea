/** Report of one run or comparison of several: everything from saved results, nothing measured again. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageScript } from '../web/index.ts'
import type { PageData } from './browser/data.ts'
import { type ChartSpec, chartOf } from './charts/index.ts'
import type { SurfaceSpec } from './charts/spec.ts'
import { surfacePicture } from './charts/surface.ts'
import { ReportError } from './errors.ts'
import { escapeHtml, formatNsTick } from './format.ts'
import { type LoadedRun, loadResults } from './load.ts'
import { algorithmHeadline, algorithmSections } from './page/algorithms.ts'
import { collectiveHeadline, collectiveSections } from './page/collective.ts'
import { latencyHeadline, throughputHeadline } from './page/headline.ts'
import { nodeHeadline, nodeSections } from './page/nodes.ts'
import {
  disturbances,
  factsHtml,
  figure,
  folded,
  headlineHtml,
  laterFigure,
  notesHtml,
  page,
  runNotes,
  section,
} from './page/page.ts'
import { socketHeadline, socketSections } from './page/sockets.ts'
import { comparisonTable, constantSettings, inlineTable, latencyTable, throughputTable } from './page/tables.ts'
import { trafficHeadline, trafficSections } from './page/traffic.ts'
import { distributions } from './plots/distributions.ts'
import { inlineChart, inlinePairs } from './plots/inline.ts'
import { horizontalSetting, medianCharts } from './plots/medians.ts'
import { throughputCharts } from './plots/throughput.ts'
import type { PlotSettings, Setting } from './results.ts'
import {
  type AlgorithmEntry,
  type CollectiveEntry,
  compareSettings,
  type Entry,
  type LatencyEntry,
  type NodeEntry,
  type SocketEntry,
  settingNames,
  settingOf,
  type ThroughputEntry,
  type TimedEntry,
  type TrafficEntry,
} from './settings.ts'

export interface ReportOptions {
  /** Setting on the horizontal axis of the median chart, instead of the one in plot.json. */
  over?: string
  /** Settings that distinguish the lines of the median chart, instead of those in plot.json; empty: all that vary. */
  lines?: string[]
  /** Limits of the histograms in nanoseconds, instead of those in plot.json. */
  rangeNs?: [number, number]
  /** Title of the page. */
  title?: string
}

export interface Report {
  /** Page that needs no other file. */
  html: string
  /** Charts as files of their own, by name without ending. */
  svgs: Map<string, string>
  /** Notes for the reader: interrupted runs, sets with errors, raw timestamps that could not be read. They are also on the page. */
  notes: string[]
}

/**
 * Makes the report of saved results. With several directories their sets are compared, distinguished by the directory's
 * name; plot.json is that of the first.
 *
 * The chart library is loaded here and nowhere else.
 *
 * @throws ReportError for results that cannot be read (see loadResults), and ERR_REPORT_OPTION for an option that fits none of them
 */
export async function renderReport(dirs: readonly string[], options: ReportOptions = {}): Promise<Report> {
  const runs = distinctLabels(dirs.map((dir) => loadResults(dir)))
  const [first] = runs
  if (!first) throw new ReportError('ERR_REPORT_OPTION', 'no directory was given; name at least one with results')
  const plot = plotSettings(first.plot, options)
  const latency: LatencyEntry[] = []
  const throughput: ThroughputEntry[] = []
  const sockets: SocketEntry[] = []
  const nodes: NodeEntry[] = []
  const traffic: TrafficEntry[] = []
  const collective: CollectiveEntry[] = []
  const algorithms: AlgorithmEntry[] = []
  for (const run of runs) {
    if (run.results.tool === 'latency') latency.push(...run.results.sets.map((set) => ({ run, set })))
    else if (run.results.tool === 'rsocket') sockets.push(...run.results.sets.map((set) => ({ run, set })))
    else if (run.results.tool === 'node') nodes.push(...run.results.sets.map((set) => ({ run, set })))
    else if (run.results.tool === 'traffic') traffic.push(...run.results.sets.map((set) => ({ run, set })))
    else if (run.results.tool === 'collective') collective.push(...run.results.sets.map((set) => ({ run, set })))
    else if (run.results.tool === 'algorithms') algorithms.push(...run.results.sets.map((set) => ({ run, set })))
    else throughput.push(...run.results.sets.map((set) => ({ run, set })))
  }
  const { renderSvg, standalone } = await import('./charts/svg.ts')
  const svgs = new Map<string, string>()
  const keep = (name: string, svg: string, later = false): string => {
    svgs.set(name, standalone(svg))
    return later ? laterFigure(name) : figure(svg, name)
  }
  const data: PageData = {
    charts: [],
    surfaces: [],
    settings: choices([...latency, ...throughput, ...sockets, ...nodes, ...traffic, ...collective, ...algorithms]),
  }
  const draw: Draw = (charts, later) =>
    charts
      .map((spec) => {
        data.charts.push(spec)
        return keep(spec.name, renderSvg(chartOf(spec)), later)
      })
      .join('\n')

  const drawSurfaces = (specs: readonly SurfaceSpec[]): string =>
    specs
      .map((spec) => {
        data.surfaces.push(spec)
        return keep(spec.name, surfacePicture(spec).svg)
      })
      .join('\n')

  const disturbed = disturbances(runs)
  const notes = runNotes(runs)
  const sections: string[] = []
  if (latency.length > 0) sections.push(...latencySections(latency, plot, options, draw, notes))
  if (throughput.length > 0) sections.push(...throughputSections(throughput, plot, draw))
  if (sockets.length > 0) sections.push(...socketSections(sockets, runs, plot, draw, keep, notes))
  if (nodes.length > 0) {
    const over = options.over === undefined ? undefined : overSetting(nodes, plot, options)!
    sections.push(...nodeSections(nodes, plot, over, { charts: draw, surfaces: drawSurfaces }, notes))
  }
  if (traffic.length > 0) sections.push(...trafficSections(traffic, plot, draw, notes))
  if (collective.length > 0) sections.push(...collectiveSections(collective, plot, draw))
  if (algorithms.length > 0) sections.push(...algorithmSections(algorithms, plot, draw))
  const headlines = [
    ...(latency.length > 0 ? [latencyHeadline(latency)] : []),
    ...(throughput.length > 0 ? [throughputHeadline(throughput)] : []),
    ...(sockets.length > 0 ? [socketHeadline(sockets)] : []),
    ...(nodes.length > 0 ? [nodeHeadline(nodes)] : []),
    ...(traffic.length > 0 ? [trafficHeadline(traffic)] : []),
    ...(collective.length > 0 ? [collectiveHeadline(collective)] : []),
    ...(algorithms.length > 0 ? [algorithmHeadline(algorithms)] : []),
  ]
  const name = runs.map((run) => run.label).join(' and ')
  const title = options.title ?? (runs.length > 1 ? `Comparison of ${name}` : `Report of ${name}`)
  const facts = runs.map((run) => factsHtml(run, runs.length > 1))
  const empty = headlines.length === 0 ? '<p class="headline">No set was measured.</p>' : ''
  const body = [
    `<h1>${escapeHtml(title)}</h1>`,
    ...headlines.map((headline, index) => headlineHtml(headline, index === 0 ? disturbed : [])),
    empty,
    notesHtml(notes),
    ...sections,
    section('machine', runs.length > 1 ? 'Machines and versions' : 'Machine and versions', ...facts),
  ]
  const html = page(title, body.filter((part) => part !== '').join('\n'), { data, code: pageScript('report-page.js') })
  return { html, svgs, notes: [...disturbed, ...notes] }
}

/**
 * Writes report.html and each chart as NAME.svg into a directory, which is created.
 *
 * @returns the paths of all files, report.html first
 */
export async function writeReport(
  dirs: readonly string[],
  outDir: string,
  options: ReportOptions = {},
): Promise<string[]> {
  const { html, svgs } = await renderReport(dirs, options)
  mkdirSync(outDir, { recursive: true })
  const files = new Map([['report.html', html], ...[...svgs].map(([name, svg]) => [`${name}.svg`, svg] as const)])
  return [...files].map(([name, text]) => {
    const path = join(outDir, name)
    writeFileSync(path, text)
    return path
  })
}

/** Draws charts; `later`: without the still pictures. */
type Draw = (charts: readonly ChartSpec[], later?: boolean) => string

/** Number of sets above which folded pictures would make the page several megabytes large. */
const MOST_STILL = 48

/** Returns the settings by which a reader may choose sets. */
function choices(entries: readonly Entry[]): Record<string, Setting[]> {
  const keys = settingNames(entries).varying.filter((key) => key !== 'repeat')
  const valuesOf = (key: string): Setting[] =>
    [...new Set(entries.flatMap((entry) => settingOf(entry, key) ?? []))].sort(compareSettings)
  return Object.fromEntries(keys.map((key) => [key, valuesOf(key)] as const).filter(([, values]) => values.length > 1))
}

function latencySections(
  entries: LatencyEntry[],
  plot: PlotSettings,
  options: ReportOptions,
  draw: Draw,
  notes: string[],
): string[] {
  const drawn = distributions(entries, plot)
  notes.push(...drawn.notes)
  const over = overSetting(entries, plot, options)
  const pairs = inlinePairs(entries)
  const [low, high] = plot.histogram.range
  const range = `All pictures show ${formatNsTick(low)} to ${formatNsTick(high)} unless they say otherwise; the box says what lies beyond. The red lines are the medians.`
  return [
    section(
      'medians',
      'Medians',
      over === null ? '' : draw(medianCharts(entries, over, plot)),
      comparisonSection(entries),
    ),
    section(
      'distributions',
      'Distributions',
      drawn.main.length > 0 ? `<p class="faint">${range}</p>` : '',
      draw(drawn.main),
      draw(drawn.zoomed),
      folded(`Histograms of all ${entries.length} sets`, draw(drawn.all, entries.length > MOST_STILL)),
    ),
    pairs.length === 0
      ? ''
      : section(
          'delta-inline',
          'Δ inline: what sending inline would save',
          INLINE_TEXT,
          inlineTable(pairs),
          draw([inlineChart(pairs, plot)]),
        ),
    section(
      'sets',
      'All sets',
      '<p class="faint">Latencies in nanoseconds. Press a heading to sort.</p>',
      constantSettings(entries),
      latencyTable(entries),
    ),
  ]
}

const INLINE_TEXT = `<p>t<sub>lat</sub> is t<sub>recv</sub> − t<sub>subm</sub>. With the timestamp taken when the adapter
copies the data (<b>stamp send</b>) instead of before the work request is posted (<b>stamp submit</b>), the same message
shows a smaller latency: median(send) − median(submit) is negative, and its size, <b>Δt<sub>inline</sub> ≈ median(submit) −
median(send)</b>, is about the time that is saved when the data travels inside the work request. Nanoseconds.</p>`

function comparisonSection(entries: LatencyEntry[]): string {
  if (new Set(entries.map((entry) => entry.run.label)).size < 2) return ''
  const rows = comparisonTable(entries, (entry) => entry.set.lat.median, 'comparison')
  return rows === '' ? '' : `<h3>The runs side by side</h3>\n<p class="faint">Median latency, ns.</p>\n${rows}`
}

function throughputSections(entries: ThroughputEntry[], plot: PlotSettings, draw: Draw): string[] {
  const several = new Set(entries.map((entry) => entry.run.label)).size > 1
  const rows = several ? comparisonTable(entries, (entry) => entry.set.messagesPerSecond, 'throughput-comparison') : ''
  return [
    section(
      'throughput',
      'Throughput',
      draw(throughputCharts(entries, plot)),
      rows === '' ? '' : `<h3>The runs side by side</h3>\n<p class="faint">Messages/s.</p>\n${rows}`,
    ),
    section(
      'throughput-table',
      'All throughput sets',
      '<p class="faint">Press a heading to sort.</p>',
      constantSettings(entries),
      throughputTable(entries),
    ),
  ]
}

/** Returns the setting on the horizontal axis: one that the caller requested must exist; one from plot.json may be missing. */
function overSetting(entries: TimedEntry[], plot: PlotSettings, options: ReportOptions): string | null {
  if (options.over === undefined) return horizontalSetting(entries, plot.medians.over)
  const { varying } = settingNames(entries)
  if (varying.includes(options.over)) return options.over
  const known = varying.length > 0 ? `these vary: ${varying.join(', ')}` : 'no setting varies in these results'
  throw new ReportError('ERR_REPORT_OPTION', `medians over "${options.over}" cannot be drawn; ${known}`)
}

function plotSettings(plot: PlotSettings, options: ReportOptions): PlotSettings {
  const range = options.rangeNs ?? plot.histogram.range
  if (!(range[0] >= 0 && range[0] < range[1] && Number.isFinite(range[1]))) {
    throw new ReportError(
      'ERR_REPORT_OPTION',
      `histograms from ${range[0]} to ${range[1]} ns cannot be drawn; give the lower limit first`,
    )
  }
  return {
    ...plot,
    histogram: { ...plot.histogram, range },
    medians: { ...plot.medians, lines: options.lines ?? plot.medians.lines },
  }
}

/** Distinguishes two directories of one name (a/run and b/run) by their whole paths. */
function distinctLabels(runs: LoadedRun[]): LoadedRun[] {
  const twice = new Set(runs.map((run) => run.label).filter((label, index, all) => all.indexOf(label) !== index))
  return runs.map((run) => (twice.has(run.label) ? { ...run, label: run.dir } : run))
}
