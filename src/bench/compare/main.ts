#!/usr/bin/env node
/**
 * `npm run bench`: Verbena side by side with UCX on shared memory, in one run, in alternating rounds (ours, theirs,
 * ours, …) because a machine changes from minute to minute. Of the rounds the median counts, on both sides.
 *
 *     latency     RC SEND, ping-pong, both sides busy polling, half a round trip    ucx_perftest -t tag_lat
 *     bandwidth   stream of RC SENDs of 64 KiB                                      ucx_perftest -t tag_bw
 *     figures without another program: heap per message, cost of polling
 *
 * Two latencies are compared, each with its like: `average`, the whole run over its messages ("overall" of
 * ucx_perftest), and `median`, of single round trips ("50.0%ile").
 */
import { parseArgs } from 'node:util'
import { formatCount } from '../../report/index.ts'
import { parseInteger, UsageError } from '../../toolkit/index.ts'
import { Ours, twoCores } from './ours.ts'
import { endUcx, runUcx, ucxInstalled } from './ucx.ts'

export interface Comparison {
  name: string
  ours: number
  /** Null when there is nothing to compare with, or it is not installed. */
  peer: string | null
  theirs: number | null
  unit: string
  /** Below 1 we are ahead; null without a peer. */
  ratio: number | null
}

const latencySizes = [
  { sizeBytes: 8, iterations: 1_000_000 },
  { sizeBytes: 4096, iterations: 400_000 },
  { sizeBytes: 32768, iterations: 100_000 },
] as const
const bandwidth = { sizeBytes: 65536, iterations: 50_000 } as const
const manyQps = 1000
const messagesForHeap = 1_000_000

const help = `Usage: npm run bench -- [--json] [--only NAME] [--rounds N]

Compares Verbena with UCX on shared memory (ucx_perftest, Debian package ucx-utils) in one run.

  --only NAME   latency-8, latency-4096, latency-32768, bandwidth, allocation or polling; several with commas
  --rounds N    rounds of each comparison, of which the median counts (default: 7)
  --json        print one JSON document: {"comparisons":[{"name","ours","peer","theirs","unit","ratio"}]}
`

interface Job {
  name: string
  run(ours: Ours, rounds: number, peer: string | null, cores: readonly [number, number] | null): Promise<Comparison[]>
}

const jobs: Job[] = [
  ...latencySizes.map(({ sizeBytes, iterations }) => ({
    name: `latency-${sizeBytes}`,
    run: async (ours: Ours, rounds: number, peer: string | null, cores: readonly [number, number] | null) => {
      const our = { average: [] as number[], median: [] as number[] }
      const their = { average: [] as number[], median: [] as number[] }
      for (let round = 0; round < rounds; round++) {
        const mine = await ours.pingPong(sizeBytes, iterations)
        our.average.push(mine.averageNs)
        our.median.push(mine.medianNs)
        if (peer === null) continue
        const other = await runUcx({ test: 'tag_lat', sizeBytes, iterations, cores })
        their.average.push(other.averageNs)
        their.median.push(other.medianNs)
      }
      const name = (statistic: string) => `one-way latency, RC SEND, ${formatCount(sizeBytes)} bytes, ${statistic}`
      return [
        compare(name('average'), our.average, peer, their.average, 'ns', 'less is better'),
        compare(name('median'), our.median, peer, their.median, 'ns', 'less is better'),
      ]
    },
  })),
  {
    name: 'bandwidth',
    run: async (ours, rounds, peer, cores) => {
      const our: number[] = []
      const their: number[] = []
      for (let round = 0; round < rounds; round++) {
        our.push((await ours.stream(bandwidth.sizeBytes, bandwidth.iterations)).bytesPerSecond / 1e6)
        if (peer !== null) their.push((await runUcx({ test: 'tag_bw', ...bandwidth, cores })).bytesPerSecond / 1e6)
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

function compare(
  name: string,
  ours: number[],
  peer: string | null,
  theirs: number[],
  unit: string,
  order: 'less is better' | 'more is better',
): Comparison {
  const our = medianOf(ours)
  if (peer === null) return { name, ours: rounded(our), peer: null, theirs: null, unit, ratio: null }
  const their = medianOf(theirs)
  const ratio = order === 'less is better' ? our / their : their / our
  return { name, ours: rounded(our), peer, theirs: rounded(their), unit, ratio: Math.round(ratio * 1000) / 1000 }
}

function medianOf(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

async function main(): Promise<number> {
  const { values } = readArguments()
  if (values.help) {
    process.stdout.write(help)
    return 0
  }
  const rounds = parseInteger('--rounds', values.rounds, 7, 1, 1000)
  const chosen = choose(values.only)
  const peer = ucxInstalled() ? 'UCX (posix shared memory)' : null
  const say = (text: string) => {
    if (!values.json) process.stdout.write(`${text}\n`)
  }
  if (peer === null)
    process.stderr.write('ucx_perftest is not installed, so there is nothing to compare with: apt install ucx-utils\n')
  const ours = new Ours()
  const comparisons: Comparison[] = []
  let failed = 0
  try {
    for (const job of chosen) {
      try {
        for (const comparison of await job.run(ours, rounds, peer, twoCores())) {
          comparisons.push(comparison)
          say(line(comparison))
        }
      } catch (error) {
        failed++
        process.stderr.write(`${job.name}: ${(error as Error).message}\n`)
      }
    }
  } finally {
    await ours.end()
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ comparisons })}\n`)
  else say(`\nMedians of ${rounds} alternating rounds. A ratio below 1 means that Verbena is ahead.`)
  return failed === 0 ? 0 : 1
}

function line({ name, ours, theirs, peer, unit, ratio }: Comparison): string {
  const figure = (value: number) => `${value >= 1000 ? formatCount(value) : value} ${unit}`
  const theirText = theirs === null ? '' : `   ${peer}: ${figure(theirs)}   ratio ${ratio}`
  return `${name.padEnd(58)} ${figure(ours).padStart(12)}${theirText}`
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        json: { type: 'boolean' },
        only: { type: 'string' },
        rounds: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError('npm run bench', `${(error as Error).message}\n\n${help}`)
  }
}

function choose(only: string | undefined): Job[] {
  if (only === undefined) return jobs
  return only.split(',').flatMap((name) => {
    const found = jobs.filter((job) => job.name === name || job.name.startsWith(`${name}-`))
    if (found.length === 0)
      throw new UsageError(
        '--only',
        `'${name}' is not valid. Expected ${jobs.map((job) => job.name).join(', ')}, for example: --only latency-8`,
      )
    return found
  })
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => {
    endUcx()
    process.exit(code)
  })
}
try {
  process.exitCode = await main()
} catch (error) {
  const usage = error instanceof UsageError
  process.stderr.write(`${usage ? error.message : ((error as Error).stack ?? error)}\n`)
  process.exitCode = usage ? 2 : 1
}
