/**
 * `verbena start`, which is what `npm start` runs: a tour of the latency benchmark that takes less than a minute on two
 * cores, then the report.
 *
 *     service types and operations over the message size, both sides polling
 *     waiting for events instead
 *     the time that inlining saves, from submit and send stamps with an engine thread
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { endWith, print } from '../../cli/terminal/index.ts'
import { writeReport } from '../../report/index.ts'
import { combinations, datedDirectory, limitsOf, makePlan } from '../bench-kit/index.ts'
import {
  exclusion,
  type LatencyLists,
  type LatencySettings,
  measureLatency,
  parseLatencyLists,
} from '../bench-latency/index.ts'
import { spreadPin } from '../bench-thread/index.ts'
import { openInBrowser, parseInteger } from '../kit/index.ts'

const parts: Partial<LatencyLists>[] = [
  {
    service: ['RC', 'UC', 'UD'],
    op: ['send-imm', 'write-imm'],
    size: [8, 32, 128, 512, 2048, 4096, 8192, 32768],
    burst: [2048],
    pause: [2000],
  },
  { service: ['RC'], op: ['send-imm'], size: [8], poll: ['event'], burst: [2048], pause: [20_000] },
  {
    service: ['RC'],
    op: ['send-imm'],
    size: [8, 64, 256],
    engine: ['thread'],
    stamp: ['submit', 'send'],
    inline: [false, true],
    // A sender that sleeps between messages leaves its core to the engine thread.
    unsignaled: [true],
    burst: [2048],
    pause: [300_000],
  },
]

interface Options {
  seed?: string
  repeat?: string
  out?: string
  open?: string
  json?: boolean
}

const examples = `
Examples:
  verbena start                            under a minute, then the path of the report
  verbena start --open yes                 and the report in the browser
  verbena start --repeat 5 --out results/quiet-machine`

export function configure(command: Command): void {
  command
    .description(
      'Measure one-way latencies with good defaults in under a minute, then write a report and print its path.',
    )
    .option('--repeat <times>', 'repetitions of every combination (default: 3)')
    .option('--seed <number>', 'for the payload after the stamp and the order of the sets (default: 1)')
    .option('--out <dir>', 'where results and report are kept (default: a dated folder under results/)')
    .option('--open [yes|no]', 'open the report in the browser (default: no)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', examples)
    .action(async (options: Options) => {
      const repeat = parseInteger('--repeat', options.repeat, 3, 1, 1000)
      const seed = parseInteger('--seed', options.seed, 1, 0, 0xffffffff)
      const all = parts.flatMap((part) =>
        combinations<LatencySettings>(parseLatencyLists({}, { ...part, pin: [spreadPin()] })),
      )
      const limits = limitsOf(all.map(({ device }) => device))
      const plan = makePlan(all, (settings) => exclusion(settings, limits), repeat, seed)
      const outDir = options.out ?? datedDirectory('start')
      const exitCode = await measureLatency({ plan, seed, warmup: 1000, outDir }, options.json === true, true)
      const [page] = await writeReport([outDir], outDir)
      if (options.json !== true) print(`Report:  ${page ?? join(outDir, 'report.html')}`)
      if (page) openInBrowser(options.open, page)
      endWith(exitCode)
    })
}
