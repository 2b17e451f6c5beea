/** `verbena bench throughput` */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { checkPlan, configureBench, limitsOf, makePlan, repeatOption, seedOption } from '../bench-kit/index.ts'
import {
  parseThroughputLists,
  techniqueTexts,
  throughputCombinations,
  throughputExclusion,
  throughputOptions,
} from './settings.ts'
import { measureThroughput } from './show.ts'

const examples = `
A client keeps a number of messages outstanding to a server, which sends each of them back (the echo of the tutorial).
A message counts when it is back; rates are those of one direction.

Techniques:
${Object.entries(techniqueTexts)
  .map(([name, text]) => `  ${name.padEnd(17)} ${text}`)
  .join('\n')}

Without --technique, --concurrent and --batch both comparisons of the tutorial are made: the techniques over the number
of concurrent messages, and the batch size at 64 concurrent messages.

Examples:
  verbena bench throughput
  verbena bench throughput --technique send-recv,write-inline --concurrent 1,64
  verbena bench throughput --technique write-batch --batch 1,2,4,8,16 --concurrent 64
  verbena bench throughput --technique send-recv --service RC,UC,UD --size 8,4096 --seconds 1 --json`

const numbers = {
  seconds: {
    ...{ flag: '--seconds', argument: '<time>', description: 'time of each measurement' },
    ...{ fallback: 0.3, min: 0.001, max: 3600, fraction: true },
  },
  messages: {
    ...{ flag: '--messages', argument: '<number>', description: 'end a measurement after this number of messages' },
    ...{ fallback: Number.MAX_SAFE_INTEGER, without: '', min: 1, max: Number.MAX_SAFE_INTEGER },
  },
  warmup: {
    flag: '--warmup',
    argument: '<messages>',
    description: 'messages before each measurement that are not counted',
    ...{ fallback: 20_000, min: 0, max: 1e9 },
  },
  repeat: repeatOption,
  seed: seedOption,
}

/** Longest time of a measurement that a number of messages ends. */
const longestSeconds = 60

export function configure(command: Command): void {
  configureBench(command, {
    name: 'throughput',
    description: 'Measure messages and bytes per second of the techniques of docs/guide/tutorial.md.',
    settings: throughputOptions,
    numbers,
    help: examples,
    run: async (options, { seconds, messages, warmup, repeat, seed }, { json, outDir }) => {
      const lists = parseThroughputLists(options)
      const limits = limitsOf(lists.device)
      const all = throughputCombinations(lists, options)
      const plan = makePlan(all, (settings) => throughputExclusion(settings, limits), repeat, seed)
      checkPlan(plan, {}, '--technique')
      const byMessages = options.messages !== undefined && options.seconds === undefined
      const time = byMessages ? longestSeconds : seconds
      endWith(await measureThroughput({ plan, seconds: time, messages, warmup, outDir }, json))
    },
  })
}
