/** `verbena collective measure` */
import type { Command } from 'commander'
import type { Group } from '../../collectives/launch/index.ts'
import { whyNoMulticast } from '../../collectives/multicast-group.ts'
import type { AlgorithmResults, AlgorithmSet } from '../../report/index.ts'
import { addSettings, datedDirectory, type GivenOptions, measure, tellLeftOut } from '../bench-kit/index.ts'
import { addDeviceOption, openAsked, parseInteger } from '../kit/index.ts'
import { addLaunchOptions, deviceNames, type LaunchOptions, obey, tell, withRanks } from '../rank-kit/index.ts'
import { type AlgorithmRun, measureAll, runAlgorithms } from './run.ts'
import { algorithmOptions, type ParsedLists, parseLists, planAlgorithms } from './settings.ts'
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
  repetitions?: string
  out?: string
  json?: boolean
}

const mostRepetitions = 10_000

export function configure(command: Command): void {
  command.description('Measure how long each algorithm of each collective takes.')
  addDeviceOption(command, { fallback: 'shm, one for this run, on one host; else roce' })
  addSettings(command, algorithmOptions)
  command.option('--repetitions <times>', 'timed calls of each set (default: 100)')
  addLaunchOptions(command)
    .option('--out <dir>', 'where rank 0 keeps the results (default: a dated folder under results/)')
    .option('--json', 'rank 0 prints one JSON document on stdout and nothing else')
    .addHelpText('after', help)
    .exitOverride()
    .action(run)
}

async function run(options: Options & GivenOptions): Promise<void> {
  const lists = parseLists(options)
  const repetitions = parseInteger('--repetitions', options.repetitions, 100, 1, mostRepetitions)
  await withRanks(
    options,
    { ...lists, repetitions, device: options.device ?? '' },
    async ({ group, timeoutMs, pin }) => {
      const algorithmRun = await open(group, {
        lists,
        repetitions,
        timeoutMs,
        pin,
        device: options.device || undefined,
      })
      try {
        if (group.rank === 0) return await lead(algorithmRun, options)
        return await obey((signal) => measureAll(algorithmRun, signal))
      } finally {
        algorithmRun.context.close()
      }
    },
  )
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

async function lead(run: AlgorithmRun, options: Options): Promise<number> {
  const outDir = options.out ?? datedDirectory('collective-algorithms')
  tellLeftOut(run.plan.leftOut)
  return await measure<AlgorithmSet, AlgorithmResults>({
    ...{ outDir, json: options.json === true, plannedSets: run.plan.sets.length },
    run: async (hooks) => await runAlgorithms(run, outDir, hooks),
    describe: (set) => {
      const { collective, algorithm, ranks, size } = settingsOf(set)
      return `${collective} ${algorithm}, ${size} B among ${ranks}`
    },
    document: algorithmDocument,
    show: showAlgorithms,
  })
}
