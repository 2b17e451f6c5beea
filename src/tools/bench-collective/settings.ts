/**
 * The settings of a run, with the names of Viertel (2006): TRANSPORT, MODE, MEASURE, MEMSIZE, REPETITIONS, MAXPOSTS. All ranks are started
 * with the same options, and rank 0 rejects a rank that was not.
 */
import { type GivenOptions, parseLists, type SettingOption } from '../bench-kit/index.ts'
import { integer } from '../kit/index.ts'

export const transports = ['RC', 'UC', 'UD', 'multicast'] as const
export type Transport = (typeof transports)[number]

export const modes = ['SEND', 'WRITE', 'WRITE_IMM', 'READ'] as const
export type Mode = (typeof modes)[number]

/**
 * Measures of scenario 1, between two processes. Scenario 2 goes from one to several and back; its last two are the parts of an RDMA
 * READ's time.
 */
const scenario1 = [
  'MEA_POST_RR_CPU_OVERHEAD',
  'MEA_POST_SR_CPU_OVERHEAD',
  'MEA_POLL_CQ_CPU_OVERHEAD',
  'MEA_SEND_TIME',
] as const
const scenario2 = ['MEA_RTT_TIME', 'MEA_SENDCOMPLETE_TIME', 'RDMART_1N', 'RDMART_N1'] as const
export type Measure = (typeof scenario1)[number] | (typeof scenario2)[number]
export const measures: readonly Measure[] = [...scenario1, ...scenario2]

export function isScenario1(measure: Measure): boolean {
  return (scenario1 as readonly string[]).includes(measure)
}

/** Settings of a set, as they are saved. */
export interface CollectiveSettings {
  readonly device: string
  readonly transport: Transport
  readonly mode: Mode
  readonly measure: Measure
  readonly repetitions: number
  /** Bytes of a message. */
  readonly size: number
  /** Number of remote processes, i of the seed. */
  readonly processes: number
  /** Scenario 1: number of messages in one step. */
  readonly posts?: number
}

export interface CollectiveLists {
  /** Device name. Empty: one created for this run where all ranks are on one host, else `roce`. */
  device: string
  transport: Transport
  mode: Mode
  measure: Measure
  /** Bytes of a message. Empty: doubling from 1 to MEMSIZE. */
  size: number
  /** Number of remote processes. Empty: 1 to all. */
  processes: number
  repetitions: number
  maxPosts: number
}

export const mostBytes: number = 1 << 28
const mostRepetitions = 100_000
const mostPosts = 4096

/** Accepts several spellings: with the seed's prefixes and suffixes or without, in any case of letters. */
function named<V extends string>(
  names: readonly V[],
  others: Readonly<Record<string, V>>,
): (text: string) => V | undefined {
  const plain = (text: string): string =>
    text
      .toUpperCase()
      .replaceAll('-', '_')
      .replace(/^(TRAN|MODE|MEA|RDMART)_/, '')
      .replace(/_(TIME|CPU_OVERHEAD)$/, '')
  const known = new Map<string, V>([...names.map((name) => [plain(name), name] as const), ...Object.entries(others)])
  return (text) => known.get(plain(text))
}

export const collectiveOptions: { readonly [K in keyof CollectiveLists]: SettingOption<CollectiveLists[K]> } = {
  device: {
    flag: '--device',
    argument: '<names>',
    description:
      'adapters: shm:NAME, roce:ADDRESS, …; %r stands for the rank + 1 (default: shm, one for this run, on one host; else roce)',
    expected: 'the name of a device',
    example: 'shm:lab,roce',
    fallback: [],
    parse: (text) => text || undefined,
  },
  transport: {
    flag: '--transport',
    argument: '<names>',
    description: `TRANSPORT: ${transports.join(', ')}`,
    expected: 'RC, UC, UD or multicast',
    example: 'RC,multicast',
    fallback: transports,
    parse: named(transports, { MC: 'multicast' }),
  },
  mode: {
    flag: '--mode',
    argument: '<names>',
    description: `MODE: ${modes.join(', ')}`,
    expected: 'SEND, WRITE, WRITE_IMM or READ',
    example: 'SEND,WRITE',
    fallback: modes,
    parse: named(modes, {
      ...{ RDMAW: 'WRITE', RDMA_WRITE: 'WRITE', RDMAR: 'READ', RDMA_READ: 'READ' },
      ...{ WRITE_WITH_IMM: 'WRITE_IMM', RDMA_WRITE_IMM: 'WRITE_IMM', RDMA_WRITE_WITH_IMM: 'WRITE_IMM' },
    }),
  },
  measure: {
    flag: '--measure',
    argument: '<names>',
    description: 'MEASURE: the measured time (below)',
    expected: measures,
    example: 'MEA_RTT_TIME,MEA_SENDCOMPLETE_TIME',
    fallback: ['MEA_RTT_TIME'],
    parse: named(measures, { SEND_COMPLETE: 'MEA_SENDCOMPLETE_TIME' }),
  },
  size: {
    flag: '--size',
    argument: '<bytes>',
    description: 'message sizes (default: doubling from 1 to MEMSIZE)',
    expected: `a whole number of bytes from 1 to ${mostBytes}`,
    example: '1,2048,65536',
    fallback: [],
    parse: integer(1, mostBytes),
  },
  processes: {
    flag: '--processes',
    argument: '<counts>',
    description: 'numbers of remote processes (default: 1 to all)',
    expected: 'a whole number from 1 to 4095',
    example: '1,3,7',
    fallback: [],
    parse: integer(1, 4095),
  },
  repetitions: {
    flag: '--repetitions',
    argument: '<counts>',
    description: 'REPETITIONS: of each step',
    expected: `a whole number from 1 to ${mostRepetitions}`,
    example: '1000',
    fallback: [100],
    parse: integer(1, mostRepetitions),
  },
  maxPosts: {
    flag: '--max-posts',
    argument: '<counts>',
    description: 'MAXPOSTS: scenario 1 sends 1 to this number of messages in a step; a list: exactly these numbers',
    expected: `a whole number from 1 to ${mostPosts}`,
    example: '16',
    fallback: [8],
    parse: integer(1, mostPosts),
  },
}

export type ParsedLists = { readonly [K in keyof CollectiveLists]: readonly CollectiveLists[K][] }

/** Parses the options. Throws a UsageError. `memSize`: bytes, for the sizes where none are given. */
export function parseCollectiveLists(given: GivenOptions, memSize: number): ParsedLists {
  const lists = parseLists<CollectiveLists>(collectiveOptions, given)
  return { ...lists, size: lists.size.length > 0 ? lists.size : doublings(memSize) }
}

/** Returns 1, 2, 4, … and the last one, as the seed's MEMSTEP. */
function doublings(most: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < most; size *= 2) sizes.push(size)
  return [...sizes, most]
}
