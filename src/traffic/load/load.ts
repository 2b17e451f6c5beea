/** Loading of configurations and distributions from files. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import {
  Cdf,
  type Interpolation,
  isTrafficGenerator,
  parseTrafficGenerator,
  presetCdf,
  type TrafficConfig,
  TrafficError,
} from '../index.ts'
import { checkShape, type Path, type Problem } from './problems.ts'
import { nearPreset, readSettings } from './read.ts'

/** Settings that replace those in the file. */
export type Overrides = Readonly<Record<string, unknown>>

/** Reads a configuration. Throws a `TrafficError` that lists all problems, each with file, line and key. */
export function loadTraffic(path: string, overrides: Overrides = {}): TrafficConfig {
  return readTraffic(readText(path), path, overrides)
}

/** Reads a configuration from a text; files that it names are searched for beside `path`, and then in the working directory. */
export function readTraffic(text: string, path: string, overrides: Overrides = {}): TrafficConfig {
  const { settings, lineOf } = isTrafficGenerator(text) ? fromText(text, path) : fromYaml(text, path)
  const checked = checkShape(overridden(settings, overrides))
  const problems: Problem[] = 'problems' in checked ? checked.problems : []
  // If the shape of some settings is wrong, the rest is still read, so that all mistakes are reported at once.
  const removed = 'problems' in checked ? problems.map(({ path: at }) => settingOf(at)) : []
  const sound = 'settings' in checked ? checked : checkShape(without(overridden(settings, overrides), removed))
  if ('settings' in sound) {
    const found: Problem[] = []
    const config = readSettings(sound.settings, contextOf(path), found)
    problems.push(...found.filter(({ path: at }) => !removed.some((gone) => gone.every((step, i) => step === at[i]))))
    if (problems.length === 0) return config
  }
  const lines = problems.map((problem) => {
    const key = problem.path.join('.')
    const given = typeof problem.path[0] === 'string' && problem.path[0] in overrides
    const line = given ? undefined : lineOf(problem.path)
    const place = given ? '' : line === undefined ? `${path}: ` : `${path}:${line}: `
    return `${place}${key === '' ? '' : `${key}: `}${problem.what}`
  })
  throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', lines.join('\n'))
}

export interface CdfOptions {
  /** Rule between rows; by default that of the preset, or linear. */
  interpolation?: Interpolation | undefined
  /** Bytes that 1 in the column of sizes of a file stands for (default 1). */
  unit?: number | undefined
  /** Path of the file that names it, beside which it is searched for first. */
  beside?: string | undefined
}

/** Returns the distribution of a preset, or of a file; a rule alone is the one between rows. Throws a `TrafficError`. */
export function loadCdf(name: string, options: CdfOptions | Interpolation = {}): Cdf {
  const { interpolation, unit, beside }: CdfOptions = typeof options === 'string' ? { interpolation: options } : options
  const preset = presetCdf(name)
  if (preset !== undefined && unit !== undefined)
    throw new TrafficError('ERR_TRAFFIC_CDF', `'${name}' is a preset, whose sizes are bytes: a unit is for files`)
  if (preset !== undefined)
    return interpolation === undefined ? preset : new Cdf(preset.name, preset.points, interpolation)
  const near = beside === undefined ? name : resolve(dirname(beside), name)
  let text: string
  try {
    text = readFileSync(near, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && beside !== undefined && near !== resolve(name))
      return loadCdf(name, { interpolation, unit })
    const why =
      code === 'ENOENT' ? `neither a preset nor a file.${nearPreset(name)}` : code === 'EISDIR' ? 'a folder' : message
    throw new TrafficError('ERR_TRAFFIC_CDF', `'${name}' is ${why}`)
  }
  return Cdf.parse(text, name, interpolation, unit)
}

/** Returns the setting that contains a path: a key of the whole, or of a phase. */
function settingOf(path: Path): Path {
  return path.slice(0, path[0] === 'phases' && path.length > 2 ? 3 : 1)
}

function without(settings: Parsed['settings'], removed: readonly Path[]): Parsed['settings'] {
  const rest = structuredClone(settings)
  for (const path of removed) {
    // The object that contains it may be removed as well.
    const holder = path.slice(0, -1).reduce<unknown>((at, step) => Object(at)[step], rest)
    if (holder !== undefined) delete (holder as Record<string, unknown>)[path.at(-1)!]
  }
  return rest
}

/** Returns the settings with the overrides, which replace the settings of all phases as well; but the duration is that of the whole. */
function overridden(settings: Parsed['settings'], overrides: Overrides): Parsed['settings'] {
  const replaced = new Set(Object.keys(overrides))
  // They exclude each other.
  if (replaced.has('load') || replaced.has('requests')) for (const key of ['load', 'requests']) replaced.add(key)
  const lacking = (group: object, kept: string): object =>
    Object.fromEntries(Object.entries(group).filter(([key]) => key === kept || !replaced.has(key)))
  const whole: Parsed['settings'] = { ...lacking(settings, ''), ...overrides }
  const { phases } = settings
  // A phase that is not a group is an error, which is reported later.
  const isGroup = (phase: unknown): phase is object =>
    typeof phase === 'object' && phase !== null && !Array.isArray(phase)
  if (Array.isArray(phases) && !replaced.has('phases'))
    whole.phases = phases.map((phase: unknown) => (isGroup(phase) ? lacking(phase, 'duration') : phase))
  return whole
}

function contextOf(path: string): Parameters<typeof readSettings>[1] {
  return {
    cdf: (name, options) => loadCdf(name, { ...options, beside: path }),
    points: (points, interpolation) => new Cdf('points', points, interpolation),
  }
}

interface Parsed {
  settings: Record<string, unknown>
  lineOf(path: Path): number | undefined
}

function fromText(text: string, name: string): Parsed {
  const { settings, lines } = parseTrafficGenerator(text, name)
  return {
    settings,
    lineOf: (path) => {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(path.slice(0, length).join('.'))
        if (line !== undefined) return line
      }
      return undefined
    },
  }
}

function fromYaml(text: string, name: string): Parsed {
  const counter = new LineCounter()
  const refuse = (line: number | undefined, what: string): never => {
    throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', `${name}${line === undefined ? '' : `:${line}`}: ${what}`)
  }
  let document: Document.Parsed
  let content: unknown
  try {
    document = parseDocument(text, { lineCounter: counter, prettyErrors: false, logLevel: 'silent' })
    const [error] = document.errors
    if (error === undefined) content = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    // The parser descends into nested collections until the stack ends, and rejects aliases without end.
    return refuse(undefined, `this is no YAML: ${(error as Error).message}`)
  }
  const [error] = document.errors
  if (error !== undefined && looksLikeFlows(text)) refuse(undefined, flowsText)
  if (error !== undefined) refuse(counter.linePos(error.pos[0]).line, error.message)
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return refuse(
      undefined,
      looksLikeFlows(text) ? flowsText : 'a configuration is a group of keys, such as servers and size',
    )
  return { settings: content as Record<string, unknown>, lineOf: (path) => lineIn(document, path, counter) }
}

const flowsText =
  'this looks like a list of flows, and none is taken: a configuration says which sizes, arrivals and servers there are (keys such as servers and size), and flows are drawn from it. Of a capture of the traffic, `verbena traffic fit` makes one'

/** True for lists of flows of ns-3 and its descendants (`3 1 3 100 20000 2.0`), of htsim (`3->1 start 0 size 20000`), and of --dry-run. */
function looksLikeFlows(text: string): boolean {
  const lines = text.split('\n', 20).filter((line) => line.trim() !== '')
  return lines.some((line) => /^\s*(\d+(\s+[\d.]+){4,}\s*$|\d+\s*->\s*\d+\s|\{"time":\d)/.test(line))
}

/** Returns the line of the key at a path, or of its nearest existing parent. */
function lineIn(document: Document.Parsed, path: Path, counter: LineCounter): number | undefined {
  let node: unknown = document.contents
  let line: number | undefined
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      if (pair === undefined) break
      line = counter.linePos((pair.key as { range?: [number] }).range?.[0] ?? 0).line
      node = pair.value
    } else if (typeof node === 'object' && node !== null && 'get' in node) {
      node = (node as { get(key: unknown, keep: boolean): unknown }).get(step, true)
      const range = (node as { range?: [number] } | undefined)?.range
      if (range === undefined) break
      line = counter.linePos(range[0]).line
    } else break
  }
  return line
}

/** Returns the text of a file, or of standard input if its name is '-'. Throws a `TrafficError`. */
function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'this is a folder' : message
    throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', `${path}: ${why}`)
  }
}
