/** `verbena bench collective` */
import type { Command } from 'commander'
import type { CollectiveResults, CollectiveSet } from '../../report/index.ts'
import { configureBench, measure, type OutputOptions, tellLeftOut } from '../bench-kit/index.ts'
import { addLaunchOptions, type LaunchOptions, obey, withRanks } from '../rank-kit/index.ts'
import { Rank } from './rank.ts'
import { follow, runCollective } from './run.ts'
import { collectiveOptions, mostBytes, parseCollectiveLists } from './settings.ts'
import { collectiveDocument, showCollective } from './show.ts'

const help = `
One to many and many to one, as in "Erweiterung eines existierenden InfiniBand-Benchmarks" (C. Viertel, 2006): every rank is a process,
started by mpirun, mpiexec, srun, Kubernetes, by hand (--rank, --ranks, --meet) or by --procs on this host. Rank 0 alone prints and saves.

Scenario 2: rank 0 sends a message to i other ranks, and each responds. With multicast it sends one message to all; with READ it reads
from each of them, notifies them by a multicast, and each reads from it. i is 1 to all, or --processes.
  MEA_RTT_TIME            rank 0's time for that, by i; with READ the sum of the next two
  RDMART_1N, RDMART_N1    READ: until rank 0 has read from all; the longest time of another rank to read from it; by i
  MEA_SENDCOMPLETE_TIME   from the last post of rank 0 until its sends are complete
Scenario 1: rank 0 sends 1 to MAXPOSTS messages to rank 1 in a step.
  MEA_POST_SR_CPU_OVERHEAD, MEA_POST_RR_CPU_OVERHEAD   posting one send, or one receive
  MEA_POLL_CQ_CPU_OVERHEAD   one poll of the completion queue, right after the posts
  MEA_SEND_TIME              from the last post until all are complete

Names need no prefix: --measure rtt. Invalid combinations (READ on UC, datagrams above the MTU, …) are left out, and reported on
stderr. The folder of --out gets NNN.csv with each repetition, run.json and plot.json.

Examples:
  verbena bench collective --procs 4
  mpirun -np 8 verbena bench collective --transport RC,multicast --mode SEND --size 1,2048
  srun -N 8 verbena bench collective --device roce --repetitions 1000 --json
  verbena bench collective --procs 2 --measure post-sr,poll-cq,send-time --max-posts 16 --size 1`

const numbers = {
  memsize: {
    flag: '--memsize',
    argument: '<bytes>',
    description: 'MEMSIZE: the last of the sizes, if --size is not given',
    ...{ fallback: 65_536, min: 1, max: mostBytes },
  },
  warmup: {
    flag: '--warmup',
    argument: '<times>',
    description: 'repetitions that are not counted; 50 times as many before the first set',
    ...{ fallback: 20, min: 0, max: 10_000 },
  },
  lostAfter: {
    flag: '--lost-after',
    argument: '<ms>',
    description: 'a message of UC, UD or multicast is lost when it has not arrived after this time',
    ...{ fallback: 250, min: 1, max: 60_000, fraction: true },
  },
}

export function configure(command: Command): void {
  configureBench<typeof numbers, LaunchOptions>(command, {
    name: 'collective',
    description: 'Measure which transport and operation suits one-to-many and many-to-one communication.',
    settings: collectiveOptions,
    numbers,
    others: addLaunchOptions,
    ranks: true,
    help,
    run: async (options, { memsize, warmup: warmUp, lostAfter: lostMs }, output) => {
      const lists = parseCollectiveLists(options, memsize)
      await withRanks(options, { ...lists, warmUp, lostMs }, async ({ group, timeoutMs, pin }) => {
        const rank = await Rank.open(group, { lists, warmUp, lostMs, stallMs: timeoutMs, pin })
        const code = group.rank === 0 ? await lead(rank, output) : await obey((signal) => follow(rank, signal))
        rank.close()
        return code
      })
    },
  })
}

async function lead(rank: Rank, output: OutputOptions): Promise<number> {
  tellLeftOut(rank.plan.leftOut)
  return await measure<CollectiveSet, CollectiveResults>({
    ...{ ...output, plannedSets: rank.plan.sets.length },
    run: async (hooks) => await runCollective({ rank, plan: rank.plan, outDir: output.outDir, ...hooks }),
    describe: ({ settings: { transport, mode, size, processes } }) =>
      `${transport} ${mode} ${size} B, ${processes} remote`,
    document: collectiveDocument,
    show: showCollective,
  })
}
