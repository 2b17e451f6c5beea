/**
 * Rsockets against TCP of the kernel, as netperf measures both: blocking calls, a client's and a server's thread.
 *
 *     rsocket-rr              a request and a response of 1 byte on shared memory   the same loop over TCP; sockperf
 *     rsocket-stream-SIZE     sends of one size on shared memory                    the same loop over TCP; iperf3
 *     rsocket-wire-…          the same on a network, which is loopback
 */
import { formatBytes } from '../src/report/index.ts'
import { SocketEnds, type SocketSettings, type Timing } from '../src/tools/bench-rsocket/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { isInstalled } from './programs.ts'
import { runIperf, runSockperf } from './tcp.ts'

export interface SocketJob {
  name: string
  run(ends: SocketComparisons, rounds: number): Promise<Comparison[]>
}

const usualTiming: Timing = { seconds: 0.5, warmup: 0.2 }
const memoryPair = 'shm0,shm1'

/** Our side of both: rsockets, and our own loop over TCP. */
export class SocketComparisons {
  readonly network: string
  readonly #ends = new SocketEnds()
  readonly #timing: Timing

  constructor(devices: readonly [string, string], timing: Timing = usualTiming) {
    this.network = devices.join(',')
    this.#timing = timing
  }

  async measure(
    test: 'rr' | 'stream',
    transport: 'rsocket' | 'tcp',
    device: string,
    size: number,
    pin = 'auto',
  ): Promise<number> {
    const settings: SocketSettings = {
      ...{ test, transport, device: transport === 'tcp' ? '' : device, size },
      ...{ poll: 'event', buffer: 0, extensions: true, direct: false, pin },
    }
    const { set } = await this.#ends.measure({ id: '001', settings, repeat: 1 }, this.#timing, false)
    if (set.error !== undefined) throw new Error(`${test} over ${transport}: ${set.error}`)
    return test === 'rr' ? 1e9 / set.messagesPerSecond : set.bytesPerSecond / 1e6
  }

  async end(): Promise<void> {
    await this.#ends.end()
  }
}

function requests(name: string, deviceOf: (ends: SocketComparisons) => string): SocketJob {
  return {
    name,
    run: async (ends, rounds) => {
      const device = deviceOf(ends)
      const [our, tcp, sockperf]: [number[], number[], number[]] = [[], [], []]
      const program = isInstalled('sockperf') ? 'sockperf (TCP)' : null
      for (let round = 0; round < rounds; round++) {
        our.push(await ends.measure('rr', 'rsocket', device, 1))
        tcp.push(await ends.measure('rr', 'tcp', device, 1))
        if (program !== null) sockperf.push(2 * (await runSockperf()).averageNs)
      }
      const what = `TCP_RR, 1 byte, rsocket on ${kindOf(device)}, a transaction`
      return [
        compare(what, our, 'kernel TCP, the same loop', tcp, 'ns', 'less is better'),
        ...(program === null ? [] : [compare(what, our, program, sockperf, 'ns', 'less is better')]),
      ]
    },
  }
}

function stream(name: string, size: number, deviceOf: (ends: SocketComparisons) => string): SocketJob {
  return {
    name: `${name}-${size}`,
    run: async (ends, rounds) => {
      const device = deviceOf(ends)
      const [our, tcp, iperf]: [number[], number[], number[]] = [[], [], []]
      const program = isInstalled('iperf3') ? 'iperf3 (TCP)' : null
      for (let round = 0; round < rounds; round++) {
        our.push(await ends.measure('stream', 'rsocket', device, size))
        tcp.push(await ends.measure('stream', 'tcp', device, size))
        if (program !== null) iperf.push((await runIperf(size)) / 1e6)
      }
      const what = `TCP_STREAM, ${formatBytes(size)}, rsocket on ${kindOf(device)}`
      return [
        compare(what, our, 'kernel TCP, the same loop', tcp, 'MB/s', 'more is better'),
        ...(program === null ? [] : [compare(what, our, program, iperf, 'MB/s', 'more is better')]),
      ]
    },
  }
}

/** `shm`, `roce`. */
function kindOf(device: string): string {
  return /^[a-z]+/.exec(device)?.[0] ?? device
}

const onMemory = (): string => memoryPair
const onNetwork = (ends: SocketComparisons): string => ends.network

export const socketJobs: SocketJob[] = [
  requests('rsocket-rr', onMemory),
  ...[4096, 65536, 1 << 20].map((size) => stream('rsocket-stream', size, onMemory)),
]

export const wireSocketJobs: SocketJob[] = [
  requests('rsocket-wire-rr', onNetwork),
  stream('rsocket-wire-stream', 65536, onNetwork),
]
