#!/usr/bin/env node
/**
 * `npm run bench`: Verbena side by side with other programs, in one run, in alternating rounds (ours, theirs, ours, …)
 * because a machine changes from minute to minute. Of the rounds the median counts, on both sides. On shared memory:
 *
 *     latency     RC SEND, ping-pong, both sides busy polling, half a round trip    ucx_perftest -t tag_lat
 *     bandwidth   stream of RC SENDs of 64 KiB                                      ucx_perftest -t tag_bw
 *     figures without another program: heap per message, cost of polling
 *
 *     samples     between nodes of the gateway: gateway-jobs.ts, samples-jobs.ts
 *     sketches    beside an exact Map, and npm's bloom-filters; their accuracy beside what is asked: sketch-jobs.ts
 *     monitor     packets a second of a capture, beside tcpdump and tshark; two threads, overload, many flows: monitor-jobs.ts
 *
 * and on a network, which is loopback, what wire-jobs.ts says; on both, rsockets (socket-jobs.ts) and programs under
 * verbena/preload (preload-jobs.ts, start-jobs.ts). Beside other work, and on one core: loaded-jobs.ts. Programs of perftest under
 * `verbena run`: run-jobs.ts.
 *
 * Two latencies are compared, each with its like: `average`, the whole run over its messages ("overall" of
 * ucx_perftest), and `median`, of single round trips ("50.0%ile").
 */
import { Command, CommanderError, Option } from 'commander'
import { exitCodes } from '../src/cli/terminal/index.ts'
import { getDeviceList, nativeAvailable } from '../src/index.ts'
import { formatCount } from '../src/report/index.ts'
import { describeMachine, devicePair, versions } from '../src/tools/bench-kit/index.ts'
import { deviceVariable, parseInteger, UsageError, wrongValue } from '../src/tools/kit/index.ts'
import { type CollectiveJob, collectiveJobs } from './collective-jobs.ts'
import { type Comparison, compare, compareToGoal } from './comparison.ts'
import { type GatewayJob, gatewayJobs } from './gateway-jobs.ts'
import { briefScale, type LoadedJob, loadedJobs, loadedRounds, usualScale } from './loaded-jobs.ts'
import { type MonitorJob, monitorJobs } from './monitor-jobs.ts'
import { Ours, twoCores } from './ours.ts'
import { type PreloadJob, preloadJobs } from './preload-jobs.ts'
import { endPrograms, isInstalled } from './programs.ts'
import { type RunJob, runJobs } from './run-jobs.ts'
import { samplesJobs } from './samples-jobs.ts'
import { type SketchJob, sketchJobs } from './sketch-jobs.ts'
import { SocketComparisons, type SocketJob, socketJobs, wireSocketJobs } from './socket-jobs.ts'
import { startJobs } from './start-jobs.ts'
import { type TrafficJob, trafficJobs } from './traffic-jobs.ts'
import { runUcx, ucxInstalled } from './ucx.ts'
import { WireEnds } from './wire-ends.ts'
import { type WireJob, wireJobs } from './wire-jobs.ts'

const latencySizes = [
  { sizeBytes: 8, iterations: 1_000_000 },
  { sizeBytes: 4096, iterations: 400_000 },
  { sizeBytes: 32768, iterations: 100_000 },
] as const
const smallest = latencySizes[0].sizeBytes
const bandwidth = { sizeBytes: 65536, iterations: 50_000 } as const
/** Of a cache line, beside the latency of the smallest message. */
const lineTrips = 1_000_000
const lineTarget = 1.25
const ucxTarget = 1
const rate = { sizeBytes: 8, iterations: 2_000_000, goal: 10e6 } as const
const manyQps = 1000
const messagesForHeap = 1_000_000

interface Options {
  only?: string
  rounds?: string
  device?: string
  brief?: boolean
  json?: boolean
}

function commandLine(): Command {
  return new Command('npm run bench --')
    .description(
      'Compares Verbena in one run with UCX (ucx_perftest, Debian package ucx-utils) on shared memory, and with UCX, iperf3 and sockperf over TCP on loopback; rsockets with TCP of the kernel, in the same loops and by iperf3 and sockperf. A program that is not installed is left out.',
    )
    .option('--only <names>', 'only these, with commas; the first words of a name stand for all of them (default: all)')
    .option(
      '--rounds <number>',
      'rounds of each comparison, of which the median counts (default: 7, and 3 of those beside load and on one core)',
    )
    .addOption(
      new Option(
        '-d, --device <pair>',
        `only the comparisons on a network, between these two adapters, each in a process of its own, for rsockets in a thread; roce and shm:NAME stand for a pair (default: all comparisons, and ${wirePair})`,
      ).env(deviceVariable),
    )
    .option(
      '--brief',
      'a moment of each comparison beside load and on one core: tells whether they run, and measures nothing',
    )
    .option(
      '--json',
      'print one JSON document: {"date","machine","versions","comparisons":[{"name","ours","peer","theirs","unit","ratio","target","met"}]}; rows without a target lack the last two',
    )
    .addHelpText('after', names)
    .exitOverride()
}

const names = `
On shared memory: latency-8, latency-4096, latency-32768, message-rate-shm, bandwidth, allocation, polling, rsocket-rr, rsocket-stream-4096,
rsocket-stream-65536, rsocket-stream-1048576; of the gateway gateway-infiniband-RC, gateway-infiniband-UC,
gateway-infiniband-UD, gateway-infiniband-RC-roce, gateway-infiniband-UD-roce, gateway-shmem, gateway-loopback,
gateway-missed, gateway-convert; under verbena/preload http-1, http-16,
http-warm-1, http-warm-16, http-sparse, http-strangers, connecting, connecting-warm, connecting-at-once, idle, start,
start-first, start-requests; of collectives collective-2, collective-4,
collective-two-cores; of sketches sketch-count-min, sketch-conservative,
sketch-count, sketch-coco, sketch-elastic, sketch-heavykeeper; of the monitor monitor-8, monitor-1024,
monitor-distinct, monitor-workers, monitor-overload, monitor-flows; of the traffic generator traffic-send, traffic-write.
On a network: write-bandwidth-65536, write-bandwidth-1048576, send-latency, message-rate, connections, rsocket-wire-rr,
rsocket-wire-stream-65536; under verbena/preload http-wire-1, http-wire-50, http-wire-warm-1, http-wire-warm-50,
http-wire-sparse, http-wire-strangers, connecting-wire, connecting-wire-warm, connecting-wire-at-once, idle-wire,
start-wire-first, start-wire-requests; of the traffic generator traffic-wire-send,
traffic-wire-write.
On both, where others run, too: busy-http-1, busy-http-16, busy-http-sparse, busy-rsocket-rr, busy-http-cpu, beside four processes
that compute on two cores; one-core-http-1, one-core-http-16; http-cpu.
Programs under verbena run, on shared memory: run-latency, run-events, run-bandwidth, run-rate, run-start, and these with busy- in front;
run-find, run-python, run-make.`

interface Job {
  name: string
  run(ours: Ours, rounds: number, peer: string | null, cores: readonly [number, number] | null): Promise<Comparison[]>
}

/** What an interrupt must end. */
let ends: WireEnds | undefined

const wirePair = 'roce:127.0.0.1,roce:127.0.0.2'

const memoryJobs: Job[] = [
  ...latencySizes.map(({ sizeBytes, iterations }) => ({
    name: `latency-${sizeBytes}`,
    run: async (ours: Ours, rounds: number, peer: string | null, cores: readonly [number, number] | null) => {
      const our = { average: [] as number[], median: [] as number[] }
      const their = { average: [] as number[], median: [] as number[] }
      const lines: number[] = []
      for (let round = 0; round < rounds; round++) {
        if (sizeBytes === smallest) lines.push(await ours.line(lineTrips))
        const mine = await ours.pingPong(sizeBytes, iterations)
        our.average.push(mine.averageNs)
        our.median.push(mine.medianNs)
        if (peer === null) continue
        const other = await runUcx({ test: 'tag_lat', transport: 'posix', sizeBytes, iterations, cores })
        their.average.push(other.averageNs)
        their.median.push(other.medianNs)
      }
      const name = (statistic: string) => `one-way latency, RC SEND, ${formatCount(sizeBytes)} bytes, ${statistic}`
      const rows = (['average', 'median'] as const).map((statistic) => {
        const target = peer !== null && sizeBytes === smallest ? ucxTarget : undefined
        return compare(name(statistic), our[statistic], peer, their[statistic], 'ns', 'less is better', target)
      })
      if (sizeBytes !== smallest) return rows
      const one = 'a cache line, one way'
      return [...rows, compare(name('median'), our.median, one, lines, 'ns', 'less is better', lineTarget)]
    },
  })),
  {
    name: 'message-rate-shm',
    run: async (ours, rounds) => {
      const rates: number[] = []
      for (let round = 0; round < rounds; round++) {
        const { bytesPerSecond } = await ours.stream(rate.sizeBytes, rate.iterations)
        rates.push(bytesPerSecond / rate.sizeBytes)
      }
      const name = `message rate, RC SEND, ${rate.sizeBytes} bytes, 128 outstanding, shm`
      return [compareToGoal(name, rates, rate.goal, 'messages/s', 'more is better')]
    },
  },
  {
    name: 'bandwidth',
    run: async (ours, rounds, peer, cores) => {
      const our: number[] = []
      const their: number[] = []
      for (let round = 0; round < rounds; round++) {
        our.push((await ours.stream(bandwidth.sizeBytes, bandwidth.iterations)).bytesPerSecond / 1e6)
        if (peer === null) continue
        const other = await runUcx({ test: 'tag_bw', transport: 'posix', ...bandwidth, cores })
        their.push(other.bytesPerSecond / 1e6)
      }
      return [compare('bandwidth, RC SEND, 64 KiB', our, peer, their, 'MB/s', 'more is better')]
    },
  },
  {
    name: 'allocation',
    run: async (ours) => {
      const bytes = await ours.allocation(messagesForHeap)
      return [
        compare(
          `heap growth per message, ${formatCount(messagesForHeap)} ping-pongs`,
          [bytes],
          null,
          [],
          'bytes',
          'less is better',
        ),
      ]
    },
  },
  {
    name: 'polling',
    run: async (ours, rounds) => {
      const one = { empty: [] as number[], completion: [] as number[] }
      const many = { empty: [] as number[], completion: [] as number[] }
      for (let round = 0; round < rounds; round++) {
        for (const [into, qps] of [
          [one, 1],
          [many, manyQps],
        ] as const) {
          const { emptyNs, completionNs } = await ours.polling(qps)
          into.empty.push(emptyNs)
          into.completion.push(completionNs)
        }
      }
      const baseline = 'Verbena with 1 QP'
      const qps = `${formatCount(manyQps)} QPs on one CQ`
      return [
        compare('poll of an empty CQ, 1 QP', one.empty, null, [], 'ns', 'less is better'),
        compare(`poll of an empty CQ, ${qps}`, many.empty, baseline, one.empty, 'ns', 'less is better'),
        compare(`poll, for each completion, ${qps}`, many.completion, baseline, one.completion, 'ns', 'less is better'),
      ]
    },
  },
]

async function main(): Promise<number> {
  const values = commandLine().parse().opts<Options>()
  const device = values.device || undefined
  const rounds = parseInteger('--rounds', values.rounds, 7, 1, 1000)
  const chosen = choose(values.only, device !== undefined)
  const wire = new WireEnds(pairOf(device))
  ends = wire
  const peer = ucxInstalled() ? 'UCX (posix shared memory)' : null
  const say = (text: string) => {
    if (!values.json) process.stdout.write(`${text}\n`)
  }
  for (const [program, name] of Object.entries({
    ucx_perftest: 'ucx-utils',
    iperf3: 'iperf3',
    sockperf: 'sockperf',
    tcpdump: 'tcpdump',
    tshark: 'tshark',
  }))
    if (!isInstalled(program))
      process.stderr.write(`${program} is not installed, so it is not compared with: apt install ${name}\n`)
  const ours = new Ours()
  const sockets = new SocketComparisons(wire.devices)
  const comparisons: Comparison[] = []
  const date = new Date().toISOString()
  const machine = describeMachine()
  let failed = 0
  const run = (job: Chosen): Promise<Comparison[]> => {
    if ('sockets' in job) return job.sockets.run(sockets, rounds)
    if ('gateway' in job) return job.gateway.run(rounds)
    if ('collective' in job) return job.collective.run(rounds)
    if ('sketch' in job) return job.sketch.run(rounds)
    if ('monitor' in job) return job.monitor.run(rounds)
    if ('traffic' in job) return job.traffic.run(rounds, wire.devices)
    if ('preload' in job) return job.preload.run(rounds, wire.devices)
    if ('program' in job) return job.program.run(values.rounds === undefined ? loadedRounds : rounds)
    if ('loaded' in job) {
      const scale = values.brief ? briefScale : usualScale
      return job.loaded.run(values.rounds === undefined ? loadedRounds : rounds, wire.devices, sockets, scale)
    }
    return 'wire' in job ? job.wire.run(wire, rounds, twoCores()) : job.memory.run(ours, rounds, peer, twoCores())
  }
  try {
    for (const [i, job] of chosen.entries()) {
      const begin = performance.now()
      try {
        for (const comparison of await run(job)) {
          comparisons.push(comparison)
          say(line(comparison))
        }
        const seconds = Math.round((performance.now() - begin) / 1000)
        if (values.json) process.stderr.write(`${i + 1} of ${chosen.length}: ${job.name}, ${seconds} s\n`)
      } catch (error) {
        failed++
        process.stderr.write(`${job.name}: ${(error as Error).message}\n`)
      }
    }
  } finally {
    await Promise.all([ours.end(), wire.end(), sockets.end()])
  }
  if (values.json) {
    const { cpu, cores, os, load } = machine
    process.stdout.write(
      `${JSON.stringify({ date, machine: { cpu, cores, os, load }, versions: versions(), comparisons })}\n`,
    )
  } else say(`\nMedians of ${rounds} alternating rounds. A ratio below 1 means that Verbena is ahead.`)
  return failed === 0 ? exitCodes.done : exitCodes.failed
}

function line({ name, ours, theirs, peer, unit, ratio, target, met }: Comparison): string {
  const figure = (value: number) => `${value >= 1000 ? formatCount(value) : value} ${unit}`
  const ratioText = ratio === null ? '' : `   ratio ${ratio}`
  const theirText = theirs === null ? '' : `   ${peer}: ${figure(theirs)}${ratioText}`
  const targetText = target === undefined ? '' : `   target ${target}: ${met ? 'met' : 'missed'}`
  return `${name.padEnd(68)} ${figure(ours).padStart(12)}${theirText}${targetText}`
}

type Chosen = { name: string } & (
  | { memory: Job }
  | { wire: WireJob }
  | { sockets: SocketJob; network: boolean }
  | { preload: PreloadJob; network: boolean }
  | { gateway: GatewayJob }
  | { sketch: SketchJob }
  | { monitor: MonitorJob }
  | { collective: CollectiveJob }
  | { traffic: TrafficJob; network: boolean }
  | { loaded: LoadedJob }
  | { program: RunJob }
)

/** Comparisons on shared memory come first: the machine is quiet then. */
function choose(only: string | undefined, wireOnly: boolean): Chosen[] {
  const preloaded = [...preloadJobs, ...startJobs]
    .filter(({ network }) => (nativeAvailable && !wireOnly) || network)
    .map((preload) => ({ name: preload.name, preload, network: preload.network }))
  const traffic = trafficJobs
    .filter(({ network }) => (nativeAvailable && !wireOnly) || network)
    .map((job) => ({ name: job.name, traffic: job, network: job.network }))
  const known: Chosen[] = [
    ...(wireOnly ? [] : memoryJobs.map((memory) => ({ name: memory.name, memory }))),
    ...(wireOnly || !nativeAvailable
      ? []
      : [...gatewayJobs, ...samplesJobs].map((gateway) => ({ name: gateway.name, gateway }))),
    ...(wireOnly || !nativeAvailable
      ? []
      : collectiveJobs.map((collective) => ({ name: collective.name, collective }))),
    ...(wireOnly ? [] : sketchJobs.map((sketch) => ({ name: sketch.name, sketch }))),
    ...(wireOnly ? [] : monitorJobs.map((monitor) => ({ name: monitor.name, monitor }))),
    ...(wireOnly ? [] : socketJobs.map((sockets) => ({ name: sockets.name, sockets, network: false }))),
    ...traffic.filter(({ network }) => !network),
    ...preloaded.filter(({ network }) => !network),
    ...wireJobs.map((wire) => ({ name: wire.name, wire })),
    ...wireSocketJobs.map((sockets) => ({ name: sockets.name, sockets, network: true })),
    ...traffic.filter(({ network }) => network),
    ...preloaded.filter(({ network }) => network),
    ...(nativeAvailable ? loadedJobs : []).map((loaded) => ({ name: loaded.name, loaded })),
    ...(nativeAvailable && !wireOnly ? runJobs : []).map((program) => ({ name: program.name, program })),
  ]
  if (only === undefined) {
    if (wireOnly || getDeviceList().some(({ name }) => name.startsWith('roce'))) return known
    return known.filter((job) => !('wire' in job) && !('network' in job && job.network))
  }
  const chosen = only.split(',').flatMap((name) => {
    const found = known.filter((job) => job.name === name || job.name.startsWith(`${name}-`))
    if (found.length === 0)
      throw wrongValue(
        '--only',
        name,
        known.map((job) => job.name),
        known[0]!.name,
      )
    return found
  })
  // Several names may stand for one.
  return [...new Set(chosen)]
}

function pairOf(text: string | undefined): readonly [string, string] {
  const pair = text === undefined || text === 'roce' ? wirePair : devicePair(text)
  const [first, second] = pair?.split(',') ?? []
  if (first === undefined || second === undefined || first === second || /^shm\d/.test(first))
    throw wrongValue('--device', text, 'two adapters that two processes can reach', wirePair)
  return [first, second]
}

for (const [signal, code] of [
  ['SIGINT', exitCodes.interrupted],
  ['SIGTERM', exitCodes.terminated],
] as const) {
  process.once(signal, () => {
    endPrograms()
    ends?.kill()
    process.exit(code)
  })
}
try {
  process.exitCode = await main()
} catch (error) {
  // Commander has printed its message already.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  else {
    const usage = error instanceof UsageError
    process.stderr.write(`${usage ? error.message : ((error as Error).stack ?? error)}\n`)
    process.exitCode = usage ? exitCodes.usage : exitCodes.failed
  }
}
