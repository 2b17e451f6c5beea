/**
 * Packets a second of `verbena monitor`, beside `tcpdump -nr` and tshark, each a process that reads the same capture: SENDs and their ACKs of 64
 * connections, between eight pairs of hosts. Then, in one process, packets that are only counted, as in overload, beside those that are followed.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CapturedPacket, LinkType, PcapWriter } from '../src/capture/index.ts'
import { fileSink } from '../src/files/index.ts'
import { nativeCrc32 } from '../src/memory/index.ts'
import { monitorConfig, Observer } from '../src/monitor/index.ts'
import { emitFrame, frameLength, type RoceV2Frame, useCrc32, WireOpcode } from '../src/wire/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { isInstalled } from './programs.ts'

export interface MonitorJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

const connections = 64
const hosts = 8
/** So many packets and bytes of payload: the captures have 45 and 180 MB. */
const sizes = [
  { payload: 8, packets: 500_000 },
  { payload: 1024, packets: 300_000 },
] as const
const microsecond = 1000
const cli = fileURLToPath(import.meta.resolve('verbena/package.json')).replace(/package\.json$/, 'dist/verbena.js')
const peers = [
  ['tcpdump', (file: string) => ['-nr', file]],
  ['tshark', (file: string) => ['-r', file, '-T', 'fields', '-e', 'infiniband.bth.destqp', '-e', 'infiniband.bth.psn']],
] as const

/** The frames of a turn of all connections: a SEND and its ACK each. */
function framesOf(psn: number, payload: number): Uint8Array[] {
  return Array.from({ length: connections }, (_, connection) => {
    const here = Uint8Array.of(10, 0, connection % hosts, 1)
    const there = Uint8Array.of(10, 0, connection % hosts, 2)
    const common = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, psn }
    const send: RoceV2Frame = frame(here, there, {
      bth: { ...common, opcode: WireOpcode.RcSendOnly, destQp: 0x200 + connection, ackReq: true },
      payload: new Uint8Array(payload),
    })
    const ack: RoceV2Frame = frame(there, here, {
      bth: { ...common, opcode: WireOpcode.RcAck, destQp: 0x100 + connection, ackReq: false },
      aeth: { syndrome: 0x1f, msn: (psn + 1) & 0xffffff },
      payload: new Uint8Array(0),
    })
    return [bytesOf(send), bytesOf(ack)]
  }).flat()
}

function frame(source: Uint8Array, destination: Uint8Array, packet: RoceV2Frame['packet']): RoceV2Frame {
  const mac = Uint8Array.of(2, 0, 0, 0, 0, 1)
  return {
    ethernet: { source: mac, destination: mac, tags: [] },
    ipv4: { tos: 2, identification: 0, dontFragment: true, ttl: 64, source, destination },
    ...{ sourcePort: 0xc000, udpChecksum: 0, packet },
  }
}

function bytesOf(value: RoceV2Frame): Uint8Array {
  const bytes = new Uint8Array(frameLength(value))
  emitFrame(value, bytes, 0)
  return bytes
}

function write(path: string, payload: number, packets: number): void {
  const writer = new PcapWriter(fileSink(path))
  let n = 0
  for (let psn = 0; n < packets; psn++)
    for (const bytes of framesOf(psn & 0xffffff, payload)) {
      writer.packet(bytes, 0, bytes.length, 1_700_000_000 + Math.floor(n / 1e6), (n % 1e6) * microsecond)
      n++
    }
  writer.close()
}

/** Million packets a second of a program. */
function rate(program: string, args: readonly string[], packets: number): number {
  const started = performance.now()
  const { status, error } = spawnSync(program, args, { stdio: 'ignore', timeout: 120_000 })
  if (status !== 0) throw new Error(`${program} ended with ${status}${error === undefined ? '' : `: ${error.message}`}`)
  return packets / 1000 / (performance.now() - started)
}

const jobs: readonly MonitorJob[] = sizes.map(({ payload, packets }) => ({
  name: `monitor-${payload}`,
  async run(rounds) {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-'))
    try {
      const file = join(folder, 'roce.pcap')
      write(file, payload, packets)
      const there = peers.filter(([name]) => isInstalled(name))
      const ours: number[] = []
      const theirs = there.map((): number[] => [])
      for (let round = 0; round < rounds; round++) {
        ours.push(rate(process.execPath, [cli, 'monitor', file, '--json'], packets))
        for (const [i, [name, args]] of there.entries()) theirs[i]!.push(rate(name, args(file), packets))
      }
      const name = `monitor: packets of ${payload} bytes and their ACKs`
      if (there.length === 0) return [compare(name, ours, null, [], 'M/s', 'more is better')]
      return there.map(([peer], i) => compare(name, ours, peer, theirs[i]!, 'M/s', 'more is better'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}))

const passes = 5
const turns = 300

/** Million packets a second of an observer, of the best pass. `followed` or only counted. */
function observed(frames: readonly (readonly Uint8Array[])[], followed: boolean): number {
  const packet = new CapturedPacket()
  packet.linkType = LinkType.Ethernet
  packet.hasTime = true
  packet.seconds = 1_700_000_000
  let most = 0
  for (let pass = 0; pass < passes; pass++) {
    const options = { config: monitorConfig({ seed: 1 }), agent: 'bench', run: 'bench' }
    const observer = new Observer({ ...options, onWindow: () => {} })
    packet.nanoseconds = 0
    const take = (turn: readonly Uint8Array[], follow: boolean): void => {
      for (const bytes of turn) {
        packet.bytes = bytes
        packet.length = bytes.length
        packet.originalLength = bytes.length
        packet.nanoseconds += microsecond
        if (follow) observer.packet(packet)
        else observer.count(packet)
      }
    }
    // Flows are known before anything is only counted.
    take(frames[0]!, true)
    const started = performance.now()
    for (let turn = 1; turn < turns; turn++) take(frames[turn]!, followed)
    most = Math.max(most, ((turns - 1) * 2 * connections) / 1000 / (performance.now() - started))
    observer.finish()
  }
  return most
}

export const monitorJobs: readonly MonitorJob[] = [
  ...jobs,
  {
    name: 'monitor-overload',
    async run(rounds) {
      useCrc32(nativeCrc32())
      return sizes.map(({ payload }) => {
        const frames = Array.from({ length: turns }, (_, psn) => framesOf(psn, payload))
        const [counted, followed]: [number[], number[]] = [[], []]
        for (let round = 0; round < rounds; round++) {
          counted.push(observed(frames, false))
          followed.push(observed(frames, true))
        }
        const name = `monitor: packets of ${payload} bytes that are only counted (overload)`
        return compare(name, counted, 'followed', followed, 'M/s', 'more is better')
      })
    },
  },
]
