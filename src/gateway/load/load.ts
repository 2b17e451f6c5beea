/** Reads a configuration of files: libconfig, JSON or YAML, included files, variables of the environment. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import {
  Budget,
  expand,
  type GatewayConfig,
  GatewayError,
  isGroup,
  type KnownUuids,
  type Notice,
  type PlaceOf,
  Places,
  parseJson,
  parseLibconfig,
  readGateway,
  refuseText,
  type Settings,
  type SourceText,
} from '../index.ts'
import { filesOf } from './include.ts'
import { parseYaml } from './yaml.ts'

export interface LoadedConfig {
  /** Configuration as far as it was understood; complete if there are no errors. */
  readonly config: GatewayConfig
  readonly placeOf: PlaceOf
  /** Errors, each with file, line and key. */
  readonly errors: readonly GatewayError[]
  /** Notices of settings that have no effect, or a different one from what they state. */
  readonly notices: readonly Notice[]
  /** All files that were read, the configuration first. */
  readonly files: readonly string[]
}

/**
 * Reads a configuration. Throws a `GatewayError` if it cannot be read at all; errors of single settings are in `errors`. `environment`:
 * variables for `${NAME}`.
 */
export function loadConfig(path: string, environment: Readonly<Record<string, string | undefined>>): LoadedConfig {
  return loadText({ name: path, text: read(path, path) }, environment)
}

/** Reads a text that came otherwise, for example through standard input; `name` stands for its path in messages. */
export function loadText(source: SourceText, environment: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const loader = new Loader(source, environment)
  const settings = loader.settings()
  return { ...checkSettings(settings, loader.places.of), files: loader.files }
}

/** Checks settings that came otherwise, for example through the API: nothing in them is included or replaced. */
export function checkSettings(
  settings: Settings,
  placeOf: PlaceOf = () => undefined,
  known?: KnownUuids,
): Omit<LoadedConfig, 'files'> {
  const errors: GatewayError[] = []
  const notices: Notice[] = []
  const config = readGateway({ placeOf, uuidOf, errors, notices, ...(known && { known }) }, settings)
  return { config, placeOf, errors, notices }
}

class Loader {
  readonly places: Places = new Places()
  readonly files: string[] = []
  readonly #budget = new Budget()
  readonly #source: SourceText
  readonly #environment: Readonly<Record<string, string | undefined>>

  constructor(source: SourceText, environment: Readonly<Record<string, string | undefined>>) {
    this.#source = source
    this.#environment = environment
  }

  settings(): Settings {
    const settings = this.#parse(this.#source, this.#source.name)
    if (!isGroup(settings))
      refuseText(this.#source.name, 'a configuration is a group of settings, such as nodes and paths')
    return settings
  }

  /** Parses a file. `place`: of the setting that includes it. */
  #parse(source: SourceText, place: string): unknown {
    this.files.push(source.name)
    const { places } = this
    const kind = kindOf(source)
    // The scanner of libconfig takes from the budget itself, as it includes files.
    if (kind !== 'libconfig') this.#budget.take(source, place)
    const value =
      kind === 'json'
        ? parseJson(source, places)
        : kind === 'yaml'
          ? parseYaml(source, places)
          : parseLibconfig(source, places, (pattern, from, at) => this.#include(pattern, from, at), this.#budget)
    if (Array.isArray(value) || isGroup(value))
      expand(value, {
        places,
        variable: (name) => this.#environment[name],
        include: (pattern, at) =>
          this.#files(pattern, source.name, at).map((file) => this.#parse({ name: file, text: read(file, at) }, at)),
      })
    return value
  }

  #include(pattern: string, from: string, place: string): SourceText[] {
    const whole = pattern.replace(/\$\{([^}$]+)\}/g, (_, name: string) => {
      return this.#environment[name] ?? refuseText(place, `the environment has no variable ${name}`)
    })
    const files = this.#files(whole, from, place)
    this.files.push(...files)
    return files.map((file) => ({ name: file, text: read(file, place) }))
  }

  /** Returns the files of an include. As in VILLASnode, they are beside the configuration; or else beside the file that includes. */
  #files(pattern: string, from: string, place: string): string[] {
    return filesOf(pattern, [dirname(this.#source.name), dirname(from)], place)
  }
}

/** Returns the kind of a text, by the extension of its name, else by its beginning: JSON begins with a brace. */
function kindOf({ name, text }: SourceText): 'libconfig' | 'json' | 'yaml' {
  switch (extname(name).toLowerCase()) {
    case '.json':
      return 'json'
    case '.yaml':
    case '.yml':
      return 'yaml'
    case '.conf':
    case '.cfg':
      return 'libconfig'
    default:
      return /^\s*[{[]/.test(text) ? 'json' : /^(\s*#[^\n]*\n)*(%YAML|---)/.test(text) ? 'yaml' : 'libconfig'
  }
}

function read(path: string, place: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'this is a folder' : (error as Error).message
    const where = place === path ? '' : `${place}: `
    throw new GatewayError('ERR_GATEWAY_CONFIGURATION', `${where}${path}: ${why}`)
  }
}

/** Returns the MD5 of both, from which VILLASnode makes the UUIDs of its nodes. */
function uuidOf(space: string, text: string): string {
  const hex = createHash('md5').update(space).update(text).digest('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
