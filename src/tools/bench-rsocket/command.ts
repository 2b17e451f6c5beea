/** `verbena bench rsocket` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { checkPlan, configureBench, limitsOf, makePlan, repeatOption, seedOption } from '../bench-kit/index.ts'
import { wrongValue } from '../kit/index.ts'
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

const numbers = {
  seconds: {
    ...{ flag: '--seconds', argument: '<time>', description: 'time of each measurement' },
    ...{ fallback: 0.5, min: 0.001, max: 3600, fraction: true },
  },
  warmup: {
    ...{ flag: '--warmup', argument: '<seconds>', description: 'time before each measurement that is not counted' },
    ...{ fallback: 0.2, min: 0.001, max: 3600, fraction: true },
  },
  repeat: { ...repeatOption, fallback: 3 },
  seed: seedOption,
}

export function configure(command: Command): void {
  configureBench<typeof numbers, { profile?: string | true }>(command, {
    name: 'rsocket',
    description: 'Measure rsockets and kernel TCP: transactions and bytes per second, CPU use.',
    settings: socketOptions,
    numbers,
    others: (command) => command.option('--profile [sizes]', 'also sample in which functions time is spent'),
    help: examples,
    run: async (options, { seconds, warmup, repeat, seed }, { json, outDir }) => {
      const sizes = options.profile === undefined ? [] : sizesOf(options.profile)
      const lists = parseSocketLists(options)
      // Queries each adapter, so that a missing one is detected before anything is measured.
      if (lists.transport.includes('rsocket')) limitsOf(lists.device)
      const all = socketCombinations(lists, options)
      const plan = makePlan(all, socketExclusion, repeat, seed)
      checkPlan(plan, {}, '--direct')
      const measured = all.filter((settings) => socketExclusion(settings) === null)
      const profiles = options.profile === undefined ? [] : profileCombinations(measured, sizes)
      endWith(await measureSockets({ plan, profiles, seconds, warmup, outDir }, json))
    },
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
