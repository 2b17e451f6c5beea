/**
 * What is compared on a network, here loopback, between two processes with an adapter each:
 *
 *     write-bandwidth   stream of RC WRITEs             iperf3, one TCP connection
 *     send-latency      RC SEND of 8 bytes, ping-pong   ucx_perftest -t tag_lat over TCP; sockperf over TCP; and the same
 *                                                       system calls without a protocol, which is what the system takes
 *     message-rate      stream of RC SENDs of 8 bytes, 128 outstanding
 *     connections       stream of RC WRITEs of 64 KiB over 1,000 connections in turn, against one connection
 */
import { formatCount } from '../src/report/index.ts'
import { type Comparison, compare, compareToGoal } from './comparison.ts'
import { isInstalled } from './programs.ts'
import { runIperf, runSockperf } from './tcp.ts'
import { runUcx, ucxInstalled } from './ucx.ts'
import type { WireEnds } from './wire-ends.ts'

export interface WireJob {
  name: string
  run(ends: WireEnds, rounds: number, cores: readonly [number, number] | null): Promise<Comparison[]>
}

const messageBytes = 8
const ucxIterations = 100_000
/** Messages a second on two cores. */
const rateGoal = 4e6
const manyConnections = 1000
const bandwidthBytes = 65536

export const wireJobs: WireJob[] = [
  ...[
    { sizeBytes: bandwidthBytes, size: '64 KiB' },
    { sizeBytes: 1_048_576, size: '1 MiB' },
  ].map(({ sizeBytes, size }) => ({
    name: `write-bandwidth-${sizeBytes}`,
    run: async (ends: WireEnds, rounds: number) => {
      const our: number[] = []
      const their: number[] = []
      const peer = isInstalled('iperf3') ? 'iperf3 (TCP)' : null
      for (let round = 0; round < rounds; round++) {
        our.push(await megabytesPerSecond(ends, sizeBytes, 1))
        if (peer !== null) their.push((await runIperf(sizeBytes)) / 1e6)
      }
      return [compare(`bandwidth, RC WRITE, ${size}, ${of(ends)}`, our, peer, their, 'MB/s', 'more is better')]
    },
  })),
  {
    name: 'send-latency',
    run: async (ends, rounds, cores) => {
      const our = { average: [] as number[], median: [] as number[] }
      const ucx = { average: [] as number[], median: [] as number[] }
      const sockperf = { average: [] as number[], median: [] as number[] }
      const bare = { average: [] as number[], median: [] as number[] }
      const put = (into: typeof our, { averageNs, medianNs }: { averageNs: number; medianNs: number }): void => {
        into.average.push(averageNs)
        into.median.push(medianNs)
      }
      const ucxName = ucxInstalled() ? 'UCX (tcp)' : null
      const sockperfName = isInstalled('sockperf') ? 'sockperf (TCP)' : null
      for (let round = 0; round < rounds; round++) {
        put(our, await ends.pingPong(messageBytes))
        put(bare, await ends.pingPongBare())
        const run = { sizeBytes: messageBytes, iterations: ucxIterations, cores }
        if (ucxName !== null) put(ucx, await runUcx({ test: 'tag_lat', transport: 'tcp', ...run }))
        if (sockperfName !== null) put(sockperf, await runSockperf())
      }
      const row = (statistic: 'average' | 'median', peer: string | null, theirs: typeof our): Comparison => {
        const name = `one-way latency, RC SEND, ${messageBytes} bytes, ${statistic}, ${of(ends)}`
        return compare(name, our[statistic], peer, theirs[statistic], 'ns', 'less is better')
      }
      const rows = [row('average', ucxName, ucx), row('median', ucxName, ucx)]
      if (sockperfName !== null)
        rows.push(row('average', sockperfName, sockperf), row('median', sockperfName, sockperf))
      return [...rows, row('median', 'bare sendmsg and recvmsg', bare)]
    },
  },
  {
    name: 'message-rate',
    run: async (ends, rounds) => {
      const rates: number[] = []
      for (let round = 0; round < rounds; round++) {
        const { messages, seconds } = await ends.pour('send', messageBytes, 1)
        rates.push(messages / seconds)
      }
      const name = `message rate, RC SEND, ${messageBytes} bytes, 128 outstanding, ${of(ends)}`
      if (of(ends) !== 'roce') return [compare(name, rates, null, [], 'messages/s', 'more is better')]
      return [compareToGoal(name, rates, rateGoal, 'messages/s', 'more is better')]
    },
  },
  {
    name: 'connections',
    run: async (ends, rounds) => {
      const many: number[] = []
      const one: number[] = []
      for (let round = 0; round < rounds; round++) {
        many.push(await megabytesPerSecond(ends, bandwidthBytes, manyConnections))
        one.push(await megabytesPerSecond(ends, bandwidthBytes, 1))
      }
      const name = `bandwidth, RC WRITE, 64 KiB, ${formatCount(manyConnections)} connections, ${of(ends)}`
      return [compare(name, many, 'Verbena with 1 connection', one, 'MB/s', 'more is better')]
    },
  },
]

async function megabytesPerSecond(ends: WireEnds, sizeBytes: number, connections: number): Promise<number> {
  const { messages, seconds } = await ends.pour('write', sizeBytes, connections)
  return (messages * sizeBytes) / seconds / 1e6
}

/** Both adapters of a network are of one kind: `roce`. */
function of(ends: WireEnds): string {
  return ends.devices[0].split(':')[0]!
}
