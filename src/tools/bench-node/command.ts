/** `verbena bench node` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { nativeAvailable } from '../../memory/index.ts'
import type { NodeResults, NodeSet } from '../../report/index.ts'
import { addSettings, coreList, datedDirectory, type GivenOptions, measure } from '../bench-kit/index.ts'
import { parseInteger, UsageError, wrongValue } from '../kit/index.ts'
import { nodeOptions, planNodes } from './plan.ts'
import { runNodes } from './run.ts'
import { type Ends, nodeModes, nodeNames } from './settings.ts'
import { nodeDocument, showNodes } from './show.ts'

const help = `
A generator sends samples at a rate to a node of a type, and to a file; another node of that type receives them and writes them to a
second file, with the time at which each arrived. Generator and receiver are gateways in processes of their own (--processes), or
threads of one gateway (--threads; a loopback always), each on a core of its own if there are two.

A run begins when both nodes are connected and a warm-up has passed them. What is measured of it:
  latency   from the step of the generator to the receipt, for each sample that arrived
  missed    steps that the generator was too late for
  missing   samples of the limit that are not in the output, missed steps included
  lost      samples that were generated and did not arrive

Modes, the first one without --mode:
${nodeNames.map((name) => `  ${name.padEnd(12)}${nodeModes[name].join(', ')}`).join('\n')}

Each combination of the lists is a run. The folder of --out gets NNN_MODE-VALUES-RATE-LIMIT_input.csv and ..._output.csv of each,
as from VILLASnode's benchmark, run.json and plot.json. Ctrl-C ends the run, and keeps what was measured until then.

Examples:
  verbena bench node
  verbena bench node --node loopback --mode polling,eventfd --values 1,8,64 --rate 1000,10000
  verbena bench node --node infiniband --mode RC,UC,UD --device shm,roce --rate 10000 --limit 20000
  verbena bench node --node infiniband --max-inline-data 0,128,512 --values 1,8,32
  verbena bench node --node loopback,shmem,socket --threads --rate 10000 --json`

interface Options {
  processes?: boolean
  threads?: boolean
  limit?: string
  warmup?: string
  repeat?: string
  pin: string
  out?: string
  json?: boolean
}

export function configure(command: Command): void {
  command.description('Measure the latency of node-types of the gateway, and what they lose.')
  addSettings(command, nodeOptions)
  command
    .option('--processes', 'generator and receiver in two processes (default, where memory can be shared)')
    .option('--threads', 'generator and receiver in two threads')
    .option('--limit <samples>', 'samples of each run (default: 2 seconds of them)')
    .option('--warmup <samples>', 'samples at 10 kHz before each run (default: 10000)')
    .option('--repeat <times>', 'measure every combination so many times (default: 1)')
    .option('--pin <cores>', 'cores of generator and receiver: auto, none, or two numbers', 'auto')
    .option('--out <dir>', 'where results are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document on stdout and nothing else')
    .addHelpText('after', help)
    .exitOverride()
    .action(run)
}

async function run(options: Options & GivenOptions): Promise<void> {
  const limit = parseInteger('--limit', options.limit, 0, 1, 1e9)
  const warmUp = parseInteger('--warmup', options.warmup, 10_000, 0, 1e6)
  const repeat = parseInteger('--repeat', options.repeat, 1, 1, 1000)
  const pin = coreList(options.pin)
  if (pin === undefined) throw wrongValue('--pin', options.pin, 'auto, none, or core numbers', '0,1')
  const plan = planNodes(options, endsAsked(options), repeat)
  const outDir = options.out ?? datedDirectory('node')
  endWith(
    await measure<NodeSet, NodeResults>({
      ...{ outDir, json: options.json === true, plannedSets: plan.sets.length },
      run: async (hooks) =>
        await runNodes({
          ...{ plan, warmUp, pin, outDir, ...hooks },
          limitOf: ({ rate }) => limit || Math.max(1, Math.round(2 * rate)),
        }),
      describe: ({ settings: { node, mode, values, rate } }) => `${node} ${mode}, ${values} values at ${rate} Hz`,
      document: nodeDocument,
      show: showNodes,
    }),
  )
}

function endsAsked({ processes, threads }: Options): Ends {
  if (processes && threads) throw new UsageError('--threads', 'it contradicts --processes: give one of them')
  return threads || !(processes || nativeAvailable) ? 'threads' : 'processes'
}
