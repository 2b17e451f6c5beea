/** `verbena collective measure` */
import type { Command } from 'commander'
import type { Group } from '../../collectives/launch/index.ts'
import { whyNoMulticast } from '../../collectives/multicast-group.ts'
import type { AlgorithmResults, AlgorithmSet } from '../../report/index.ts'
import { configureBench, measure, type OutputOptions, tellLeftOut } from '../bench-kit/index.ts'
import { addDeviceOption, openAsked } from '../kit/index.ts'
import { addLaunchOptions, deviceNames, type LaunchOptions, obey, tell, withRanks } from '../rank-kit/index.ts'
import { type AlgorithmRun, measureAll, runAlgorithms } from './run.ts'
import { algorithmOptions, type ParsedLists, parseAlgorithmLists, planAlgorithms } from './settings.ts'
import { algorithmDocument, settingsOf, showAlgorithms } from './show.ts'

const help = `
Each algorithm of each collective, with each size and number of ranks, called through verbena/collectives: blocking, with arrays that the
device can reach, root 0, sums of Float64. All ranks pass a barrier and call; the time of a call is the longest at any rank. The algorithms
of a collective take turns, twenty times in a set. Every rank is a process, started by mpirun, mpiexec, srun, Kubernetes, by hand (--rank,
--ranks, --meet) or by --procs on this host; %r in the name of a device stands for the rank + 1. Rank 0 alone prints and saves.

The folder of --out gets NNN.csv with each repetition, run.json and plot.json; verbena collective tune makes a table of it.

Examples:
  verbena collective measure --procs 4
  mpirun -np 8 verbena collective measure --collective broadcast,allreduce --among 4,8
  srun -N 8 verbena collective measure --device roce --repetitions 1000 --json`

interface Options extends LaunchOptions {
  device?: string
}

const numbers = {
  repetitions: {
    ...{ flag: '--repetitions', argument: '<times>', description: 'timed calls of each set' },
    ...{ fallback: 100, min: 1, max: 10_000 },
  },
}

export function configure(command: Command): void {
  addDeviceOption(command, { fallback: 'shm, one for this run, on one host; else roce' })
  configureBench<typeof numbers, Options>(command, {
    name: 'collective-algorithms',
    description: 'Measure how long each algorithm of each collective takes.',
    settings: algorithmOptions,
    numbers,
    others: addLaunchOptions,
    ranks: true,
    help,
    run: async ({ device, ...options }, { repetitions }, output) => {
      const lists = parseAlgorithmLists(options)
      const wishes = { lists, repetitions, device: device || undefined }
      await withRanks(options, { ...lists, repetitions, device: device ?? '' }, async ({ group, timeoutMs, pin }) => {
        const algorithmRun = await open(group, { ...wishes, timeoutMs, pin })
        try {
          if (group.rank === 0) return await lead(algorithmRun, output)
          return await obey((signal) => measureAll(algorithmRun, signal))
        } finally {
          algorithmRun.context.close()
        }
      })
    },
  })
}

interface Wishes {
  lists: ParsedLists
  repetitions: number
  timeoutMs: number
  pin: boolean
  device: string | undefined
}

async function open(group: Group, { lists, repetitions, timeoutMs, pin, device }: Wishes): Promise<AlgorithmRun> {
  const [name] = await deviceNames(group, device === undefined ? [] : [device], 'collective')
  const context = openAsked('--device', name!.replaceAll('%r', String(group.rank + 1)))
  const reasons = await tell(group, whyNoMulticast(context, 0))
  // The name of a segment that is created for this run alone is of no use in another run.
  const shown = device ?? name!.split(':')[0]!
  const noMulticast = reasons.find((why) => why !== '') ?? ''
  const plan = planAlgorithms(lists, { device: shown, ranks: group.size, repetitions, noMulticast })
  return { group, context, plan, timeoutMs, pin }
}

async function lead(run: AlgorithmRun, output: OutputOptions): Promise<number> {
  tellLeftOut(run.plan.leftOut)
  return await measure<AlgorithmSet, AlgorithmResults>({
    ...{ ...output, plannedSets: run.plan.sets.length },
    run: async (hooks) => await runAlgorithms(run, output.outDir, hooks),
    describe: (set) => {
      const { collective, algorithm, ranks, size } = settingsOf(set)
      return `${collective} ${algorithm}, ${size} B among ${ranks}`
    },
    document: algorithmDocument,
    show: showAlgorithms,
  })
}
