/** `verbena monitor report` */
import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { endWith, exitCodes, note } from '../../cli/terminal/index.ts'
import { savedWindows } from '../../monitor/host/index.ts'
import { MonitorError, mergeWindow, type Window } from '../../monitor/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import { addViewOptions, keyHelp, Output, type OutputOptions } from './output.ts'

const help = `
Files are those of --save, of a monitor or a collector, with the same plan: windows of one time are merged, and then all of them, or those
of each --per seconds. What is said of a longer time has the bounds of all of it.
${keyHelp}

Examples:
  verbena monitor report windows
  verbena monitor report windows --per 60 --by hosts --json
  verbena monitor report windows --from 2026-11-23T10:00:00Z --to 2026-11-23T10:05:00Z`

interface Options extends OutputOptions {
  per?: string
  from?: string
  to?: string
}

export function configure(command: Command): void {
  addViewOptions(command)
    .description('Sum up saved windows: the largest keys, losses, latencies, and what was wrong.')
    .argument('<files...>', 'windows that were saved with --save')
    .option('--per <seconds>', 'a report for each time of this length (default: one for all)')
    .option('--from <time>', 'leave out windows before that, ISO 8601 (default: from the first)')
    .option('--to <time>', 'leave out windows from then on (default: to the last)')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      const output = new Output(options)
      const perMs = parseNumber('--per', options.per, Number.POSITIVE_INFINITY, 0.01, 1e9) * 1000
      const [fromMs, toMs] = [timeOf('--from', options.from, 0), timeOf('--to', options.to, Number.POSITIVE_INFINITY)]
      const times = new Map<number, Window>()
      let count = 0
      for (const file of files)
        readInto(file, (window) => {
          if (window.startMs < fromMs || window.startMs >= toMs) return
          count++
          put(times, Number.isFinite(perMs) ? Math.floor(window.startMs / perMs) : 0, window)
        })
      if (count === 0) note('There is no window of that time.')
      for (const [, window] of [...times].sort(([a], [b]) => a - b)) output.window(window)
      await output.close()
      endWith(exitCodes.done)
    })
}

function put(times: Map<number, Window>, time: number, window: Window): void {
  const known = times.get(time)
  if (known === undefined) times.set(time, window)
  else if (window.index >= known.index) mergeWindow(known, window)
  else {
    mergeWindow(window, known)
    times.set(time, window)
  }
}

function timeOf(flag: string, text: string | undefined, fallback: number): number {
  const ms = text === undefined ? fallback : Date.parse(text)
  if (!Number.isNaN(ms)) return ms
  throw new UsageError(flag, `'${text}' is no time. Expected for example: ${flag} 2026-11-23T10:00:00Z`)
}

function readInto(file: string, onWindow: (window: Window) => void): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new UsageError(file, 'there is no such file')
  try {
    for (const window of savedWindows(file)) onWindow(window)
  } catch (error) {
    if (error instanceof MonitorError) throw new UsageError(file, error.message)
    throw error
  }
}
