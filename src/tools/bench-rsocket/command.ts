/** `verbena bench rsocket` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { addSettings, datedDirectory, type GivenOptions, limitsOf, makePlan, tellLeftOut } from '../bench-kit/index.ts'
import { parseInteger, parseNumber, UsageError, wrongValue } from '../kit/index.ts'
import {
  maxSocketSizeBytes,
  parseSocketLists,
  profileCombinations,
  socketCombinations,
  socketExclusion,
  socketOptions,
  socketTestTexts,
} from './settings.ts'
import { measureSockets } from './show.ts'

/** Sizes that the article on rsockets profiled. */
const profileSizes = '1024,65536,1048576'

const examples = `
The tests of netperf between two threads, over rsockets on any adapter and over TCP of the kernel in the same run:

${Object.entries(socketTestTexts)
  .map(([name, text]) => `  ${name.padEnd(7)} ${text}`)
  .join('\n')}

Each measurement takes --seconds after a warm-up, and --repeat of them make a median. With --profile every combination
is measured once more while both threads are sampled: streams of the sizes that are given (without any: ${profileSizes}),
rr of the smallest. The report then says where the time went, with flame graphs.

The folder of --out keeps run.json, plot.json, sets.csv (all sets as a table) and NNN.csv (the round trips of an rr
set: number,round_trip in nanoseconds); of profiles NNN-client.cpuprofile (for Chrome's developer tools) and
NNN-client.flame.json. \`verbena report DIR\` draws them.

Examples:
  verbena bench rsocket
  verbena bench rsocket --device roce:127.0.0.1 --size 1,65536 --poll busy,event
  verbena bench rsocket --test stream --extensions on,off --size 16384,65536,262144
  verbena bench rsocket --test rr --transport rsocket --seconds 1 --json
  verbena bench rsocket --test stream --profile 65536`

interface Options {
  seconds?: string
  warmup?: string
  repeat?: string
  seed?: string
  profile?: string | true
  json?: boolean
  out?: string
}

export function configure(command: Command): void {
  command.description('Measure rsockets beside TCP of the kernel: transactions and bytes per second, CPU use.')
  addSettings(command, socketOptions)
  command
    .option('--seconds <time>', 'time of each measurement (default: 0.5)')
    .option('--warmup <seconds>', 'time before each measurement that is not counted (default: 0.2)')
    .option('--repeat <times>', 'measure every combination so many times (default: 3)')
    .option('--seed <number>', 'for the order of the sets (default: 1)')
    .option('--profile [sizes]', 'also sample where the time goes')
    .option('--out <dir>', 'where results are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', examples)
    .exitOverride()
    .action(async (options: Options & GivenOptions) => {
      const seconds = parseNumber('--seconds', options.seconds, 0.5, 0.001, 3600)
      const warmup = parseNumber('--warmup', options.warmup, 0.2, 0.001, 3600)
      const repeat = parseInteger('--repeat', options.repeat, 3, 1, 10_000)
      const seed = parseInteger('--seed', options.seed, 1, 0, 0xffffffff)
      const sizes = options.profile === undefined ? [] : sizesOf(options.profile)
      const lists = parseSocketLists(options)
      // Queries each adapter, so that a missing one is detected before anything is measured.
      if (lists.transport.includes('rsocket')) limitsOf(lists.device)
      const all = socketCombinations(lists, options)
      const plan = makePlan(all, socketExclusion, repeat, seed)
      if (plan.sets.length === 0)
        throw new UsageError(
          '--direct',
          `nothing is left to measure: ${plan.leftOut.map(({ reason }) => reason).join('; ')}`,
        )
      tellLeftOut(plan.leftOut)
      const measured = all.filter((settings) => socketExclusion(settings) === null)
      const profiles = options.profile === undefined ? [] : profileCombinations(measured, sizes)
      const outDir = options.out ?? datedDirectory('rsocket')
      endWith(await measureSockets({ plan, profiles, seconds, warmup, outDir }, options.json === true))
    })
}

function sizesOf(given: string | true): number[] {
  const texts = (given === true ? profileSizes : given).split(',')
  return texts.map((text) => {
    const size = Number(text)
    if (/^\d+$/.test(text.trim()) && size >= 1 && size <= maxSocketSizeBytes) return size
    throw wrongValue('--profile', text, `message sizes from 1 to ${maxSocketSizeBytes}`, profileSizes)
  })
}
