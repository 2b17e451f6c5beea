/** Saved results in a directory: run.json and plot.json. For the raw timestamps see csv.ts. */

import { existsSync, mkdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { ReportError } from './errors.ts'
import { check, readJson, replaceFile } from './json-files.ts'
import { defaultPlotSettings } from './plot-settings.ts'
import type { PlotSettings, ResultsOf, Run, Setting } from './results.ts'
import { plotSchema, resultsSchema } from './schema.ts'
import type { ReportSection } from './section.ts'
import { type Results, sections } from './sections/registry.ts'

export type LoadedRun = Run<Results>

/**
 * Reads and checks run.json and plot.json; without a plot.json the defaults are used.
 *
 * @throws ReportError ERR_REPORT_NO_RESULTS, ERR_REPORT_JSON or ERR_REPORT_SCHEMA, naming file, path and what was expected
 */
export function loadResults(dir: string): LoadedRun {
  const runPath = join(dir, 'run.json')
  if (!existsSync(runPath)) {
    const what = existsSync(dir) ? 'this directory has no run.json' : 'there is no such directory'
    throw new ReportError('ERR_REPORT_NO_RESULTS', `${dir}: ${what}; name a directory with saved results`)
  }
  const results = readJson(runPath, resultsSchema, 'measure again, or restore the file')
  const plotPath = join(dir, 'plot.json')
  const plot = existsSync(plotPath)
    ? readJson(plotPath, plotSchema, 'correct the file, or delete it to use the defaults')
    : defaultPlotSettings()
  return { dir, label: basename(resolve(dir)), results, plot }
}

/**
 * Writes run.json; plot.json when `plot` is given or the directory has none, since a person may have edited it; and sets.csv for tools
 * that have it. Creates the directory. Each file is replaced as a whole, so that a run that is saved after every set can be killed.
 *
 * @throws ReportError ERR_REPORT_SCHEMA when the results do not match the schema; nothing is written then
 */
export function saveResults(dir: string, results: Results, plot?: PlotSettings): void {
  const runPath = join(dir, 'run.json')
  const plotPath = join(dir, 'plot.json')
  const run = check(runPath, resultsSchema, results, 'nothing was written')
  const settings = check(plotPath, plotSchema, plot ?? defaultPlotSettings(), 'nothing was written')
  mkdirSync(dir, { recursive: true })
  replaceFile(runPath, `${JSON.stringify(run, null, 1)}\n`)
  if (plot || !existsSync(plotPath)) replaceFile(plotPath, `${JSON.stringify(settings, null, 2)}\n`)
  const { csv } = sectionOf(results)
  if (csv) replaceFile(join(dir, 'sets.csv'), csv(results))
}

/** Writes the first results of a run, and a plot.json as is usual for its tool and the settings that are to be measured. */
export function beginSaving(dir: string, results: Results, settings: readonly object[]): void {
  saveResults(dir, results, sectionOf(results).plot(settings as readonly Record<string, Setting>[]))
}

function sectionOf({ tool }: Results): ReportSection<ResultsOf> {
  return (sections as readonly ReportSection<ResultsOf>[]).find((section) => section.tool === tool)!
}
