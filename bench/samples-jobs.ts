/**
 * The gateway in one process: VILLASnode is in no Debian package, so there is nothing to compare with in one run. Its figures on a machine of
 * two cores: 1.53 µs through a loopback at 10 kHz; 73.5 % missed steps at 100 kHz; 1.29 s, 1.22 s and 0.33 s for the conversions.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Converter, type Encoder, formatOf, SampleField, SampleFlag, Samples, signalsOf } from '../src/gateway/index.ts'
import { measureNode, type NodeSettings } from '../src/tools/bench-node/index.ts'
import { type Comparison, compare } from './comparison.ts'
import type { GatewayJob } from './gateway-jobs.ts'

const values = 8
/** As long as VILLASnode ran for its figures. */
const seconds = 4

/** Signal, loopback, file, with threads of their own. */
async function throughLoopback(
  rate: number,
  timer: NodeSettings['timer'],
): Promise<{ medianUs: number; missedPercent: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
  try {
    const limit = rate * seconds
    const settings = { node: 'loopback', mode: 'polling', values, rate, timer, ends: 'threads' } as const
    const { signal } = new AbortController()
    const found = await measureNode(settings, {
      ...{ id: '001', limit, warmUp: 0, pin: 'none', folder, signal },
      log: (line) => void process.stderr.write(`${line}\n`),
    })
    return { medianUs: found.lat.median / 1000, missedPercent: (100 * found.missed) / limit }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const samplesToConvert = 500_000
const signals = signalsOf(`${values}f`)

/** Chunks of a file of samples in a format. */
function chunksOf(name: string): Uint8Array[] {
  const samples = new Samples(1, values)
  const encoder = formatOf(name).encoder(signals)
  const chunks: Uint8Array[] = []
  const bytes = new Uint8Array((1 << 18) + encoder.bound)
  let filled = 0
  for (let i = 0; i < samplesToConvert; i++) {
    fill(samples, i)
    filled = encoder.encode(samples, 0, bytes, filled)
    if (filled < 1 << 18 && i < samplesToConvert - 1) continue
    chunks.push(bytes.slice(0, filled))
    filled = 0
  }
  return chunks
}

function fill(samples: Samples, i: number): void {
  samples.setInt64(SampleField.origin, 1_700_000_000 + Math.floor(i / 1000))
  samples.setInt64(SampleField.origin + 2, (i % 1000) * 1e6)
  samples.setInt64(SampleField.sequence, i)
  samples.u32[SampleField.length] = values
  samples.u32[SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence | SampleFlag.data
  for (let v = 0; v < values; v++) samples.f64[(SampleField.data >> 1) + v] = Math.sin(i / 100 + v)
}

async function convert(chunks: readonly Uint8Array[], from: string, encoder: Encoder): Promise<number> {
  const converter = new Converter(formatOf(from).decoder(signals), encoder, { write: () => {}, values })
  const started = performance.now()
  for (const chunk of chunks) await converter.push(chunk)
  await converter.end()
  if (converter.samples !== samplesToConvert) throw new Error(`${converter.samples} samples were converted`)
  return (performance.now() - started) / 1000
}

const conversions = [
  ['csv', 'villas.human'],
  ['villas.human', 'csv'],
  ['villas.human', 'villas.binary'],
] as const

export const samplesJobs: readonly GatewayJob[] = [
  {
    name: 'gateway-loopback',
    async run(rounds) {
      const medians: number[] = []
      for (let round = 0; round < rounds; round++) medians.push((await throughLoopback(10_000, 'hybrid')).medianUs)
      const title = `gateway: signal, loopback, file at 10 kHz, ${values} values, median`
      return [compare(title, medians, null, [], 'µs', 'less is better')]
    },
  },
  {
    name: 'gateway-missed',
    async run(rounds) {
      const missed: number[] = []
      for (let round = 0; round < rounds; round++) missed.push((await throughLoopback(100_000, 'tsc')).missedPercent)
      return [compare('gateway: missed steps at 100 kHz', missed, null, [], '%', 'less is better')]
    },
  },
  {
    name: 'gateway-convert',
    async run(rounds) {
      const rows: Comparison[] = []
      for (const [from, to] of conversions) {
        const chunks = chunksOf(from)
        const times: number[] = []
        for (let round = 0; round < rounds; round++)
          times.push(await convert(chunks, from, formatOf(to).encoder(signals)))
        rows.push(compare(`gateway: 500,000 samples of ${from} to ${to}`, times, null, [], 's', 'less is better'))
      }
      return rows
    },
  },
]
