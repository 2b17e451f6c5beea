/** `verbena bench throughput` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { addSettings, datedDirectory, type GivenOptions, limitsOf, makePlan, tellLeftOut } from '../bench-kit/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import {
  parseThroughputLists,
  techniqueTexts,
  throughputCombinations,
  throughputExclusion,
  throughputOptions,
} from './settings.ts'
import { measureThroughput } from './show.ts'

const examples = `
A client keeps a number of messages outstanding to a server, which sends each of them back (the echo of the tutorial).
A message counts when it is back; rates are those of one direction.

Techniques:
${Object.entries(techniqueTexts)
  .map(([name, text]) => `  ${name.padEnd(17)} ${text}`)
  .join('\n')}

Without --technique, --concurrent and --batch both comparisons of the tutorial are made: the techniques over the number
of concurrent messages, and the batch size at 64 concurrent messages.

Examples:
  verbena bench throughput
  verbena bench throughput --technique send-recv,write-inline --concurrent 1,64
  verbena bench throughput --technique write-batch --batch 1,2,4,8,16 --concurrent 64
  verbena bench throughput --technique send-recv --service RC,UC,UD --size 8,4096 --seconds 1 --json`

interface Options {
  seconds?: string
  messages?: string
  warmup?: string
  repeat?: string
  seed?: string
  json?: boolean
  out?: string
}

export function configure(command: Command): void {
  command.description('Measure messages and bytes per second of the techniques of docs/guide/tutorial.md.')
  addSettings(command, throughputOptions)
  command
    .option('--seconds <time>', 'time of each measurement (default: 0.3)')
    .option('--messages <number>', 'end a measurement after so many messages')
    .option('--warmup <messages>', 'messages before each measurement that are not counted (default: 20000)')
    .option('--repeat <times>', 'measure every combination so many times (default: 1)')
    .option('--seed <number>', 'for the order of the sets (default: 1)')
    .option('--out <dir>', 'where results are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', examples)
    .exitOverride()
    .action(async (options: Options & GivenOptions) => {
      const messages = parseInteger('--messages', options.messages, Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER)
      const seconds = parseNumber('--seconds', options.seconds, options.messages === undefined ? 0.3 : 60, 0.001, 3600)
      const warmup = parseInteger('--warmup', options.warmup, 20_000, 0, 1e9)
      const repeat = parseInteger('--repeat', options.repeat, 1, 1, 10_000)
      const seed = parseInteger('--seed', options.seed, 1, 0, 0xffffffff)
      const lists = parseThroughputLists(options)
      const limits = limitsOf(lists.device)
      const all = throughputCombinations(lists, options)
      const plan = makePlan(all, (settings) => throughputExclusion(settings, limits), repeat, seed)
      if (plan.sets.length === 0)
        throw new UsageError(
          '--technique',
          `nothing is left to measure: ${plan.leftOut.map(({ reason }) => reason).join('; ')}`,
        )
      tellLeftOut(plan.leftOut)
      const outDir = options.out ?? datedDirectory('throughput')
      endWith(await measureThroughput({ plan, seconds, messages, warmup, outDir }, options.json === true))
    })
}
