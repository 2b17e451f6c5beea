/** Saved results in a directory: run.json and plot.json. For the raw timestamps see csv.ts. */

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { z } from 'zod'
import { type Issue, issueText } from '../spelling/index.ts'
import type { TrafficRecord } from '../traffic/index.ts'
import { ReportError } from './errors.ts'
import { defaultPlotSettings } from './plot-settings.ts'
import type { FlameNode, PlotSettings, Results } from './results.ts'
import { flameSchema, plotSchema, resultsSchema } from './schema.ts'
import { trafficRecordSchema } from './traffic-schema.ts'

export interface LoadedRun {
  /** Directory, as it was given. */
  dir: string
  /** Name of the directory, which distinguishes runs in a comparison. */
  label: string
  results: Results
  plot: PlotSettings
}

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

/** Returns the path of an end's call tree. */
function flamePath(dir: string, id: string, end: string): string {
  return join(dir, `${id}-${end}.flame.json`)
}

export function saveFlame(dir: string, id: string, end: string, root: FlameNode): void {
  replaceFile(flamePath(dir, id, end), `${JSON.stringify(root)}\n`)
}

/** @throws ReportError as loadResults does */
export function loadFlame(dir: string, id: string, end: string): FlameNode {
  return readJson(flamePath(dir, id, end), flameSchema, 'measure again, or delete the file to do without its picture')
}

function trafficPath(dir: string, id: string): string {
  return join(dir, `${id}.traffic.json`)
}

export function saveTrafficRecord(dir: string, id: string, record: TrafficRecord): void {
  mkdirSync(dir, { recursive: true })
  replaceFile(trafficPath(dir, id), `${JSON.stringify(record)}\n`)
}

/** @throws ReportError as loadResults does */
export function loadTrafficRecord(dir: string, id: string): TrafficRecord {
  return readJson(trafficPath(dir, id), trafficRecordSchema, 'send the traffic again, or restore the file')
}

/**
 * Writes run.json, and plot.json when `plot` is given or the directory has none: a plot.json that a person edited stays. Creates the
 * directory. Each file is replaced as a whole, so that a run that is saved after every set can be killed.
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
}

/** Replaces a file: the old one stays until the new one is on the disk, whatever stops in between; several processes do not mix theirs. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.new`
  try {
    writeFileSync(temporary, text, { flag: 'wx', flush: true })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function readJson<T>(path: string, schema: z.ZodType<T>, advice: string): T {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ReportError('ERR_REPORT_NO_RESULTS', `${path}: ${(cause as Error).message}`, { cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = (cause as Error).message
    throw new ReportError('ERR_REPORT_JSON', `${path}: not valid JSON (${why}); ${advice}`, { cause })
  }
  return check(path, schema, value, advice)
}

/** Number of problems that are shown, each with its path in the document: a damaged file has hundreds, too many to read. */
const PROBLEMS_SHOWN = 3

function check<T>(path: string, schema: z.ZodType<T>, value: unknown, advice: string): T {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const shown = issues.slice(0, PROBLEMS_SHOWN).map((issue) => `${pathText(issue.path)}: ${issueText(issue as Issue)}`)
  const more = issues.length > PROBLEMS_SHOWN ? ` (and ${issues.length - PROBLEMS_SHOWN} more)` : ''
  throw new ReportError('ERR_REPORT_SCHEMA', `${path}: ${shown.join('; ')}${more}; ${advice}`, { cause: parsed.error })
}

/** Formats a path: `sets[3].lat.median`. */
function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) text += typeof key === 'number' ? `[${key}]` : `${text ? '.' : ''}${String(key)}`
  return text || 'the document'
}
