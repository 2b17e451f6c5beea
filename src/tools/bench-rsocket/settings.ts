/**
 * The settings of the socket benchmark: netperf's TCP_RR and TCP_STREAM over rsockets on any adapter, and over TCP of the
 * kernel in the same run.
 */

import {
  combinations,
  coreList,
  devicePair,
  type GivenOptions,
  onOff,
  parseLists,
  type SettingOption,
} from '../bench-kit/index.ts'
import { integer, oneOf } from '../kit/index.ts'

export const socketTestTexts = {
  rr: 'TCP_RR: a request and a response of --size bytes, one at a time; transactions per second, round trips',
  stream: 'TCP_STREAM: sends of --size bytes, one way, as fast as they are taken; bytes per second',
} as const

export type SocketTest = keyof typeof socketTestTexts
export type Transport = 'rsocket' | 'tcp'

export interface SocketSettings {
  test: SocketTest
  transport: Transport
  /** Sending and receiving adapter, separated by a comma; empty for TCP, which runs over loopback. */
  device: string
  /** Bytes of a message. */
  size: number
  /** Method of an idle end: it polls, or it sleeps (rsockets: after polling for a moment, as librdmacm does). */
  poll: 'busy' | 'event'
  /** Bytes of the socket buffers; 0: the default of each kind of socket. */
  buffer: number
  /** True to use the extensions between two Verbena ends over version 1 of the protocol; rsockets only. */
  extensions: boolean
  /** True to send from memory of the adapter; rsockets only. */
  direct: boolean
  pin: string
}

export type SocketLists = { [K in keyof SocketSettings]: SocketSettings[K][] }

export const maxSocketSizeBytes: number = 16 << 20
/** Sizes of TCP_STREAM without --size. */
export const streamSizes: readonly number[] = Array.from({ length: 11 }, (_, i) => 4 ** i)
/** Sizes of TCP_RR without --size. */
const rrSizes: readonly number[] = [1]

export const socketOptions: { readonly [K in keyof SocketSettings]: SettingOption<SocketSettings[K]> } = {
  test: {
    flag: '--test',
    argument: '<tests>',
    description: 'test: rr (TCP_RR), stream (TCP_STREAM)',
    expected: 'rr or stream',
    example: 'rr,stream',
    fallback: ['rr', 'stream'],
    parse: oneOf('rr', 'stream'),
  },
  transport: {
    flag: '--transport',
    argument: '<transports>',
    description: 'what the sockets are: rsocket, tcp (of the kernel, on loopback)',
    expected: 'rsocket or tcp',
    example: 'rsocket,tcp',
    fallback: ['rsocket', 'tcp'],
    parse: oneOf('rsocket', 'tcp'),
  },
  device: {
    flag: '--device',
    argument: '<names>',
    description: "rsockets: the client's and the server's adapter; a single one is paired with its neighbour",
    expected: 'one adapter or two with a comma (repeat the option for more pairs)',
    example: 'shm0,shm1',
    fallback: ['shm0,shm1'],
    parse: devicePair,
    whole: true,
  },
  size: {
    flag: '--size',
    argument: '<bytes>',
    description: `message size: 1 to ${maxSocketSizeBytes} (default: 1 for rr, 1 byte to 1 MiB for stream)`,
    expected: `a whole number of bytes from 1 to ${maxSocketSizeBytes}`,
    example: '1,4096,65536',
    fallback: [],
    parse: integer(1, maxSocketSizeBytes),
  },
  poll: {
    flag: '--poll',
    argument: '<modes>',
    description: 'waiting: event (sleep, as netperf and librdmacm do) or busy (poll without end)',
    expected: 'busy or event',
    example: 'busy,event',
    fallback: ['event'],
    parse: oneOf('busy', 'event'),
  },
  buffer: {
    flag: '--buffer',
    argument: '<bytes>',
    description: 'send and receive buffer of both kinds of sockets; 0 leaves each its own',
    expected: 'a whole number of bytes from 0 to 268435456',
    example: '0,1048576',
    fallback: [0],
    parse: integer(0, 1 << 28),
  },
  extensions: {
    flag: '--extensions',
    argument: '[on|off]',
    description: 'rsockets: what two Verbena ends do better than version 1; off: as with a peer of librdmacm',
    expected: 'on or off',
    example: 'on,off',
    fallback: [true],
    parse: onOff,
  },
  direct: {
    flag: '--direct',
    argument: '[on|off]',
    description:
      'rsockets: send from memory of the adapter, which is not copied first (blocking sends of 4 KiB or more)',
    expected: 'on or off',
    example: 'on,off',
    fallback: [false],
    parse: onOff,
  },
  pin: {
    flag: '--pin',
    argument: '<cores>',
    description: 'cores of the client and the server',
    expected: 'auto, none, or core numbers with commas (repeat the option for more)',
    example: '0,1',
    fallback: ['auto'],
    parse: coreList,
    whole: true,
  },
}

export function parseSocketLists(given: GivenOptions): SocketLists {
  return parseLists<SocketSettings>(socketOptions, given)
}

/** Returns the product of the lists, in which a setting that a test or a transport does not have takes no part. */
export function socketCombinations(lists: SocketLists, given: GivenOptions): SocketSettings[] {
  const parts = lists.test.map((test) => {
    const size = given.size ? lists.size : test === 'rr' ? rrSizes : streamSizes
    return combinations<SocketSettings>({ ...lists, test: [test], size })
  })
  return distinct(parts.flat())
}

/** Returns the reason why a combination cannot be measured; null if it can. */
export function socketExclusion({ direct, poll }: SocketSettings): string | null {
  if (direct && poll === 'busy') return 'only calls that block send without a copy (--direct needs --poll event)'
  return null
}

/** Returns the combinations that are profiled, each once: streams of the given sizes, requests of the smallest. */
export function profileCombinations(all: readonly SocketSettings[], sizes: readonly number[]): SocketSettings[] {
  const smallest = Math.min(...all.filter(({ test }) => test === 'rr').map(({ size }) => size))
  return distinct(
    all.flatMap((settings) => {
      if (settings.test === 'stream') return sizes.map((size) => ({ ...settings, size }))
      return settings.size === smallest ? [settings] : []
    }),
  )
}

function distinct(all: readonly SocketSettings[]): SocketSettings[] {
  const found = new Map<string, SocketSettings>()
  for (const settings of all) {
    const fitting =
      settings.transport === 'tcp' ? { ...settings, device: '', extensions: true, direct: false } : settings
    found.set(JSON.stringify(fitting), fitting)
  }
  return [...found.values()]
}

/** Returns the settings as they are saved: without those that the transport does not have. */
export function savedSettings(settings: SocketSettings): Record<string, string | number | boolean> {
  const { device, extensions, direct, ...others } = settings
  return settings.transport === 'tcp' ? { ...others } : { ...others, device, extensions, direct }
}
