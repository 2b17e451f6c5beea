/** Options, Ctrl-C handling and exit of the commands on rsockets. */

import {
  currentRun,
  exitCodes,
  interruptible,
  print,
  printFailure,
  printJson,
  printPart,
} from '../../cli/terminal/index.ts'
import { PeerError, parseInteger, wrongValue } from '../kit/index.ts'
import { runTool, type Tool } from './run.ts'
import type { CommonResult, Notice } from './settings.ts'

/** Parses letters and words of `-T`, which may be given several times. */
export function testOptions<K extends string>(given: readonly string[] | undefined, known: readonly K[]): Set<K> {
  const chosen = new Set<K>()
  for (const text of given ?? []) {
    const lower = text.toLowerCase()
    const found = known.find((name) => (text.length === 1 ? name[0] === lower : name.startsWith(lower)))
    if (found === undefined || lower === '')
      throw wrongValue('-T', text, known.map((name) => `${name[0]} or ${name}`).join(', '))
    chosen.add(found)
  }
  return chosen
}

export function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text]
}

export function portOf(text: string | undefined, fallback: number): number {
  return parseInteger('-p', text, fallback, 1, 65535)
}

/** Runs a program to its end; returns the exit code. With `--json` only the result is printed. */
export async function runRsTool(
  tool: Tool,
  settings: object,
  role: CommonResult['role'],
  json: boolean,
): Promise<number> {
  const output = currentRun().io
  const interruption = interruptible('Stopping. Once more ends at once.')
  const show = ({ line, part, error }: Notice): void => {
    if (json) return
    if (line !== undefined) print(line)
    if (part !== undefined) printPart(part)
    if (error !== undefined) output.stderr.write(`${error}\n`)
  }
  try {
    const result = await runTool(tool, settings, role, { show, signal: interruption.signal })
    if (json) printJson(result)
    const interrupted = interruption.exitCode()
    if (interrupted !== undefined) return interrupted
    if (result.failure === undefined) return exitCodes.done
    printFailure(result.failure.message)
    return exitCodes.failed
  } catch (error) {
    // The error was thrown in the thread: its name and code there determine how it is reported.
    if (!(error instanceof PeerError) || error.thrown === null) throw error
    throw Object.assign(new Error(error.message), error.thrown)
  } finally {
    interruption.dispose()
  }
}
