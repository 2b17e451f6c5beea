/**
 * Settings of a test of `verbena perf`: perftest's options with its defaults. Both ends work with the same `PerfSettings`;
 * settings that concern one end only are in `EndSettings`.
 */
import { PathMtus } from '../../index.ts'
import { UsageError, wrongValue } from '../kit/index.ts'

export const perfTests = [
  'send_lat',
  'send_bw',
  'write_lat',
  'write_bw',
  'read_lat',
  'read_bw',
  'atomic_lat',
  'atomic_bw',
] as const
export type PerfTest = (typeof perfTests)[number]
export type Verb = 'send' | 'write' | 'read' | 'atomic'
export const connections = ['RC', 'UC', 'UD'] as const
export type Connection = (typeof connections)[number]
export const atomicTypes = ['FETCH_AND_ADD', 'CMP_AND_SWAP'] as const
export type AtomicType = (typeof atomicTypes)[number]

/** Settings on which both ends must agree; the client's take precedence. */
export interface PerfSettings {
  test: PerfTest
  /** Bytes of messages, one measurement each. */
  sizes: number[]
  /** Number of messages of each queue pair; 0 when `duration` ends the test. */
  iters: number
  /** Seconds; 0 when `iters` ends the test. */
  duration: number
  /** Seconds at the beginning and at the end of `duration` that are not measured. */
  margin: number
  /** Number of messages of each queue pair before the measurement; −1: see `warmupOf`. */
  warmup: number
  txDepth: number
  rxDepth: number
  /** Number of work requests that are linked and posted together. */
  postList: number
  qps: number
  connection: Connection
  /** Bytes of the path MTU; 0: the smaller active MTU of both ports. */
  mtu: number
  /** Maximum number of outstanding READs and atomics. */
  outs: number
  /** Maximum bytes of a message that is sent inline. */
  inlineSize: number
  events: boolean
  bidirectional: boolean
  /** Messages per second of each sender; 0: as fast as possible. With a latency test: open loop. */
  rate: number
  /** Number of work requests of which one makes a completion. */
  cqMod: number
  atomicType: AtomicType
  /** Code of the local ACK timeout, 4.096 µs · 2^qpTimeout. */
  qpTimeout: number
  /** True if the RDMA CM connects the queue pairs. */
  rdmaCm: boolean
  /** Number of retries of a packet that is not acknowledged. */
  retryCount: number
}

export interface EndSettings {
  /** Host of the server; undefined for the server itself. */
  host?: string
  port: number
  /** Own address of the TCP connection, on which a server listens. */
  source?: string
  device?: string
  ibPort: number
  gidIndex: number
  sl: number
  waitMs: number
  /** True if the client shows every latency. */
  samples: boolean
  /** Milliseconds without an arrival after which a measurement is given up. */
  stallMs: number
}

export const verbOf = (test: PerfTest): Verb => test.slice(0, test.indexOf('_')) as Verb
export const isLatency = (test: PerfTest): boolean => test.endsWith('_lat')

/** Sizes of `-a`: 2, 4, … 2^23 bytes. */
export const allSizes: readonly number[] = Array.from({ length: 23 }, (_, i) => 2 ** (i + 1))
export const maxQps = 1024

/** Returns perftest's default iterations. */
export function defaultIters(test: PerfTest): number {
  return test === 'write_bw' ? 5000 : 1000
}

/**
 * Returns the number of messages before the measurement with messages of this size: enough for the code to be compiled, and
 * not too many bytes. A latency test stops warming up after a second.
 */
export function warmupOf({ warmup, test }: PerfSettings, size: number): number {
  if (warmup >= 0) return warmup
  return Math.min(isLatency(test) ? 10_000 : 5000, Math.max(10, Math.floor(2 ** 26 / size)))
}

const primingRounds = 4
/** Number of messages of all queue pairs in a round; limited to a multiple of the send queue depth, for the sake of slow links. */
const primingMessages = 20_000
const primingDepths = 200

/**
 * Returns the measurements before the first one, whose results are discarded, if messages are counted and not paced: code is compiled
 * after tens of thousands of messages, and for the first queue pairs alone, so that it is compiled again with the second ones. Small
 * messages suffice.
 */
export function primingOf(settings: PerfSettings): PerfSettings[] {
  const { warmup, test, sizes, qps, rate, duration, txDepth } = settings
  if (warmup >= 0 || isLatency(test) || duration > 0 || rate > 0) return []
  const messages = Math.ceil(Math.min(primingMessages / qps, primingDepths * txDepth))
  const round = { ...settings, sizes: [Math.min(8, sizes[0]!)], iters: messages, warmup: 0 }
  return Array.from({ length: primingRounds }, () => round)
}

/** Throws a UsageError for settings that cannot be measured. */
export function checkSettings(s: PerfSettings): void {
  const verb = verbOf(s.test)
  const latency = isLatency(s.test)
  if ((verb === 'read' || verb === 'atomic') && s.connection !== 'RC')
    throw new UsageError('-c', `${s.connection} has no ${verb === 'read' ? 'READ' : 'atomics'}: only RC has`)
  if (verb === 'write' && s.connection === 'UD') throw new UsageError('-c', 'UD carries no RDMA WRITE: use RC or UC')
  if (verb === 'atomic' && s.sizes.some((size) => size !== 8)) throw new UsageError('-s', 'atomics have 8 bytes')
  if (latency && s.qps > 1) throw new UsageError('-q', 'a latency test has one queue pair')
  if (latency && s.bidirectional) throw new UsageError('-b', 'a latency test goes both ways already')
  if (latency && s.postList > 1) throw new UsageError('-l', 'a latency test posts one request at a time')
  if (s.test === 'write_lat' && s.events)
    throw new UsageError(
      '-e',
      'write_lat looks for its messages in memory, where nothing makes an event: send_lat does',
    )
  if (s.test === 'write_lat' && s.rate > 0 && s.connection !== 'RC')
    throw new UsageError('--rate', 'write_lat under load needs RC: a lost WRITE leaves no trace')
  if (s.postList > s.txDepth)
    throw new UsageError('-l', `a list of ${s.postList} does not fit a send queue of ${s.txDepth} (-t)`)
  if (s.mtu !== 0 && !PathMtus.some((mtu) => mtu === s.mtu)) throw wrongValue('-m', s.mtu, PathMtus.map(String), 1024)
  if (s.duration > 0 && s.margin * 2 >= s.duration)
    throw new UsageError('-f', `two margins of ${s.margin} s leave nothing of ${s.duration} s`)
}

const flags: Readonly<Record<keyof PerfSettings, string>> = {
  test: 'the test',
  sizes: '-s',
  iters: '-n',
  duration: '-D',
  margin: '-f',
  warmup: '--warmup',
  txDepth: '-t',
  rxDepth: '-r',
  postList: '-l',
  qps: '-q',
  connection: '-c',
  mtu: '-m',
  outs: '-o',
  inlineSize: '-I',
  events: '-e',
  bidirectional: '-b',
  rate: '--rate',
  cqMod: '-Q',
  atomicType: '-A',
  qpTimeout: '-u',
  rdmaCm: '-R',
  retryCount: '--retry_count',
}

/** Returns a sentence on the first setting of the server that contradicts the client's; null if there is none. */
export function disagreement(server: Partial<PerfSettings>, client: PerfSettings): string | null {
  for (const key of Object.keys(flags) as (keyof PerfSettings)[]) {
    const here = server[key]
    if (here === undefined || JSON.stringify(here) === JSON.stringify(client[key])) continue
    return `${flags[key]} is ${here} at the server and ${client[key]} at the client: leave it out at the server, or give both the same`
  }
  return null
}
