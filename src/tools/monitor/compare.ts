/** `verbena monitor compare` */
import { basename } from 'node:path'
import type { Command } from 'commander'
import { endWith, type Interruption, paint, print, printJson, table } from '../../cli/terminal/index.ts'
import { all, watchCapture } from '../../monitor/host/index.ts'
import {
  type Bounds,
  Budget,
  boundsHold,
  Comparer,
  type Comparison,
  type Key,
  keyNames,
  MonitorError,
  type monitorConfig,
  Observer,
  plainText,
  type QuantileComparison,
} from '../../monitor/index.ts'
import { significant } from '../../text/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsPackets,
  stopOnInterrupt,
} from '../trace-kit/index.ts'
import { addConfigOptions, type ConfigOptions, configFrom } from './config.ts'
import { keyHelp, keyOption, measureOf } from './output.ts'
import { Together } from './together.ts'

const help = `
Each packet goes to the monitor and, by the same keys, to exact tables that grow with the traffic. For each window the results of the
sketches are then compared with the exact values: flow sizes of all keys (average absolute and relative error; a key that is not found
counts as 0), heavy hitters (F1), the largest keys, entropy, numbers of flows and hosts, quantiles of latencies; and every stated bound is
checked. Files are compared one after the other, each by itself; or with --merge all of them together, window by window, as a collector
merges the windows of its agents. Rates of microbursts and latencies of single flows are not compared.
${keyHelp}

Exit code 1 if a bound held so much less often than its confidence that this happens by chance at most once in a thousand times.

Examples:
  verbena monitor compare roce.pcap
  verbena monitor compare roce.pcap --memory 1 --window 10          where sketches have little room
  verbena monitor compare roce.pcap --of messages --by qp --by source,rkey --threshold 1 --json
  tcpdump -i eth0 -c 1000000 -w - udp port 4791 | verbena monitor compare -`

interface Options extends ReadOptions, ConfigOptions {
  by?: Key[]
  of: string
  top?: string
  threshold?: string
  exactMemory?: string
  seed?: string
  merge?: boolean
  json?: boolean
}

export function configure(command: Command): void {
  addConfigOptions(readsPackets(command))
    .description('Count exactly in addition to the sketches, and show the errors of the sketches.')
    .argument('<files...>', 'captures: pcap or pcapng, compressed or not; - for standard input')
    .option('--by <key>', 'a key to compare; may be repeated (default: every key that has a name)', keyOption)
    .option('--of <measure>', 'the sum to list: bytes, packets, messages, or an event', 'bytes')
    .option('--threshold <percent>', 'of the sum of all keys, from which a key is a heavy hitter (default: 0.1)')
    .option('--top <count>', 'how many of the largest keys are compared (default: 10)')
    .option('--exact-memory <MiB>', 'maximum memory for exact counting (default: 1024)')
    .option('--seed <number>', 'of the sketches, for a result that can be repeated (default: a random one)')
    .option('--merge', 'compare the files together, as those of agents of a collector')
    .option('--json', 'print one JSON document for each file, a line each')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      const comparing = settingsOf(options)
      const stop = stopOnInterrupt()
      try {
        let bad = false
        for (const group of options.merge === true ? [files] : files.map((file) => [file]))
          bad = (await compareFiles(group, comparing, options, stop)) || bad
        endWith(exitCodeOf(stop, bad))
      } finally {
        stop.dispose()
      }
    })
}

interface Settings {
  config: ReturnType<typeof monitorConfig>
  keys: readonly Key[]
  measure: ReturnType<typeof measureOf>
  top: number
  threshold: number
  exactBytes: number
}

function settingsOf(options: Options): Settings {
  const { by = Object.keys(keyNames) as Key[], of, top, threshold } = options
  const seed = parseInteger('--seed', options.seed, -1, 0, Number.MAX_SAFE_INTEGER)
  return {
    config: configFrom(options, undefined, seed < 0 ? undefined : seed),
    keys: by,
    measure: measureOf(of),
    top: parseInteger('--top', top, 10, 1, 100_000),
    threshold: parseNumber('--threshold', threshold, 0.1, 0.0001, 100) / 100,
    exactBytes: parseNumber('--exact-memory', options.exactMemory, 1024, 0.01, 65_536) * 2 ** 20,
  }
}

/** Compares files together. Returns true if a bound did not hold, or a file is damaged. */
async function compareFiles(
  files: readonly string[],
  settings: Settings,
  options: Options,
  stop: Interruption,
): Promise<boolean> {
  const { config, exactBytes, ...how } = settings
  const trace = readingOf(options, stop)
  const comparer = new Comparer({ ...how, sketchBytes: config.sketchBytes })
  const together = new Together(comparer, new Budget(exactBytes))
  const reads = await exactly(async () => {
    const members = files.map((file, i) => ({ file, source: captureFile(file), ...together.join(`${i}`) }))
    return await all(
      stop.signal,
      members.map(({ file, source, witness, pace, add, end }) => async (signal) => {
        const observer = new Observer({
          ...{ config, trace, agent: plainText(basename(file)), run: crypto.randomUUID(), witness, onWindow: add },
        })
        const { format, damage } = await watchCapture(source, () => observer, { signal, trace, ...pace(signal) })
        end()
        return { file, format, damage }
      }),
    )
  })
  for (const { file, format, damage } of reads) {
    mustBeCapture(file, { format, damage: damage.list })
    noteDamage({ damage: damage.list, damageCount: damage.count })
  }
  const comparison = comparer.result()
  noteIfNothing(comparison)
  if (options.json === true) printJson({ file: files.join(', '), ...comparison })
  else show(files.join(', '), comparison)
  return !comparison.holds || reads.some(({ damage }) => damage.count > 0)
}

/** Runs `read`; an error for too little memory becomes a usage error. */
async function exactly<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof MonitorError) || error.code !== 'ERR_MONITOR_MEMORY') throw error
    throw new UsageError('--exact-memory', `${error.message}: give it more, or compare shorter windows (--window)`)
  }
}

function show(file: string, comparison: Comparison): void {
  const { windows, packets, roce, memory, measure, threshold, top, keys, flows, hosts, latency } = comparison
  const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(2)} MiB`
  print(`${paint('bold', file)}  ${windows} windows  ${packets} packets (${roce} of RDMA)`)
  print(
    `  sketches: ${mebibytes(memory.sketchBytes)} for a window, whatever passes; exact counting: ${mebibytes(memory.exactBytes)} for the largest window`,
  )
  if (roce === 0) return
  print('')
  print(
    table(
      [
        ...['key', 'keys', 'found', `ARE of ${measure}`, 'AAE', `heavy (${significant(100 * threshold, 2)} %)`, 'F1'],
        ...[`top ${top}`, 'entropy', 'within bounds', 'stated'],
      ],
      keys.map(({ key, keys: count, found, relativeError, absoluteError, heavy, top: largest, entropy, bounds }) => [
        ...[key, count, found, percent(relativeError), absoluteError.toFixed(1), heavy.keys, heavy.f1.toFixed(3)],
        ...[largest.keys === 0 ? '' : percent(largest.right / largest.keys), percent(entropy.relativeError)],
        ...boundsCells(bounds),
      ]),
    ),
  )
  print('')
  print(
    table(
      ['numbers of', 'exact', 'sketch', 'error', 'within bounds', 'stated'],
      Object.entries({ flows, hosts }).map(([name, { exact, sketch, relativeError, bounds }]) => [
        ...[name, exact.toFixed(1), sketch.toFixed(1), percent(relativeError), ...boundsCells(bounds)],
      ]),
    ),
  )
  const rows = Object.entries(latency).flatMap(([name, all]) =>
    all.filter(({ windows: count }) => count > 0).map((one) => quantileCells(name.toUpperCase(), one)),
  )
  if (rows.length > 0) {
    print('')
    print(table(['latency', 'error', 'largest', 'within bounds', 'stated'], rows))
  }
  print('')
  print(comparison.holds ? 'Every bound held as often as it promises.' : paint('red', 'A bound did not hold.'))
}

function quantileCells(name: string, { quantile, relativeError, largestError, bounds }: QuantileComparison): string[] {
  const which = quantile === 1 ? 'max' : `${100 * quantile} %`
  return [`${name} ${which}`, percent(relativeError), percent(largestError), ...boundsCells(bounds)]
}

function boundsCells(bounds: Bounds): string[] {
  const { stated, held, confidence } = bounds
  const cell = stated === 0 ? '' : `${percent(held / stated)} of ${stated}`
  return [boundsHold(bounds) ? cell : paint('red', cell), percent(confidence)]
}

function percent(share: number): string {
  const value = 100 * share
  if (value === 0 || value >= 99.95) return `${value.toFixed(0)} %`
  return `${value < 1e-4 ? '< 0.0001' : value.toPrecision(3)} %`
}
