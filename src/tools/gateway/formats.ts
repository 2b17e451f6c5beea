/** Formats and signals as options, and reports of problems in the input. */
import { note } from '../../cli/terminal/index.ts'
import {
  describeProblem,
  type Format,
  formatOf,
  GatewayError,
  type Problems,
  type Settings,
  type Signal,
  signalsOf,
} from '../../gateway/index.ts'
import { UsageError } from '../kit/index.ts'

/** Parses a format given by its name, or by its settings as JSON. */
export function parseFormat(flag: string, text: string): Format {
  return usable(flag, () => formatOf(formatSettings(flag, text)))
}

/** Returns the setting `format` of a configuration for a name, or for settings as JSON. */
export function formatSettings(flag: string, text: string): string | Settings {
  if (!text.trimStart().startsWith('{')) return text
  try {
    return JSON.parse(text) as Settings
  } catch (error) {
    const example = `for example: ${flag} '{"type":"csv","separator":";"}'`
    throw new UsageError(flag, `the settings are no JSON: ${(error as Error).message}. Expected an object, ${example}`)
  }
}

/** Runs `make` on an option's value; a GatewayError becomes a usage error. */
export function usable<T>(flag: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw error instanceof GatewayError ? new UsageError(flag, error.message) : error
  }
}

export function parseSignals(flag: string, text: string): Signal[] {
  return usable(flag, () => signalsOf(text))
}

/** Prints the problems. `input`: name of the input, at the beginning of a sentence. */
export function describeProblems(input: string, { count, first, surplus }: Problems, signals: readonly Signal[]): void {
  if (count > 0) {
    note(`${input} is malformed in ${count === 1 ? 'one place' : `${count} places`}:`)
    for (const problem of first) note(`  ${describeProblem(problem)}`)
    if (count > first.length) note(`  … and ${count - first.length} more`)
  }
  if (surplus > 0)
    note(
      `${surplus === 1 ? 'One sample has' : `${surplus} samples have`} more than ${signals.length} values; the others were dropped. See --types.`,
    )
}
