/** `verbena bench node` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { nativeAvailable } from '../../memory/index.ts'
import type { NodeResults, NodeSet } from '../../report/index.ts'
import { configureBench, coreList, measure, repeatOption } from '../bench-kit/index.ts'
import { UsageError, wrongValue } from '../kit/index.ts'
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
  pin: string
}

const numbers = {
  limit: {
    ...{ flag: '--limit', argument: '<samples>', description: 'samples of each run' },
    ...{ fallback: 0, without: '2 seconds of them', min: 1, max: 1e9 },
  },
  warmup: {
    ...{ flag: '--warmup', argument: '<samples>', description: 'samples at 10 kHz before each run' },
    ...{ fallback: 10_000, min: 0, max: 1e6 },
  },
  repeat: { ...repeatOption, max: 1000 },
}

export function configure(command: Command): void {
  configureBench<typeof numbers, Options>(command, {
    name: 'node',
    description: 'Measure the latency of node-types of the gateway, and what they lose.',
    settings: nodeOptions,
    numbers,
    others: (command) =>
      command
        .option('--processes', 'generator and receiver in two processes (default, where memory can be shared)')
        .option('--threads', 'generator and receiver in two threads')
        .option('--pin <cores>', 'cores of generator and receiver: auto, none, or two numbers', 'auto'),
    help,
    run: async (options, { limit, warmup, repeat }, output) => {
      const pin = coreList(options.pin)
      if (pin === undefined) throw wrongValue('--pin', options.pin, 'auto, none, or core numbers', '0,1')
      const plan = planNodes(options, endsAsked(options), repeat)
      endWith(
        await measure<NodeSet, NodeResults>({
          ...{ ...output, plannedSets: plan.sets.length },
          run: async (hooks) =>
            await runNodes({
              ...{ plan, warmUp: warmup, pin, outDir: output.outDir, ...hooks },
              limitOf: ({ rate }) => limit || Math.max(1, Math.round(2 * rate)),
            }),
          describe: ({ settings: { node, mode, values, rate } }) => `${node} ${mode}, ${values} values at ${rate} Hz`,
          document: nodeDocument,
          show: showNodes,
        }),
      )
    },
  })
}

function endsAsked({ processes, threads }: Options): Ends {
  if (processes && threads) throw new UsageError('--threads', 'it contradicts --processes: give one of them')
  return threads || !(processes || nativeAvailable) ? 'threads' : 'processes'
}
