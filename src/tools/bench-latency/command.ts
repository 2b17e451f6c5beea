/** `verbena bench latency` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { addSettings, datedDirectory, type GivenOptions, limitsOf, tellLeftOut } from '../bench-kit/index.ts'
import { parseInteger } from '../kit/index.ts'
import { planLatency } from './plan.ts'
import { latencyOptions, parseLatencyLists } from './settings.ts'
import { measureLatency } from './show.ts'

const examples = `
Every setting may be a list, with commas or by repeating the option; the run is the product of all lists. Combinations
that cannot be (UD with write-imm, inline above the adapter's limit, …) are left out, which is said on stderr.

The payload begins with the time of posting (8 bytes, tv_nsec of CLOCK_MONOTONIC), the immediate is the message's
number. Latencies are t_recv − t_subm, and t_comp − t_subm for the sender's own completion. The folder of --out keeps
the raw timestamps of each set as NNN.csv (number,t_subm,t_recv,t_comp), run.json and plot.json; results that were in
it are replaced.

Examples:
  verbena bench latency
  verbena bench latency --service RC,UC,UD --op send-imm,write-imm --size 8,512,4096,32768
  verbena bench latency --poll busy,event --pause 20000 --burst 1024
  verbena bench latency --engine thread --stamp submit,send --inline on,off --size 64
  verbena bench latency --size 8 --repeat 5 --pin 0,1 --json > latency.json`

interface Options {
  repeat?: string
  seed?: string
  warmup?: string
  json?: boolean
  out?: string
}

export function configure(command: Command): void {
  command.description('Measure the one-way latency of messages between two adapters of this host.')
  addSettings(command, latencyOptions)
  command
    .option('--repeat <times>', 'measure every combination so many times (default: 1)')
    .option('--seed <number>', 'for the payload behind the stamp and the order of the sets (default: 1)')
    .option('--warmup <messages>', 'messages before each burst that are not counted (default: 1000)')
    .option('--out <dir>', 'where results are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', examples)
    .exitOverride()
    .action(async (options: Options & GivenOptions) => {
      const repeat = parseInteger('--repeat', options.repeat, 1, 1, 10_000)
      const seed = parseInteger('--seed', options.seed, 1, 0, 0xffffffff)
      const warmup = parseInteger('--warmup', options.warmup, 1000, 0, 8192)
      const lists = parseLatencyLists(options)
      const plan = planLatency(lists, limitsOf(lists.device), repeat, seed)
      tellLeftOut(plan.leftOut)
      const outDir = options.out ?? datedDirectory('latency')
      endWith(await measureLatency({ plan, seed, warmup, outDir }, options.json === true))
    })
}
