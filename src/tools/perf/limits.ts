/** Limits that a run must keep: minimum bandwidth and message rate, maximum of any latency. */
import { wrongValue } from '../kit/index.ts'
import type { Flow, LatencyStatistics } from './protocol.ts'
import { percentileNames } from './recorder.ts'
import type { Measured } from './session.ts'

export interface Limits {
  /** Minimum bytes per second. */
  bandwidth?: number
  /** Minimum messages per second. */
  messageRate?: number
  /** Maximum nanoseconds, by `min`, `avg`, `stdev`, `max` or a percentile. */
  latency: Record<string, number>
  /** Maximum number of messages of a latency test that may be lost. */
  lost?: number
}

const latencyNames: readonly string[] = ['min', 'avg', 'stdev', ...percentileNames, 'max']

/** Parses `p99=10,p99.9=50,max=1000`, microseconds. */
export function parseLatencyLimits(texts: readonly string[]): Record<string, number> {
  const limits: Record<string, number> = {}
  for (const part of texts.flatMap((text) => text.split(','))) {
    const [name, value, rest] = part.split('=').map((word) => word.trim())
    const usec = value !== undefined && /^(\d+(\.\d+)?|\.\d+)$/.test(value) ? Number(value) : Number.NaN
    if (!latencyNames.includes(name!) || !(usec >= 0) || rest !== undefined)
      throw wrongValue(
        '--limit-latency',
        part,
        `NAME=MICROSECONDS with a name of ${latencyNames.join(', ')}`,
        'p99=10,max=1000',
      )
    limits[name!] = usec * 1000
  }
  return limits
}

/** Returns bytes and messages per second of both directions together, by the senders' completions. */
export function totalFlow({ client, server, size }: Measured): { messages: number; bytes: number; peakBytes: number } {
  const flows = [client.sent, server.sent].filter((flow): flow is Flow => flow !== null)
  const sum = (of: (flow: Flow) => number) => flows.reduce((total, flow) => total + of(flow), 0)
  const messages = sum((flow) => flow.messagesPerSecond)
  return { messages, bytes: messages * size, peakBytes: sum((flow) => flow.peakPerSecond) * size }
}

function latencyValue(latency: LatencyStatistics, name: string): number {
  if (name === 'min' || name === 'max' || name === 'stdev') return latency[name]
  return name === 'avg' ? latency.mean : latency.percentiles[name]!
}

/** Returns the limits that were not kept, a sentence each. */
export function brokenLimits(limits: Limits, measured: Measured): string[] {
  const broken: string[] = []
  const at = `with ${measured.size} bytes`
  const { latency } = measured.client
  if (latency === null) {
    const total = totalFlow(measured)
    if (limits.bandwidth !== undefined && total.bytes < limits.bandwidth)
      broken.push(`bandwidth ${at} is ${perSecond(total.bytes)}, below the limit of ${perSecond(limits.bandwidth)}`)
    if (limits.messageRate !== undefined && total.messages < limits.messageRate)
      broken.push(
        `message rate ${at} is ${(total.messages / 1e6).toFixed(6)} Mpps, below the limit of ${limits.messageRate / 1e6} Mpps`,
      )
    return broken
  }
  for (const [name, limit] of Object.entries(limits.latency)) {
    const value = latencyValue(latency, name)
    if (latency.count === 0) broken.push(`${name} ${at} has a limit, and no message was measured`)
    else if (value > limit)
      broken.push(`${name} ${at} is ${(value / 1000).toFixed(2)} usec, above the limit of ${limit / 1000} usec`)
  }
  if (limits.messageRate !== undefined && latency.perSecond < limits.messageRate)
    broken.push(
      `message rate ${at} is ${(latency.perSecond / 1e6).toFixed(6)} Mpps, below the limit of ${limits.messageRate / 1e6} Mpps`,
    )
  if (limits.lost !== undefined && latency.lost > limits.lost)
    broken.push(`${latency.lost} messages ${at} were lost, more than ${limits.lost}`)
  return broken
}

function perSecond(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(2)} MiB/sec (${((bytes * 8) / 1e9).toFixed(3)} Gb/sec)`
}
