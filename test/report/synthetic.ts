/** Synthetic results in a temporary directory: log-normal latencies with a tail, from a seeded generator. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type FlameNode,
  type LatencyResults,
  type LatencySet,
  latencies,
  type NodeSet,
  NSEC_PER_SEC,
  nodeFiles,
  type PlotSettings,
  type Setting,
  type SocketSet,
  saveFlame,
  saveResults,
  summarize,
  type ThroughputResults,
  writeTimestamps,
} from '../../src/report/index.ts'
import { seeded } from '../random.ts'

export function temporaryDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'verbena-report-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A typical latency in nanoseconds with some spread and, rarely, a long one. */
export function sampleLatency(next: () => number, typicalNs: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  const tail = next() < 0.003 ? 8 * next() : 0
  return Math.max(1, Math.round(typicalNs * Math.exp(0.13 * normal + tail)))
}

export const HEAD = {
  format: 'verbena-results' as const,
  version: 1 as const,
  command: ['verbena', 'bench', 'latency', '--size', '8,64'],
  startedAt: '2026-03-01T12:00:00.000Z',
  durationSeconds: 12.5,
  complete: true,
  machine: {
    cpu: 'Example CPU @ 2.00GHz',
    cores: 2,
    memoryBytes: 8 * 2 ** 30,
    os: 'Linux 6.1.0',
    load: 0.42,
    permitted: { 'huge pages': false, 'locked memory': true, 'pinned threads': true },
  },
  versions: { verbena: '0.1.0', node: '20.19.0', v8: '11.3', koffi: '3.3.4' },
}

export interface LatencySpec {
  settings: Record<string, Setting>
  typicalNs: number
  messages?: number
  lost?: number
  error?: string
  /** Without t_comp, as when all work requests are unsignaled. */
  noComp?: boolean
}

/** Writes a latency run with its raw timestamps, which cross a second's end, and returns its directory. */
export function writeLatencyRun(
  parent: string,
  name: string,
  specs: readonly LatencySpec[],
  changes: Partial<LatencyResults> = {},
): string {
  const dir = join(parent, name)
  mkdirSync(dir, { recursive: true })
  const sets = specs.map((spec, index): LatencySet => {
    const next = seeded(index + 1)
    const rows = spec.messages ?? 2000
    const lost = spec.lost ?? 0
    const tSubm = new Float64Array(rows)
    const tRecv = new Float64Array(rows)
    const tComp = new Float64Array(rows)
    let now = NSEC_PER_SEC - rows * 500
    for (let i = 0; i < rows; i++) {
      now += 1000
      const lat = sampleLatency(next, spec.typicalNs)
      const comp = Math.round(lat * 1.35 + 180 * next())
      tSubm[i] = now % NSEC_PER_SEC
      tRecv[i] = i < lost ? Number.NaN : (now + lat) % NSEC_PER_SEC
      tComp[i] = spec.noComp || i < lost ? Number.NaN : (now + comp) % NSEC_PER_SEC
    }
    const id = String(index).padStart(3, '0')
    writeTimestamps(join(dir, `${id}.csv`), { tSubm, tRecv, tComp })
    return {
      id,
      settings: spec.settings,
      lat: summarize(latencies(tSubm, tRecv)),
      comp: spec.noComp ? null : summarize(latencies(tSubm, tComp)),
      sent: rows,
      lost,
      ...(spec.error === undefined ? {} : { error: spec.error }),
    }
  })
  saveResults(dir, { ...HEAD, tool: 'latency', unit: 'ns', sets, ...changes })
  return dir
}

const COMMON = { device: 'shm', poll: 'busy', unsignaled: 1, burst: 1, engine: 'native', pin: true, repeat: 1 }

/** Two sets that differ in the moment of the time stamp, and one that is sent inline. */
export function smallRun(parent: string, name = 'small', factor = 1): string {
  const settings = { ...COMMON, service: 'RC', op: 'send', size: 8 }
  return writeLatencyRun(parent, name, [
    { settings: { ...settings, inline: false, stamp: 'submit' }, typicalNs: 900 * factor },
    { settings: { ...settings, inline: false, stamp: 'send' }, typicalNs: 620 * factor },
    { settings: { ...settings, inline: true, stamp: 'submit' }, typicalNs: 640 * factor, noComp: true },
  ])
}

export const SIZES = [8, 64, 512, 1024, 4096, 8192, 32768]

/** Forty-two sets: three services, two operations, seven sizes. */
export function largeRun(parent: string, name = 'large', factor = 1, messages = 800): string {
  const specs: LatencySpec[] = []
  for (const [s, service] of ['RC', 'UC', 'UD'].entries()) {
    for (const [o, op] of ['send', 'write'].entries()) {
      for (const size of SIZES) {
        const typicalNs = (420 + 90 * s - 110 * o + size / 9) * factor
        specs.push({ settings: { ...COMMON, service, op, size, inline: false, stamp: 'submit' }, typicalNs, messages })
      }
    }
  }
  return writeLatencyRun(parent, name, specs)
}

export function throughputRun(parent: string, name = 'throughput', factor = 1): string {
  const dir = join(parent, name)
  const sets: ThroughputResults['sets'] = []
  const add = (technique: string, concurrent: number, batch: number, size: number, messagesPerSecond: number): void => {
    const id = String(sets.length).padStart(3, '0')
    const rate = messagesPerSecond * factor
    sets.push({
      id,
      settings: { technique, concurrent, batch, size, service: 'RC', device: 'shm' },
      messages: 1_000_000,
      seconds: 1_000_000 / rate,
      messagesPerSecond: rate,
      bytesPerSecond: rate * size,
    })
  }
  const techniques = { send: 2.1e6, write: 3.2e6, 'write unsignaled': 4.0e6, 'write inline': 4.2e6 }
  for (const [technique, rate] of Object.entries(techniques)) {
    for (const concurrent of [1, 2, 4, 8, 16, 32, 64, 128])
      add(technique, concurrent, 1, 8, (rate * concurrent) / (concurrent + 6))
  }
  for (const concurrent of [4, 8, 16, 32, 64, 128])
    add('write batch', concurrent, 4, 8, (5.1e6 * concurrent) / (concurrent + 2))
  for (const batch of [1, 2, 8, 16, 32]) add('write batch', 64, batch, 8, (6.2e6 * batch) / (batch + 0.8))
  add('write', 64, 1, 4096, 1.3e6)
  saveResults(dir, { ...HEAD, tool: 'throughput', unit: 'messages/s', sets })
  return dir
}

/** A node-type at a rate: what it usually takes, the share of steps that are missed, and samples that are lost. */
export interface NodeSpec {
  settings: Record<string, Setting>
  typicalNs: number
  missed?: number
  lost?: number
}

const NODE_STEPS = 400

/** Writes a run of node-types with the files of its samples, and returns its directory. */
export function writeNodeRun(parent: string, name: string, specs: readonly NodeSpec[]): string {
  const dir = join(parent, name)
  mkdirSync(dir, { recursive: true })
  const sets = specs.map(({ settings, typicalNs, missed: share = 0, lost = 0 }, index): NodeSet => {
    const next = seeded(index + 1)
    const id = String(index + 1).padStart(3, '0')
    const steps = NODE_STEPS
    const missed = Math.round(share * steps)
    const generated = steps - missed
    const offsets = Array.from({ length: generated - lost }, () => sampleLatency(next, typicalNs))
    const row = (offset: string, sequence: number): string => `1,000000000,${offset},${sequence},0.5\n`
    const { input, output } = nodeFiles(dir, { id, settings, limit: steps })
    const head = '# secs,nsecs,offset,sequence,random\n'
    const rows = Array.from({ length: generated }, (_, i) => row('nan', i + missed))
    writeFileSync(input, `${head}${rows.join('')}`)
    const arrived = offsets.map((ns, i) => row((ns / 1e9).toFixed(9), i + missed + lost))
    writeFileSync(output, `${head}${arrived.join('')}`)
    return {
      ...{ id, settings: { timer: 'hybrid', ends: 'processes', repeat: 1, ...settings }, lat: summarize(offsets) },
      ...{ limit: steps, steps, missed, missing: missed + lost, notTransmitted: lost, notTransmittedConnected: lost },
      counts: { sender: { sent: generated }, receiver: { received: generated - lost } },
    }
  })
  const plot = {
    figure: { width: 900, height: 420 },
    histogram: { title: 'Latency', range: [0, 50_000], bins: 100, values: ['lat'], logarithmic: true },
    medians: { title: 'Median latency', over: 'rate', lines: [], logarithmic: true },
  } satisfies PlotSettings
  saveResults(dir, { ...HEAD, tool: 'node', unit: 'ns', sets }, plot)
  return dir
}

export const NODE_RATES = [100, 1000, 10_000, 100_000]

/** The sweep of infiniband over modes, values and rates, beside other node-types with 8 values. */
export function nodeRun(parent: string, name = 'nodes'): string {
  const specs: NodeSpec[] = []
  for (const [m, mode] of ['RC', 'UC', 'UD'].entries())
    for (const values of [1, 8, 64])
      for (const [r, rate] of NODE_RATES.entries())
        specs.push({
          settings: { node: 'infiniband', mode, device: 'shm', values, rate },
          typicalNs: 4900 - 900 * r + 12 * values + 150 * m,
          missed: rate === 100_000 ? 0.02 * values ** 0.8 : 0,
          lost: mode === 'UD' ? 2 : 0,
        })
  for (const [node, mode, typicalNs, ends] of [
    ['loopback', 'polling', 1500, 'threads'],
    ['socket', 'udp', 13_000, 'processes'],
    ['zeromq', 'pubsub', 62_000, 'processes'],
  ] as const)
    for (const rate of NODE_RATES)
      specs.push({ settings: { node, mode, values: 8, rate, ends }, typicalNs, missed: rate > 10_000 ? 0.3 : 0 })
  return writeNodeRun(parent, name, specs)
}

const SOCKET_SIZES = [1, 64, 1024, 16384, 65536, 1 << 20]

/** TCP_RR of one byte and TCP_STREAM of six sizes over both transports, twice each, with a profile of both ends. */
export function socketRun(parent: string, name = 'sockets', profiles = true): string {
  const dir = join(parent, name)
  mkdirSync(dir, { recursive: true })
  const sets: SocketSet[] = []
  const add = (
    transport: 'rsocket' | 'tcp',
    test: 'rr' | 'stream',
    size: number,
    rate: number,
    repeat: number,
  ): void => {
    const rtt = test === 'rr' ? summarize([0.9, 1, 1.2].map((factor) => (factor * 1e9) / rate)) : null
    const device: Record<string, Setting> = transport === 'rsocket' ? { device: 'shm0,shm1', extensions: true } : {}
    sets.push({
      id: String(sets.length + 1).padStart(3, '0'),
      settings: { test, transport, size, poll: 'event', buffer: 0, pin: 'auto', ...device, repeat },
      via: transport === 'rsocket' ? 'verbs' : 'system calls',
      messages: Math.round(rate / 2),
      seconds: 0.5,
      messagesPerSecond: rate,
      bytesPerSecond: rate * size,
      roundTrip: rtt,
      cpu: { client: 0.9, server: transport === 'tcp' ? null : 0.8, process: 1.75 },
      counters: { client: { messagesSent: 1 }, server: {} },
    })
  }
  for (const repeat of [1, 2]) {
    for (const [transport, factor] of [
      ['rsocket', 1],
      ['tcp', 0.25],
    ] as const) {
      add(transport, 'rr', 1, 800_000 * factor * repeat, repeat)
      for (const size of SOCKET_SIZES) add(transport, 'stream', size, (factor * repeat * 6e9) / (size + 2000), repeat)
    }
  }
  const taken = (['client', 'server'] as const).map((end) => ({
    id: '025',
    end,
    settings: sets[2]!.settings,
    messagesPerSecond: 2e6,
    bytesPerSecond: 1.2e8,
    samples: 1000,
    components: [
      { component: 'rsocket', share: 0.6 },
      { component: 'copies', share: 0.4 },
    ],
    functions: [{ name: 'send', module: 'rsocket/send-side', component: 'rsocket', share: 0.6 }],
  }))
  saveResults(dir, { ...HEAD, tool: 'rsocket', unit: 'bytes/s', sets, profiles: profiles ? taken : [] })
  const frame = (name: string, component: string, samples: number, children: FlameNode[] = []): FlameNode => ({
    ...{ name, module: `${component}/module`, component, samples, children },
  })
  const copy = frame('copy <of> an array', 'copies', 400)
  const post = frame('post', 'shm', 150)
  for (const { id, end } of profiles ? taken : []) {
    const send = frame('send', 'rsocket', 950, [copy, post])
    saveFlame(dir, id, end, frame(`${end} thread`, 'benchmark', 1000, [send]))
  }
  return dir
}
