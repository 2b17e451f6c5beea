/** Runs a plan of throughput sets at the terminal: progress, then the table, or one JSON document. */
import { Progress, runThroughput, type ThroughputRun, varying } from '../bench/index.ts'
import { formatRate, type ThroughputResults } from '../report/index.ts'
import { exitCodes } from './failure.ts'
import { interruptible } from './interrupt.ts'
import { note, paint, print, table } from './output.ts'

/** The exit code. */
export async function measureThroughput(run: Omit<ThroughputRun, 'command'>, json: boolean): Promise<number> {
  const interruption = interruptible()
  const progress = new Progress(run.plan.sets.length)
  const notes = new Set<string>()
  let results: ThroughputResults
  try {
    results = await runThroughput({
      ...run,
      command: ['verbena', ...process.argv.slice(2)],
      signal: interruption.signal,
      onSet: ({ settings }, measured) =>
        progress.update(measured, `${settings.technique}, ${settings.concurrent} under way`),
      onNote: (text) => notes.add(text),
    })
  } finally {
    progress.stop()
    interruption.dispose()
  }
  for (const text of notes) note(text)
  if (json) process.stdout.write(`${JSON.stringify(throughputDocument(results))}\n`)
  else show(results, run.outDir)
  for (const { id, error } of results.sets) if (error && error !== 'interrupted') note(`set ${id}: ${error}`)
  if (interruption.exitCode() !== undefined) {
    note(`interrupted after ${results.sets.length} of ${run.plan.sets.length} sets; they are in ${run.outDir}`)
    return interruption.exitCode()!
  }
  return results.sets.some((set) => set.error !== undefined) ? exitCodes.failed : exitCodes.done
}

/** What --json prints. */
export function throughputDocument(results: ThroughputResults): object {
  return { runs: results.sets.map(({ id: _, ...set }) => set), unit: results.unit }
}

function show({ sets }: ThroughputResults, outDir: string): void {
  const vary = varying(sets.map(({ settings }) => settings)).filter((key) => key !== 'qps')
  const keys = vary.length > 0 ? vary : ['technique', 'concurrent', 'size']
  const rows = sets.map(({ settings, messagesPerSecond, bytesPerSecond }) => [
    ...keys.map((key) => String(settings[key] ?? '–')),
    formatRate(messagesPerSecond),
    formatRate(bytesPerSecond),
  ])
  print(paint('bold', 'Echo throughput') + paint('dim', ' (one direction)'))
  if (rows.length > 0) print(table([...keys, 'messages/s', 'bytes/s'], rows))
  print(`\nResults: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}
