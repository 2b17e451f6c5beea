/** `verbena monitor report` */
import { statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { Command } from 'commander'
import { endWith, exitCodes, type Interruption, interruptible, note } from '../../cli/terminal/index.ts'
import { savedWindows } from '../../monitor/host/index.ts'
import { Merger, MonitorError, mergeWindow, type Window } from '../../monitor/index.ts'
import { parseNumber, UsageError, wrongValue } from '../kit/index.ts'
import { addViewOptions, keyHelp, Output, type OutputOptions } from './output.ts'
import { pageHelp } from './page.ts'

const help = `
Files are those of --save, of a monitor or a collector, with the same plan: windows of one time are merged, and then all of them, or those
of each --per seconds; with --page, each window by itself. Values for a longer time have the bounds for all of that time.
${keyHelp}
${pageHelp}

Examples:
  verbena monitor report windows
  verbena monitor report windows --per 60 --by hosts --json
  verbena monitor report windows --page
  verbena monitor report windows --from 2026-11-23T10:00:00Z --to 2026-11-23T10:05:00Z`

interface Options extends OutputOptions {
  per?: string
  from?: string
  to?: string
}

export function configure(command: Command): void {
  addViewOptions(command)
    .description('Sum up saved windows: the largest keys, losses, latencies, and anomalies.')
    .argument('<files...>', 'windows that were saved with --save')
    .option('--per <seconds>', 'a report for each time of this length (default: one for all)')
    .option('--from <time>', 'leave out windows before that, ISO 8601 (default: from the first)')
    .option('--to <time>', 'leave out windows from then on (default: to the last)')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      const output = new Output(options, true)
      const perMs = parseNumber('--per', options.per, Number.POSITIVE_INFINITY, 0.01, 1e9) * 1000
      const [fromMs, toMs] = [timeOf('--from', options.from, 0), timeOf('--to', options.to, Number.POSITIVE_INFINITY)]
      const isAsked = ({ startMs }: Window): boolean => startMs >= fromMs && startMs < toMs
      const stop = interruptible('')
      try {
        await output.start()
        if (options.page !== undefined && options.per === undefined) await showEach(files, output, isAsked, stop)
        else for (const window of summed(files, perMs, isAsked)) output.window(window)
        if (output.windows === 0) note('There is no window of that time.')
        await output.over(stop)
        await output.close()
        endWith(stop.exitCode() ?? exitCodes.done)
      } finally {
        await output.endPage()
        stop.dispose()
      }
    })
}

/** Shows windows one by one; those of the same time are merged. Only a few are in memory. */
async function showEach(
  files: readonly string[],
  output: Output,
  isAsked: (window: Window) => boolean,
  { signal }: Interruption,
): Promise<void> {
  const merger = new Merger({ onWindow: (window) => output.window(window), mostWaiting: Number.POSITIVE_INFINITY })
  const open = new Map(files.map((file) => [file, windowsIn(file)]))
  for (const file of open.keys()) merger.join(file)
  while (open.size > 0 && !signal.aborted)
    for (const [file, windows] of open) {
      // Files that have not reached this time are read first.
      if (merger.lead(file) > 0) continue
      const { value: window, done } = windows.next()
      if (done === true) {
        open.delete(file)
        merger.leave(file)
      } else if (isAsked(window)) of(file, () => merger.add(file, window))
      else merger.advance(file, window.index + 1)
      await output.flush()
      await setImmediate()
    }
  merger.flush()
}

/** Returns the merged windows: all together, or those of each period of this length. */
function summed(files: readonly string[], perMs: number, isAsked: (window: Window) => boolean): Window[] {
  const times = new Map<number, Window>()
  for (const file of files)
    for (const window of windowsIn(file))
      if (isAsked(window))
        of(file, () => put(times, Number.isFinite(perMs) ? Math.floor(window.startMs / perMs) : 0, window))
  return [...times].sort(([a], [b]) => a - b).map(([, window]) => window)
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
  throw wrongValue(flag, text, 'a time', '2026-11-23T10:00:00Z')
}

function* windowsIn(file: string): Generator<Window, void> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new UsageError(file, 'there is no such file')
  const windows = savedWindows(file)
  try {
    for (;;) {
      const { value, done } = of(file, () => windows.next())
      if (done === true) return
      yield value
    }
  } finally {
    windows.return(undefined)
  }
}

/** Runs `make` on a file; a MonitorError becomes a usage error. */
function of<T>(file: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof MonitorError) throw new UsageError(file, error.message)
    throw error
  }
}
