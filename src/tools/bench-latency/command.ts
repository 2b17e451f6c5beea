/** `verbena bench latency` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { configureBench, limitsOf, repeatOption, seedOption } from '../bench-kit/index.ts'
import { planLatency } from './plan.ts'
import { latencyOptions, parseLatencyLists } from './settings.ts'
import { measureLatency } from './show.ts'

const examples = `
Every setting may be a list, with commas or by repeating the option; the run is the product of all lists. Invalid
combinations (UD with write-imm, inline above the adapter's limit, …) are left out, and reported on stderr.

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

const numbers = {
  repeat: repeatOption,
  seed: { ...seedOption, description: 'for the payload after the stamp and the order of the sets' },
  warmup: {
    ...{ flag: '--warmup', argument: '<messages>', description: 'messages before each burst that are not counted' },
    ...{ fallback: 1000, min: 0, max: 8192 },
  },
}

export function configure(command: Command): void {
  configureBench(command, {
    name: 'latency',
    description: 'Measure the one-way latency of messages between two adapters of this host.',
    settings: latencyOptions,
    numbers,
    help: examples,
    run: async (options, { repeat, seed, warmup }, { json, outDir }) => {
      const lists = parseLatencyLists(options)
      const plan = planLatency(lists, limitsOf(lists.device), repeat, seed)
      endWith(await measureLatency({ plan, seed, warmup, outDir }, json))
    },
  })
}
