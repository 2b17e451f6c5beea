/**
 * Packets a second of `verbena monitor`, beside `tcpdump -nr` and tshark, each a process that reads the same capture: SENDs and their ACKs of 64
 * connections, between eight pairs of hosts; and SENDs each to another QP. Then two threads beside one, on a longer capture; and in one process, which
 * runs already, packets that are followed beside those that are only counted, as in overload, and ten million flows, with the memory that they take.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CapturedPacket, LinkType } from '../src/capture/index.ts'
import { nativeCrc32 } from '../src/memory/index.ts'
import { monitorConfig, Observer } from '../src/monitor/index.ts'
import { useCrc32 } from '../src/wire/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { connectionFrames, connections, distinctFrames, type FrameOf, writeCapture } from './monitor-capture.ts'
import { isInstalled } from './programs.ts'

export interface MonitorJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

/** So many packets: the captures have 45, 180 and 50 MB. */
const captures = [
  { name: 'monitor-8', what: 'packets of 8 bytes and their ACKs', frames: () => connectionFrames(8), packets: 500_000 },
  {
    ...{ name: 'monitor-1024', what: 'packets of 1024 bytes and their ACKs' },
    ...{ frames: () => connectionFrames(1024), packets: 300_000 },
  },
  { name: 'monitor-distinct', what: 'packets each of another flow', frames: distinctFrames, packets: 500_000 },
] as const
const payloads = [8, 1024] as const
const microsecond = 1000
const cli = fileURLToPath(import.meta.resolve('verbena/package.json')).replace(/package\.json$/, 'dist/verbena.js')
const peers = [
  ['tcpdump', (file: string) => ['-nr', file]],
  ['tshark', (file: string) => ['-r', file, '-T', 'fields', '-e', 'infiniband.bth.destqp', '-e', 'infiniband.bth.psn']],
] as const

/** Million packets a second of a program. */
function rate(program: string, args: readonly string[], packets: number): number {
  const started = performance.now()
  const { status, error } = spawnSync(program, args, { stdio: 'ignore', timeout: 120_000 })
  if (status !== 0) throw new Error(`${program} ended with ${status}${error === undefined ? '' : `: ${error.message}`}`)
  return packets / 1000 / (performance.now() - started)
}

/** What `use` measures with a capture of these packets. */
async function withCapture<T>(frames: FrameOf, packets: number, use: (file: string) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-'))
  try {
    const file = join(folder, 'roce.pcap')
    writeCapture(file, frames, packets)
    return use(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const jobs: readonly MonitorJob[] = captures.map(({ name, what, frames, packets }) => ({
  name,
  run: (rounds) =>
    withCapture(frames(), packets, (file) => {
      const there = peers.filter(([name]) => isInstalled(name))
      const ours: number[] = []
      const theirs = there.map((): number[] => [])
      for (let round = 0; round < rounds; round++) {
        ours.push(rate(process.execPath, [cli, 'monitor', file, '--json'], packets))
        for (const [i, [name, args]] of there.entries()) theirs[i]!.push(rate(name, args(file), packets))
      }
      const title = `monitor: ${what}`
      if (there.length === 0) return [compare(title, ours, null, [], 'M/s', 'more is better')]
      return there.map(([peer], i) => compare(title, ours, peer, theirs[i]!, 'M/s', 'more is better'))
    }),
}))

/** Packets of the longer captures: of 640 MB and of 1.2 GB. */
const longPackets = { 8: 8_000_000, 1024: 2_000_000 } as const

const workersJob: MonitorJob = {
  name: 'monitor-workers',
  async run(rounds) {
    const rows: Comparison[] = []
    for (const payload of payloads) {
      const packets = longPackets[payload]
      const row = await withCapture(connectionFrames(payload), packets, (file) => {
        const [one, two]: [number[], number[]] = [[], []]
        for (let round = 0; round < rounds; round++)
          for (const [workers, rates] of [
            ['2', two],
            ['1', one],
          ] as const)
            rates.push(rate(process.execPath, [cli, 'monitor', file, '--json', '--workers', workers], packets))
        const name = `monitor: ${packets} packets, SENDs of ${payload} bytes and ACKs, two threads`
        return compare(name, two, 'one thread', one, 'M/s', 'more is better')
      })
      rows.push(row)
    }
    return rows
  },
}

const passes = 5
const turns = 300

/** A packet for all frames, in memory that stays where it is, as a ring or a reader of files has it. */
class Feed {
  readonly packet: CapturedPacket = new CapturedPacket()

  constructor(bytes: number) {
    const { packet } = this
    packet.linkType = LinkType.Ethernet
    packet.hasTime = true
    packet.seconds = 1_700_000_000
    packet.bytes = new Uint8Array(bytes)
    packet.view = new DataView(packet.bytes.buffer)
  }

  /** The bytes [offset, offset + length), a microsecond after the packet before. */
  at(offset: number, length: number): CapturedPacket {
    const { packet } = this
    packet.offset = offset
    packet.length = packet.originalLength = length
    packet.nanoseconds += microsecond
    if (packet.nanoseconds >= 1e9) {
      packet.nanoseconds -= 1e9
      packet.seconds++
    }
    return packet
  }
}

const observerOf = (): Observer =>
  new Observer({ config: monitorConfig({ seed: 1 }), agent: 'bench', run: 'bench', onWindow: () => {} })

/** Million packets a second of an observer, of the best pass. `followed` or only counted. */
function observed(payload: number, followed: boolean): number {
  const frameOf = connectionFrames(payload)
  const frames = Array.from({ length: turns * 2 * connections }, (_, number) => frameOf(number).slice())
  const ends = new Float64Array(frames.length + 1)
  for (const [i, { length }] of frames.entries()) ends[i + 1] = ends[i]! + length
  const feed = new Feed(ends.at(-1)!)
  for (const [i, frame] of frames.entries()) feed.packet.bytes.set(frame, ends[i])
  let most = 0
  for (let pass = 0; pass < passes; pass++) {
    const observer = observerOf()
    const take = (from: number, to: number, follow: boolean): void => {
      for (let i = from; i < to; i++) {
        const packet = feed.at(ends[i]!, ends[i + 1]! - ends[i]!)
        if (follow) observer.packet(packet)
        else observer.count(packet)
      }
    }
    // Flows are known before anything is only counted.
    take(0, 2 * connections, true)
    const started = performance.now()
    take(2 * connections, frames.length, followed)
    most = Math.max(most, (frames.length - 2 * connections) / 1000 / (performance.now() - started))
    observer.finish()
  }
  return most
}

const distinctPackets = 10_000_000
const block = 4096

/** Million packets a second of an observer that sees another flow with each, and by how many MiB the process has grown then. */
function distinct(followed: boolean): { rate: number; grownMiB: number } {
  const frameOf = distinctFrames()
  const { length } = frameOf(0)
  const feed = new Feed(block * length)
  const observer = observerOf()
  const before = process.memoryUsage.rss()
  let ms = 0
  for (let n = 0; n < distinctPackets; ) {
    for (let i = 0; i < block; i++) feed.packet.bytes.set(frameOf(n + i), i * length)
    const started = performance.now()
    for (let i = 0; i < block; i++) {
      const packet = feed.at(i * length, length)
      if (followed) observer.packet(packet)
      else observer.count(packet)
    }
    ms += performance.now() - started
    n += block
  }
  observer.finish()
  return { rate: distinctPackets / 1000 / ms, grownMiB: (process.memoryUsage.rss() - before) / 2 ** 20 }
}

export const monitorJobs: readonly MonitorJob[] = [
  ...jobs,
  workersJob,
  {
    name: 'monitor-overload',
    async run(rounds) {
      useCrc32(nativeCrc32())
      return payloads.map((payload) => {
        const [counted, followed]: [number[], number[]] = [[], []]
        for (let round = 0; round < rounds; round++) {
          counted.push(observed(payload, false))
          followed.push(observed(payload, true))
        }
        const name = `monitor: packets of ${payload} bytes that are only counted (overload)`
        return compare(name, counted, 'followed', followed, 'M/s', 'more is better')
      })
    },
  },
  {
    name: 'monitor-flows',
    async run(rounds) {
      useCrc32(nativeCrc32())
      const [counted, followed]: [ReturnType<typeof distinct>[], ReturnType<typeof distinct>[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        counted.push(distinct(false))
        followed.push(distinct(true))
      }
      const rates = (all: readonly { rate: number }[]): number[] => all.map(({ rate }) => rate)
      const name = 'monitor: ten million flows, a packet each'
      return [
        compare(`${name}, only counted`, rates(counted), 'followed', rates(followed), 'M/s', 'more is better'),
        ...[{ what: 'counted', all: counted } as const, { what: 'followed', all: followed } as const].map(
          ({ what, all }) =>
            compare(
              `${name}, ${what}: what the process grows by`,
              [all[0]!.grownMiB],
              null,
              [],
              'MiB',
              'less is better',
            ),
        ),
      ]
    },
  },
]
