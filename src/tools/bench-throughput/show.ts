/** Runs a plan of throughput sets at the terminal: progress, then the table, or one JSON document. */

import { paint, print, table } from '../../cli/terminal/index.ts'
import { formatRate, middleSets, type ThroughputResults } from '../../report/index.ts'
import { measure, varying } from '../bench-kit/index.ts'
import { runThroughput, type ThroughputRun } from './run.ts'

/** Returns the exit code. */
export async function measureThroughput(run: Omit<ThroughputRun, 'command'>, json: boolean): Promise<number> {
  return await measure({
    ...{ outDir: run.outDir, json, plannedSets: run.plan.sets.length },
    run: (hooks) => runThroughput({ ...run, ...hooks }),
    describe: ({ settings }) => `${settings.technique}, ${settings.concurrent} outstanding`,
    ...{ document: throughputDocument, show },
  })
}

/** Returns the document that `--json` prints. */
function throughputDocument(results: ThroughputResults): object {
  return { runs: results.sets.map(({ id: _, ...set }) => set), unit: results.unit }
}

function show(results: ThroughputResults, outDir: string): void {
  const run = { label: '' }
  const entries = results.sets.map((set) => ({ run, set }))
  const sets = middleSets(entries, ({ set }) => set.messagesPerSecond).map(({ set }) => set)
  const repeats = Math.round(results.sets.length / Math.max(1, sets.length))
  const vary = varying(sets.map(({ settings }) => settings)).filter((key) => key !== 'qps' && key !== 'repeat')
  const keys = vary.length > 0 ? vary : ['technique', 'concurrent', 'size']
  const rows = sets.map(({ settings, messagesPerSecond, bytesPerSecond }) => [
    ...keys.map((key) => String(settings[key] ?? '–')),
    formatRate(messagesPerSecond),
    formatRate(bytesPerSecond),
  ])
  print(
    paint('bold', 'Echo throughput') +
      paint('dim', ` (one direction${repeats > 1 ? `; of ${repeats} repetitions the middle one` : ''})`),
  )
  if (rows.length > 0) print(table([...keys, 'messages/s', 'bytes/s'], rows))
  print(`\nResults: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}
