/** Report of one run or comparison of several: everything from saved results, nothing measured again. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageScript } from '../web/index.ts'
import type { PageData } from './browser/data.ts'
import { chartOf } from './charts/index.ts'
import { surfacePicture } from './charts/surface.ts'
import { ReportError } from './errors.ts'
import { escapeHtml } from './format.ts'
import { type LoadedRun, loadResults } from './load.ts'
import type { Headline } from './page/headline.ts'
import {
  disturbances,
  factsHtml,
  figure,
  headlineHtml,
  laterFigure,
  notesHtml,
  page,
  runNotes,
  section,
} from './page/page.ts'
import { horizontalSetting } from './plots/medians.ts'
import type { PlotSettings, ResultsOf, Setting } from './results.ts'
import type { Canvas, ReportSection } from './section.ts'
import { sections } from './sections/registry.ts'
import { compareSettings, type Entry, settingNames, settingOf } from './settings.ts'

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
  const measured = (sections as readonly ReportSection<ResultsOf>[]).flatMap((part) => {
    const own = runs.filter(({ results }) => results.tool === part.tool)
    const entries = own.flatMap((run) => run.results.sets.map((set): Entry => ({ run, set })))
    return entries.length > 0 ? [{ part, entries }] : []
  })
  const { renderSvg, standalone } = await import('./charts/svg.ts')
  const svgs = new Map<string, string>()
  const keep = (name: string, svg: string, later = false): string => {
    svgs.set(name, standalone(svg))
    return later ? laterFigure(name) : figure(svg, name)
  }
  const data: PageData = { charts: [], surfaces: [], settings: choices(measured.flatMap(({ entries }) => entries)) }
  const disturbed = disturbances(runs)
  const notes = runNotes(runs)
  const canvas: Canvas = {
    ...{ plot, runs, notes },
    over: (entries) => overSetting(entries, plot, options),
    charts: (specs, later) => {
      data.charts.push(...specs)
      return specs.map((spec) => keep(spec.name, renderSvg(chartOf(spec)), later)).join('\n')
    },
    surfaces: (specs) => {
      data.surfaces.push(...specs)
      return specs.map((spec) => keep(spec.name, surfacePicture(spec).svg)).join('\n')
    },
    picture: keep,
  }
  const contents: string[] = []
  const headlines: Headline[] = []
  for (const { part, entries } of measured) {
    contents.push(...part.parts(entries, canvas))
    headlines.push(part.headline(entries))
  }
  const name = runs.map((run) => run.label).join(' and ')
  const title = options.title ?? (runs.length > 1 ? `Comparison of ${name}` : `Report of ${name}`)
  const facts = runs.map((run) => factsHtml(run, runs.length > 1))
  const empty = headlines.length === 0 ? '<p class="headline">No set was measured.</p>' : ''
  const body = [
    `<h1>${escapeHtml(title)}</h1>`,
    ...headlines.map((headline, index) => headlineHtml(headline, index === 0 ? disturbed : [])),
    empty,
    notesHtml(notes),
    ...contents,
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

/** Returns the settings by which a reader may choose sets. */
function choices(entries: readonly Entry[]): Record<string, Setting[]> {
  const keys = settingNames(entries).varying.filter((key) => key !== 'repeat')
  const valuesOf = (key: string): Setting[] =>
    [...new Set(entries.flatMap((entry) => settingOf(entry, key) ?? []))].sort(compareSettings)
  return Object.fromEntries(keys.map((key) => [key, valuesOf(key)] as const).filter(([, values]) => values.length > 1))
}

/** Returns the setting on the horizontal axis: one that the caller requested must exist; one from plot.json may be missing. */
function overSetting(entries: readonly Entry[], plot: PlotSettings, options: ReportOptions): string | null {
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
