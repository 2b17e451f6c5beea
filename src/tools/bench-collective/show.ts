/** The output of rank 0: a table, or one JSON document. */
import { paint, print, table } from '../../cli/terminal/index.ts'
import { type CollectiveResults, type CollectiveSet, formatShare, type Setting } from '../../report/index.ts'
import { settingText, varying } from '../bench-kit/index.ts'

/** Settings that each run of the document has. */
const always = ['transport', 'mode', 'measure', 'size', 'processes'] as const
/** Maximum number of rows; more are of no use at a terminal. */
const mostRows = 60

function extraSettings(sets: readonly CollectiveSet[]): string[] {
  const own = new Set(varying(sets.map(({ settings }) => settings)).filter((key) => !always.includes(key as 'size')))
  // The number of messages in a step belongs to the result, even if it is the same for all sets.
  if (sets.some(({ settings }) => settings.posts !== undefined)) own.add('posts')
  return [...own]
}

/** Returns the document that `--json` prints. */
export function collectiveDocument(results: CollectiveResults): object {
  const keys = [...always, ...extraSettings(results.sets)]
  const runs = results.sets.map(({ settings, time, mean, lost }) => ({
    settings: Object.fromEntries(keys.flatMap((key) => (key in settings ? [[key, settings[key] as Setting]] : []))),
    time:
      time.count === 0
        ? null
        : {
            ...{ count: time.count, min: time.min, mean, median: time.median },
            ...{ p90: time.p90, p99: time.p99, max: time.max },
          },
    lost,
  }))
  return { runs, unit: results.unit }
}

export function showCollective({ sets }: CollectiveResults, outDir: string): void {
  const most = Math.max(...sets.map(({ settings }) => Number(settings.processes)))
  const shown = sets.length > mostRows ? sets.filter(({ settings }) => settings.processes === most) : sets
  const keys = [...always, ...extraSettings(sets)]
  const us = (ns: number, { count }: { count: number }): string => (count === 0 ? '–' : (ns / 1000).toFixed(2))
  const rows = shown.map(({ settings, time, mean, lost }) => [
    ...keys.map((key) => settingText(settings[key])),
    ...[time.min, mean, time.median, time.p90, time.p99, time.max].map((ns) => us(ns, time)),
    formatShare(lost),
  ])
  print(
    paint('bold', 'Times, µs') +
      paint('dim', ' (of a round trip: rank 0’s time by the number of remote processes; of a call: one of them)'),
  )
  print(table([...keys, 'best', 'mean', 'median', 'p90', 'p99', 'max', 'lost'], rows))
  if (shown.length < sets.length)
    print(paint('dim', `With ${most} remote processes; all ${sets.length} sets are in the results and the report.`))
  print(`\nResults: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}
