/** Options of `collective measure`, and the sets that follow from them. All ranks are started with the same options. */
import { algorithmsOf, type Collective, collectives } from '../../collectives/index.ts'
import {
  type GivenOptions,
  makePlan,
  type Plan,
  type PlannedSet,
  parseLists,
  type SettingOption,
} from '../bench-kit/index.ts'
import { oneOf, UsageError } from '../kit/index.ts'

/** Settings of a set, as they are saved. */
export interface AlgorithmSettings {
  readonly device: string
  readonly collective: Collective
  readonly algorithm: string
  /** Number of ranks that take part. */
  readonly ranks: number
  /** Bytes: the whole of a broadcast or a reduction, else the data from one rank to one other. */
  readonly size: number
  readonly repetitions: number
}

interface Lists {
  collective: Collective
  size: number
  /** Number of ranks. Empty: 2, 4, 8, …, and all. */
  among: number
}

export type ParsedLists = { readonly [K in keyof Lists]: readonly Lists[K][] }

const mostBytes = 1 << 28
/** Bytes of an element: sums are of Float64. */
export const elementBytes = 8
/** Sizes at a factor of 4: the chosen algorithm changes between two of them. */
const sizes = [8, 32, 128, 512, 2048, 8192, 32_768, 131_072, 524_288]

function whole(from: number, to: number, step: number): (text: string) => number | undefined {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= from && value <= to && value % step === 0 ? value : undefined
  }
}

export const algorithmOptions: { readonly [K in keyof Lists]: SettingOption<Lists[K]> } = {
  collective: {
    flag: '--collective',
    argument: '<names>',
    description: 'collectives',
    expected: collectives,
    example: 'broadcast,allreduce',
    fallback: collectives,
    parse: oneOf(...collectives),
  },
  size: {
    flag: '--size',
    argument: '<bytes>',
    description: 'all bytes of a broadcast or a reduction, else those from one rank to another',
    expected: `a whole number of bytes from ${elementBytes} to ${mostBytes}, a multiple of ${elementBytes}`,
    example: '8,4096,1048576',
    fallback: sizes,
    parse: whole(elementBytes, mostBytes, elementBytes),
  },
  among: {
    flag: '--among',
    argument: '<counts>',
    description: 'how many of the ranks take part (default: 2, 4, 8, …, and all)',
    expected: 'a whole number from 2 to 4096',
    example: '2,3,8',
    fallback: [],
    parse: whole(2, 4096, 1),
  },
}

/** Parses the options. Throws a UsageError. */
export function parseAlgorithmLists(given: GivenOptions): ParsedLists {
  return parseLists<Lists>(algorithmOptions, given)
}

/** Sets that are measured in turns: the algorithms of one collective, with one size and one number of ranks. */
export type Step = readonly PlannedSet<AlgorithmSettings>[]

export interface AlgorithmPlan extends Plan<AlgorithmSettings> {
  /** Steps by the number of ranks. */
  readonly steps: ReadonlyMap<number, readonly Step[]>
}

const mostSets = 20_000

/** Makes the plan. Throws a UsageError if no set is left, or too many. */
export function planAlgorithms(
  { collective, size, among }: ParsedLists,
  {
    device,
    ranks,
    repetitions,
    noMulticast,
  }: {
    device: string
    ranks: number
    repetitions: number
    /** Reason why the device has no multicast; empty if it has. */
    noMulticast: string
  },
): AlgorithmPlan {
  const counts = among.length > 0 ? among : [...doublings(ranks), ranks]
  const all = counts.flatMap((count) =>
    collective.flatMap((name) =>
      (name === 'barrier' ? [0] : size).flatMap((bytes) =>
        algorithmsOf(name, count).map(
          (algorithm): AlgorithmSettings => ({
            ...{ device, collective: name, algorithm, ranks: count, size: bytes, repetitions },
          }),
        ),
      ),
    ),
  )
  if (all.length > mostSets)
    throw new UsageError('--size', `these lists make ${all.length} sets, more than ${mostSets}: shorten some`)
  const excluded = (settings: AlgorithmSettings): string | null => {
    if (settings.ranks > ranks) return `the group has ${ranks} ranks (--among)`
    return noMulticast !== '' && settings.algorithm === 'multicast'
      ? `${device} has no multicast (${noMulticast})`
      : null
  }
  const plan = makePlan(all, excluded, 1, 1)
  if (plan.sets.length === 0)
    throw new UsageError('--among', `nothing is left to measure: the group has ${ranks} ranks`)
  const steps = new Map<number, PlannedSet<AlgorithmSettings>[][]>()
  let last: AlgorithmSettings | undefined
  for (const set of plan.sets) {
    const { settings } = set
    const here = steps.get(settings.ranks) ?? []
    const same =
      last?.ranks === settings.ranks && last.collective === settings.collective && last.size === settings.size
    if (same) here.at(-1)!.push(set)
    else here.push([set])
    steps.set(settings.ranks, here)
    last = settings
  }
  return { ...plan, steps }
}

/** Returns the powers of two below `most`. */
function doublings(most: number): number[] {
  const counts: number[] = []
  for (let count = 2; count < most; count *= 2) counts.push(count)
  return counts
}
