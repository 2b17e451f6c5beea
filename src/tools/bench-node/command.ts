/** `verbena bench node` */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note, print, printJson, table } from '../../cli/terminal/index.ts'
import { GatewayError, mostSignals } from '../../gateway/index.ts'
import { combinations, datedDirectory } from '../bench-kit/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import { measureNode, type NodeRun } from './measure.ts'
import { modeNames, type NodeName, type NodeSettings, nodeModes, nodeNames } from './settings.ts'

const timers = ['timerfd', 'tsc', 'hybrid'] as const

const help = `
A generator sends samples at a rate to a node of a type, and to a file; another node of that type receives them and writes them to a
second file, with the time at which each arrived. Generator and receiver are threads of one gateway.

Modes, the first one without --mode:
${nodeNames.map((name) => `  ${name.padEnd(12)}${nodeModes[name].join(', ')}`).join('\n')}

For each combination of the lists there are the latency from generation to receipt, the steps that the generator missed, the
samples of the limit that did not arrive (missed steps included), and those that were generated and did not arrive: all, and those behind
the first that did. The files are NNN_MODE-VALUES-RATE-LIMIT_input.csv and ..._output.csv, as those of VILLASnode's benchmark, and runs.json.

Examples:
  verbena bench node
  verbena bench node --node loopback --mode polling,eventfd --values 1,8,64 --rate 1000,10000
  verbena bench node --node infiniband --mode RC,UC,UD --device shm:lab --rate 10000 --limit 20000
  verbena bench node --node loopback,socket --rate 10000 --json`

interface Options {
  node: string[]
  mode?: string[]
  values: string[]
  rate: string[]
  limit?: string
  timer: string[]
  device?: string
  out?: string
  json?: boolean
}

const list = (text: string, before: string[] | undefined): string[] => [...(before ?? []), ...text.split(',')]

export function configure(command: Command): void {
  command
    .description('Measure the latency of node-types of the gateway, and what they lose.')
    .option('--node <types>', `node-types: ${nodeNames.join(', ')} (default: loopback)`, list)
    .option('--mode <modes>', "modes of the types (default: each type's first)", list)
    .option('--values <counts>', 'values of a sample (default: 8)', list)
    .option('--rate <hz>', 'samples per second (default: 10000)', list)
    .option('--limit <samples>', 'samples of each run (default: 2 seconds of them)')
    .option('--timer <names>', `how the generator waits: ${timers.join(', ')} (default: hybrid)`, list)
    .option('-d, --device <name>', 'verbs device of infiniband (default: that of its address)')
    .option('--out <dir>', 'where files are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', help)
    .exitOverride()
    .action(run)
}

type Combination = NodeSettings & { timer: string }

async function run(options: Partial<Options>): Promise<void> {
  const all = combinationsOf(options)
  const limit = options.limit === undefined ? 0 : number('--limit', options.limit, 1, 1e9)
  const folder = options.out ?? datedDirectory('node')
  const interruption = interruptible()
  const runs: NodeRun[] = []
  let failed = false
  try {
    for (const [i, { timer, ...settings }] of all.entries()) {
      if (interruption.signal.aborted) break
      try {
        const { latencies: _, ...found } = await measureNode(settings, {
          ...{ run: i + 1, timer, folder, device: options.device, signal: interruption.signal },
          limit: limit || Math.max(1, Math.round(2 * settings.rate)),
          log: note,
        })
        runs.push(all.some((each) => each.timer !== timer) ? { ...found, settings: { ...settings, timer } } : found)
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        failed = true
        note(`${settings.node} ${settings.mode}: ${error.message}`)
      }
    }
  } finally {
    interruption.dispose()
  }
  const document = { runs, unit: 'ns' }
  if (runs.length > 0) writeFileSync(join(folder, 'runs.json'), `${JSON.stringify(document, null, 2)}\n`)
  if (options.json) printJson(document)
  else if (runs.length > 0) {
    print(tableOf(runs))
    note(`files: ${folder}`)
  }
  endWith(interruption.exitCode() ?? (failed ? exitCodes.failed : exitCodes.done))
}

function combinationsOf(options: Partial<Options>): Combination[] {
  const node = options.node?.map((name) => choice('--node', name, nodeNames)) ?? ['loopback' as NodeName]
  const modes = options.mode?.map((mode) => choice('--mode', mode, modeNames))
  const values = options.values?.map((text) => number('--values', text, 1, mostSignals)) ?? [8]
  const rate = options.rate?.map((text) => parseNumber('--rate', text, 10_000, 0.001, 1e7)) ?? [10_000]
  const timer = options.timer?.map((name) => choice('--timer', name, timers)) ?? ['hybrid']
  const all = node.flatMap((name) => {
    const known: readonly string[] = nodeModes[name]
    const mode = modes === undefined ? [known[0]!] : modes.filter((each) => known.includes(each))
    return combinations<Combination>({ node: [name], mode, values, rate, timer })
  })
  if (all.length === 0)
    throw new UsageError(
      '--mode',
      `${node.join(', ')} has other modes: ${node.map((name) => nodeModes[name].join(', ')).join('; ')}`,
    )
  return all
}

function choice<const T extends string>(flag: string, text: string, names: readonly T[]): T {
  const found = names.find((name) => name.toLowerCase() === text.toLowerCase())
  if (found === undefined) throw new UsageError(flag, `'${text}' is not known. Expected ${names.join(', ')}`)
  return found
}

function number(flag: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new UsageError(flag, `'${text}' is not valid. Expected a whole number from ${min} to ${max}`)
  return value
}

function tableOf(runs: readonly NodeRun[]): string {
  const us = (ns: number | undefined): string => (ns === undefined ? '–' : (ns / 1000).toFixed(2))
  const head = ['node', 'mode', 'values', 'rate', 'p10 µs', 'median', 'p90', 'p99', 'max', 'missed', 'missing', 'lost']
  return table(
    head,
    runs.map(({ settings: { node, mode, values, rate }, latency, missed, missing, notTransmittedConnected }) => [
      ...[node, mode, values, rate, us(latency?.p10), us(latency?.median), us(latency?.p90), us(latency?.p99)],
      ...[us(latency?.max), missed, missing, notTransmittedConnected],
    ]),
  )
}
