/** The plan of a run: lists of settings to combinations that can be measured. */
import { mostSignals } from '../../gateway/index.ts'
import {
  combinations,
  type GivenOptions,
  makePlan,
  type Plan,
  parseList,
  type SettingOption,
} from '../bench-kit/index.ts'
import { integer, oneOf, UsageError } from '../kit/index.ts'
import {
  type Ends,
  endsOf,
  modeNames,
  type NodeName,
  type NodeSettings,
  nodeModes,
  nodeNames,
  type TimerName,
  timerNames,
} from './settings.ts'

/** Lists of values that the options give; `undefined`: as without the option. */
interface NodeLists {
  node: NodeName
  mode: string
  values: number
  rate: number
  timer: TimerName
  device: string
  maxInlineData: number
  periodicSignaling: number
  bufferSubtraction: number
}

export const nodeOptions: { readonly [K in keyof NodeLists]: SettingOption<NodeLists[K]> } = {
  node: {
    flag: '--node',
    argument: '<types>',
    description: `node-types: ${nodeNames.join(', ')}`,
    expected: nodeNames,
    example: 'loopback,shmem,infiniband',
    fallback: ['loopback'],
    parse: oneOf(...nodeNames),
  },
  mode: {
    flag: '--mode',
    argument: '<modes>',
    description: "modes of the types (default: each type's first)",
    expected: modeNames,
    example: 'RC,UC,UD',
    fallback: [],
    parse: oneOf(...modeNames),
  },
  values: {
    flag: '--values',
    argument: '<counts>',
    description: 'values of a sample',
    expected: `a whole number from 1 to ${mostSignals}`,
    example: '1,8,64',
    fallback: [8],
    parse: integer(1, mostSignals),
  },
  rate: {
    flag: '--rate',
    argument: '<hz>',
    description: 'samples per second',
    expected: 'a number of hertz from 0.001 to 10000000',
    example: '100,10000',
    fallback: [10_000],
    parse: (text) => {
      const rate = text === '' ? Number.NaN : Number(text)
      return rate >= 0.001 && rate <= 1e7 ? rate : undefined
    },
  },
  timer: {
    flag: '--timer',
    argument: '<names>',
    description: `how the generator waits: ${timerNames.join(', ')}`,
    expected: timerNames,
    example: 'hybrid,timerfd',
    fallback: ['hybrid'],
    parse: oneOf(...timerNames),
  },
  device: {
    flag: '--device',
    argument: '<names>',
    description: 'verbs devices of infiniband: shm (one for this run), roce, or any other name',
    expected: 'the name of a device',
    example: 'shm,roce',
    fallback: ['shm'],
    parse: (text) => text || undefined,
  },
  maxInlineData: {
    flag: '--max-inline-data',
    argument: '<bytes>',
    description: 'of infiniband: samples of fewer bytes are sent inline; 0: none (default: 128)',
    expected: 'a whole number of bytes from 0 to 512',
    example: '0,128,512',
    fallback: [],
    parse: integer(0, 512),
  },
  periodicSignaling: {
    flag: '--periodic-signaling',
    argument: '<requests>',
    description: 'of infiniband: every n-th inline send is signaled instead (default: 2048)',
    expected: 'a whole number from 1 to 4096',
    example: '1,64,2048',
    fallback: [],
    parse: integer(1, 4096),
  },
  bufferSubtraction: {
    flag: '--buffer-subtraction',
    argument: '<requests>',
    description: 'of infiniband: how many receives of 4096 are not posted (default: 128)',
    expected: 'a whole number from 2 to 4094',
    example: '2,128,4000',
    fallback: [],
    parse: integer(2, 4094),
  },
}

const mostSets = 10_000

/** Makes the plan. Throws a `UsageError` for values that are not possible, or if nothing is left to measure. */
export function planNodes(given: GivenOptions, ends: Ends, repeat: number): Plan<NodeSettings> {
  const list = <K extends keyof NodeLists>(key: K): NodeLists[K][] => parseList(nodeOptions[key], given[key])
  const [nodes, modes] = [list('node'), list('mode')]
  const common = { values: list('values'), rate: list('rate'), timer: list('timer') }
  const own = { device: list('device') }
  const studied = Object.fromEntries(
    (['maxInlineData', 'periodicSignaling', 'bufferSubtraction'] as const).flatMap((key) => {
      const values = list(key)
      return values.length > 0 ? [[key, values]] : []
    }),
  )
  const all = nodes.flatMap((node) => {
    const known: readonly string[] = nodeModes[node]
    const mode = modes.length === 0 ? [known[0]!] : known.filter((each) => modes.includes(each))
    const lists = { node: [node], mode, ...common, ends: [endsOf(node, ends)] }
    return combinations<NodeSettings>((node === 'infiniband' ? { ...lists, ...own, ...studied } : lists) as never)
  })
  if (all.length === 0)
    throw new UsageError(
      '--mode',
      `${nodes.join(', ')} has other modes: ${nodes.map((name) => nodeModes[name].join(', ')).join('; ')}`,
    )
  if (all.length * repeat > mostSets)
    throw new UsageError(
      '--repeat',
      `these lists make ${all.length * repeat} runs, more than ${mostSets}: shorten some`,
    )
  const plan = makePlan(all, () => null, repeat, 1)
  // In the order of the lists: each run has gateways of its own, and its files are numbered in that order.
  return { ...plan, order: plan.sets.map((_, i) => i) }
}
