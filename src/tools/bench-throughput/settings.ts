/**
 * The settings of the throughput benchmark: the techniques of docs/guide/tutorial.md, in its order, each on top of
 * its echo: a client keeps a number of messages outstanding to a server, which sends each back.
 */
import type { Engine } from '../../index.ts'
import {
  combinations,
  coreList,
  devicePair,
  type GivenOptions,
  type Limits,
  parseLists,
  type SettingOption,
} from '../bench-kit/index.ts'
import type { Service } from '../bench-thread/index.ts'
import { integer, oneOf } from '../kit/index.ts'

/** Descriptions of the techniques, for help and reports. */
export const techniqueTexts = {
  'send-recv': 'SEND into posted receives, every SEND signaled',
  write: 'RDMA WRITE, arrival seen by polling memory, every WRITE signaled',
  'write-unsignaled': 'the same, with one signaled WRITE in 64 (selective signaling)',
  'write-inline': 'selective signaling, and the payload inside the work request',
  'write-batch': 'selective signaling, and several WRITEs linked into one post (--batch)',
  srq: 'SEND with the rank of its QP as immediate, many QPs on one shared receive queue (--qps)',
  'write-imm': 'RDMA WRITE with immediate, many QPs on one completion queue (--qps)',
} as const

export type Technique = keyof typeof techniqueTexts
export const techniques = Object.keys(techniqueTexts) as Technique[]

export interface ThroughputSettings {
  device: string
  technique: Technique
  service: Service
  /** Number of messages outstanding. */
  concurrent: number
  /** Number of work requests of one post. */
  batch: number
  /** Bytes of a message. */
  size: number
  /** Number of queue pairs at each end. */
  qps: number
  engine: Engine
  pin: string
}

export type ThroughputLists = { [K in keyof ThroughputSettings]: ThroughputSettings[K][] }

const powersTo64: readonly number[] = [1, 2, 4, 8, 16, 32, 64]
const maxConcurrent = 4096
const maxSizeBytes = 1 << 20
const maxQps = 1024

export const throughputOptions: { readonly [K in keyof ThroughputSettings]: SettingOption<ThroughputSettings[K]> } = {
  device: {
    flag: '--device',
    argument: '<names>',
    description: "client's and server's adapter; a single one is paired with its neighbour",
    expected: 'one adapter or two with a comma (repeat the option for more pairs)',
    example: 'shm0,shm1',
    fallback: ['shm0,shm1'],
    parse: devicePair,
    whole: true,
  },
  technique: {
    flag: '--technique',
    argument: '<names>',
    description: `technique: ${techniques.join(', ')}`,
    expected: techniques,
    example: 'send-recv,write-batch',
    fallback: techniques,
    parse: oneOf(...techniques),
  },
  service: {
    flag: '--service',
    argument: '<types>',
    description: 'service type: RC, UC, UD (UD has only send-recv)',
    expected: 'RC, UC or UD',
    example: 'RC,UC',
    fallback: ['RC'],
    parse: oneOf('RC', 'UC', 'UD'),
  },
  concurrent: {
    flag: '--concurrent',
    argument: '<messages>',
    description: `messages outstanding: 1 to ${maxConcurrent}`,
    expected: `a whole number from 1 to ${maxConcurrent}`,
    example: '1,16,64',
    fallback: powersTo64,
    parse: integer(1, maxConcurrent),
  },
  batch: {
    flag: '--batch',
    argument: '<requests>',
    description: 'linked work requests of one post, for write-batch',
    expected: `a whole number from 1 to ${maxConcurrent}`,
    example: '1,4,16',
    fallback: [4],
    parse: integer(1, maxConcurrent),
  },
  size: {
    flag: '--size',
    argument: '<bytes>',
    description: `message size: 1 to ${maxSizeBytes}`,
    expected: `a whole number of bytes from 1 to ${maxSizeBytes}`,
    example: '8,4096',
    fallback: [8],
    parse: integer(1, maxSizeBytes),
  },
  qps: {
    flag: '--qps',
    argument: '<pairs>',
    description: 'queue pairs at each end, for srq and write-imm',
    expected: `a whole number from 1 to ${maxQps}`,
    example: '1,16',
    fallback: [16],
    parse: integer(1, maxQps),
  },
  engine: {
    flag: '--engine',
    argument: '<engines>',
    description: 'what executes requests: poster (the posting thread), thread (one that plays the adapter)',
    expected: 'poster or thread',
    example: 'poster,thread',
    fallback: ['poster'],
    parse: oneOf('poster', 'thread'),
  },
  pin: {
    flag: '--pin',
    argument: '<cores>',
    description: 'cores of the client, the server and their engine threads',
    expected: 'auto, none, or core numbers with commas (repeat the option for more)',
    example: '0,1',
    fallback: ['auto'],
    parse: coreList,
    whole: true,
  },
}

export function parseThroughputLists(given: GivenOptions): ThroughputLists {
  return parseLists<ThroughputSettings>(throughputOptions, given)
}

/**
 * Returns the product of the lists, in which a setting that a technique does not have takes no part. Without a list for
 * technique, concurrency or batch, the tutorial's second comparison is added: batch size at 64 concurrent messages.
 */
export function throughputCombinations(lists: ThroughputLists, given: GivenOptions): ThroughputSettings[] {
  const product = combinations<ThroughputSettings>(lists)
  if (!given.technique && !given.concurrent && !given.batch) {
    product.push(
      ...combinations<ThroughputSettings>({
        ...lists,
        technique: ['write-batch'],
        concurrent: [64],
        batch: [...powersTo64],
      }),
    )
  }
  const distinct = new Map<string, ThroughputSettings>()
  for (const settings of product) {
    const { technique } = settings
    const fitting = {
      ...settings,
      batch: technique === 'write-batch' ? settings.batch : 1,
      qps: usesManyQps(technique) ? settings.qps : 1,
    }
    distinct.set(JSON.stringify(fitting), fitting)
  }
  return [...distinct.values()]
}

export function usesManyQps(technique: Technique): boolean {
  return technique === 'srq' || technique === 'write-imm'
}

export function pollsMemory(technique: Technique): boolean {
  return technique.startsWith('write') && technique !== 'write-imm'
}

export function throughputExclusion(s: ThroughputSettings, limits: Limits): string | null {
  if (s.service === 'UD' && s.technique !== 'send-recv') return 'of these techniques UD has only send-recv (--service)'
  if (s.service === 'UD' && s.size > limits.mtu)
    return `a UD message is one packet, at most the MTU of ${limits.mtu} bytes (--size)`
  if (s.technique === 'write-inline' && s.size > limits.maxInlineData)
    return `write-inline takes at most ${limits.maxInlineData} bytes here (--size)`
  return null
}
