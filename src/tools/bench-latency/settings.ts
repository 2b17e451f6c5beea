/**
 * The settings of the latency benchmark (docs/guide/bench-latency.md).
 *
 * `t_subm` is the payload: 8 bytes little endian with the `tv_nsec` of CLOCK_MONOTONIC, written right before the work
 * request is posted (`stamp: submit`), or rewritten by a thread until the adapter has read it (`stamp: send`).
 */
import type { Engine } from '../../index.ts'
import { coreList, devicePair, type GivenOptions, onOff, parseLists, type SettingOption } from '../bench-kit/index.ts'
import type { Service } from '../bench-thread/index.ts'
import { integer, oneOf } from '../kit/index.ts'

export type Operation = 'send-imm' | 'write-imm'
export type PollMode = 'busy' | 'event'
export type Stamp = 'submit' | 'send'

export interface LatencySettings {
  /** Sending and receiving adapter, separated by a comma. */
  device: string
  service: Service
  op: Operation
  /** Bytes of a message. */
  size: number
  /** Method by which the receiver detects messages (t_recv), and the sender completions (t_comp). */
  poll: PollMode
  pollComp: PollMode
  inline: boolean
  unsignaled: boolean
  /** Number of messages of one test. */
  burst: number
  /** Nanoseconds between posts. */
  pause: number
  stamp: Stamp
  engine: Engine
  /** Value of `--pin`: `auto`, `none`, or cores: sender, receiver, engine, stamping thread. */
  pin: string
}

export type LatencyLists = { [K in keyof LatencySettings]: LatencySettings[K][] }

export const maxBurst = 8192
const maxPauseNs = 1_000_000_000
export const messageSizes: readonly number[] = Array.from({ length: 13 }, (_, i) => 8 * 2 ** i)

export const latencyOptions: { readonly [K in keyof LatencySettings]: SettingOption<LatencySettings[K]> } = {
  device: {
    flag: '--device',
    argument: '<names>',
    description: 'sending and receiving adapter; a single one is paired with its neighbour',
    expected: 'one adapter or two with a comma (repeat the option for more pairs)',
    example: 'shm0,shm1',
    fallback: ['shm0,shm1'],
    parse: devicePair,
    whole: true,
  },
  service: {
    flag: '--service',
    argument: '<types>',
    description: 'service type: RC, UC, UD',
    expected: 'RC, UC or UD',
    example: 'RC,UC,UD',
    fallback: ['RC'],
    parse: oneOf('RC', 'UC', 'UD'),
  },
  op: {
    flag: '--op',
    argument: '<operations>',
    description: 'operation: send-imm, write-imm (UD has only send-imm)',
    expected: 'send-imm or write-imm',
    example: 'send-imm,write-imm',
    fallback: ['send-imm'],
    parse: oneOf('send-imm', 'write-imm'),
  },
  size: {
    flag: '--size',
    argument: '<bytes>',
    description: 'message size: 8, 16, 32, … 32768 (UD up to the MTU)',
    expected: '8·2^i bytes: 8, 16, 32, … 32768',
    example: '8,512,32768',
    fallback: [8],
    parse: (text) => {
      const size = integer(8, 32768)(text)
      return size !== undefined && messageSizes.includes(size) ? size : undefined
    },
  },
  poll: {
    flag: '--poll',
    argument: '<modes>',
    description: 'how the receiver waits: busy, event',
    expected: 'busy or event',
    example: 'busy,event',
    fallback: ['busy'],
    parse: oneOf('busy', 'event'),
  },
  pollComp: {
    flag: '--poll-comp',
    argument: '<modes>',
    description: 'how the sender waits for completions: busy, event',
    expected: 'busy or event',
    example: 'busy,event',
    fallback: ['busy'],
    parse: oneOf('busy', 'event'),
  },
  inline: {
    flag: '--inline',
    argument: '[on|off]',
    description: 'copy the payload into the work request when it is posted',
    expected: 'on or off',
    example: 'on,off',
    fallback: [false],
    parse: onOff,
  },
  unsignaled: {
    flag: '--unsignaled',
    argument: '[on|off]',
    description: 'no completions for sends, but the few that drain the send queue: no t_comp',
    expected: 'on or off',
    example: 'on,off',
    fallback: [false],
    parse: onOff,
  },
  burst: {
    flag: '--burst',
    argument: '<messages>',
    description: `messages of one test: 1 to ${maxBurst}`,
    expected: `a whole number from 1 to ${maxBurst}`,
    example: '1,1024',
    fallback: [4096],
    parse: integer(1, maxBurst),
  },
  pause: {
    flag: '--pause',
    argument: '<ns>',
    description: 'nanoseconds between posts; 0 posts as fast as it goes',
    expected: `a whole number of nanoseconds from 0 to ${maxPauseNs}`,
    example: '0,1000',
    fallback: [1000],
    parse: integer(0, maxPauseNs),
  },
  stamp: {
    flag: '--stamp',
    argument: '<moments>',
    description: 'what the payload tells: submit (when it was posted), send (when the adapter read it)',
    expected: 'submit or send',
    example: 'submit,send',
    fallback: ['submit'],
    parse: oneOf('submit', 'send'),
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
    description: 'cores of the sender, receiver, engine and stamping thread',
    expected: 'auto, none, or core numbers with commas (repeat the option for more)',
    example: '0,1',
    fallback: ['auto'],
    parse: coreList,
    whole: true,
  },
}

export function parseLatencyLists(given: GivenOptions, instead: Partial<LatencyLists> = {}): LatencyLists {
  return parseLists<LatencySettings>(latencyOptions, given, instead)
}
