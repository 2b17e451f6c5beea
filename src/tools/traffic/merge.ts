/** `verbena traffic merge`: the results of several clients as one. */
import { existsSync, realpathSync } from 'node:fs'
import type { Command } from 'commander'
import { endWith, exitCodes, printJson } from '../../cli/terminal/index.ts'
import {
  type LoadedRun,
  loadResults,
  loadTrafficRecord,
  ReportError,
  type Setting,
  saveResults,
  saveTrafficRecord,
  type TrafficResults,
  type TrafficSet,
} from '../../report/index.ts'
import { mergeRecords } from '../../traffic/index.ts'
import { clearTimestamps, datedDirectory } from '../bench-kit/index.ts'
import { UsageError } from '../kit/index.ts'
import { setOf } from './results.ts'
import { documentOf, show } from './show.ts'

const help = `
Each client of one configuration runs with a number of its own (--client) and saves its results. Merged they are the results of one client
that had sent all requests: histograms add up, so percentiles are those of all requests. Each client counts from its own start.
Folders of different configurations, and two folders of the same client, are rejected.

Examples:
  verbena traffic merge results/a results/b --out results/both`

interface Options {
  out?: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Merge the results of several clients.')
    .argument('<dirs...>', 'folders that `verbena traffic client` wrote')
    .option('--out <dir>', 'where the merged results go (default: a dated folder under results/)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', help)
    .action((dirs: string[], { out, json }: Options) => {
      const outDir = out ?? datedDirectory('traffic')
      if (dirs.some((dir) => isSameDirectory(dir, outDir)))
        throw new UsageError('--out', `${outDir} has the results of a client that are merged: choose another folder`)
      const parts = dirs.flatMap(partsOf)
      const record = mergeRecords(parts)
      const [first] = parts as [Part, ...Part[]]
      const error = parts.find(({ set }) => set.error !== undefined)?.set.error
      const set = setOf(record, sharedSettings(parts), countedOf(parts), error)
      const results: TrafficResults = {
        ...first.results,
        command: ['verbena', 'traffic', 'merge', ...dirs],
        durationSeconds: Math.max(...parts.map((part) => part.results.durationSeconds)),
        complete: parts.every((part) => part.results.complete),
        sets: [set],
      }
      clearTimestamps(outDir)
      saveResults(outDir, results)
      saveTrafficRecord(outDir, set.id, record)
      if (json) printJson(documentOf(set))
      else show(set, outDir)
      endWith(exitCodes.done)
    })
}

function isSameDirectory(a: string, b: string): boolean {
  return existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b)
}

interface Part {
  name: string
  record: ReturnType<typeof loadTrafficRecord>
  results: TrafficResults
  set: TrafficSet
}

function partsOf(dir: string): Part[] {
  const { results }: LoadedRun = loadResults(dir)
  if (results.tool !== 'traffic')
    throw new ReportError('ERR_REPORT_OPTION', `${dir}: these are results of ${results.tool}, not of traffic`)
  return results.sets.map((set) => ({ name: dir, results, set, record: loadTrafficRecord(dir, set.id) }))
}

/** Returns the settings that all parts have in common. */
function sharedSettings(parts: readonly Part[]): Record<string, Setting> {
  const [first, ...others] = parts.map(({ set }) => set.settings)
  return Object.fromEntries(
    Object.entries(first!).filter(([key, value]) => others.every((settings) => settings[key] === value)),
  )
}

/** Returns the counts of servers, which count each client separately. */
function countedOf(parts: readonly Part[]): TrafficSet['counted'] {
  const all: TrafficSet['counted'] = {}
  for (const { set } of parts)
    for (const [server, { requests, bytes, messages }] of Object.entries(set.counted)) {
      const sum = all[server] ?? { requests: 0, bytes: 0, messages: 0 }
      all[server] = {
        requests: sum.requests + requests,
        bytes: sum.bytes + bytes,
        messages: sum.messages + messages,
      }
    }
  return all
}
