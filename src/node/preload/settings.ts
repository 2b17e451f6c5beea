/**
 * The settings of the preload, from the environment and a file:
 *
 *     VERBENA_PRELOAD              rules, separated by commas; they come before the file's
 *     VERBENA_PRELOAD_FILE         a file of rules, one a line
 *     VERBENA_DEVICE               the device of rules that name none
 *     VERBENA_PRELOAD_FALLBACK     tcp (a peer without RDMA is reached over TCP) or none
 *     VERBENA_PRELOAD_TIMEOUT_MS   how long a peer may take to answer over RDMA before TCP is tried as well: 250
 *     VERBENA_PRELOAD_LOG          1: a line on standard error for every connection and what became of it
 */
import { readFileSync } from 'node:fs'
import { fitsProgram, parseRules, type Rule, readTimeout } from './rules.ts'

export interface Settings {
  rules: Rule[]
  timeoutMs: number
  log: boolean
}

/** Timeout of Node's between the addresses of one name. */
const defaultTimeoutMs = 250

const names = [
  'VERBENA_PRELOAD',
  'VERBENA_PRELOAD_FILE',
  'VERBENA_PRELOAD_FALLBACK',
  'VERBENA_PRELOAD_TIMEOUT_MS',
  'VERBENA_PRELOAD_LOG',
]

/** Error in the settings, in one line. */
export class SettingsError extends Error {}

/** Reads the settings; throws a SettingsError. `program` is the file that Node was started with. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>, program: string): Settings {
  const unknown = Object.keys(environment).find((name) => name.startsWith('VERBENA_PRELOAD') && !names.includes(name))
  if (unknown) throw new SettingsError(`${unknown} is not a setting of the preload; there are ${names.join(', ')}`)
  const {
    VERBENA_PRELOAD_FILE: file,
    VERBENA_PRELOAD_FALLBACK: fallback,
    VERBENA_PRELOAD_TIMEOUT_MS: timeout,
  } = environment
  const rules = [...rulesFrom('VERBENA_PRELOAD', environment.VERBENA_PRELOAD ?? ''), ...(file ? rulesOf(file) : [])]
  if (fallback && fallback !== 'tcp' && fallback !== 'none')
    throw new SettingsError(`VERBENA_PRELOAD_FALLBACK is "${fallback}": give tcp or none`)
  if (fallback === 'none') for (const rule of rules) if (rule.transport === 'rdma') rule.transport = 'rdma-only'
  return {
    rules: rules.filter((rule) => fitsProgram(rule, program)),
    timeoutMs: timeout
      ? readTimeout(timeout, (why) => new SettingsError(`VERBENA_PRELOAD_TIMEOUT_MS ${why}`))
      : defaultTimeoutMs,
    log: !['', '0', undefined].includes(environment.VERBENA_PRELOAD_LOG),
  }
}

function rulesOf(file: string): Rule[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new SettingsError(`VERBENA_PRELOAD_FILE: ${(error as Error).message}`)
  }
  return rulesFrom(file, text)
}

function rulesFrom(source: string, text: string): Rule[] {
  try {
    return parseRules(text)
  } catch (error) {
    throw new SettingsError(`${source}: ${(error as Error).message}`)
  }
}
