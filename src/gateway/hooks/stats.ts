/**
 * stats: statistics of the samples that pass. Of a path, and of samples that are read from a node: the times between samples by both
 * clocks, the one-way delay, steps of the sequence number other than 1, the number of values. Of samples that are written to a node: the
 * age, from receipt on.
 */
import { type StatsMetric, statsMetrics } from '../config/mapping.ts'
import { SampleField, SampleFlag, Samples } from '../samples.ts'
import type { Signal } from '../signals.ts'
import { secondsBetween, sequenceDistance } from '../words.ts'
import { type Hook, type HookContext, type HookOutput, type HookType, usualPriority, Verdict } from './hook.ts'
import { type MetricSummary, Statistics } from './statistics.ts'

interface StatsSettings {
  format: 'human' | 'json'
  verbose: boolean
  output: string
}

const { origin, received, sequence } = SampleField

class Stats implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #settings: StatsSettings
  readonly #statistics: Statistics
  readonly #last = new Samples(1, 0)
  #any = false
  /** Number of samples up to the last line, and the time of that line. */
  #said = 0
  #saidNs = 0
  #output: HookOutput | undefined

  constructor(context: HookContext, statistics: Statistics, settings: StatsSettings) {
    this.signals = context.signals
    this.#context = context
    this.#settings = settings
    this.#statistics = statistics
  }

  process(samples: Samples, word: number): Verdict {
    const flags = samples.u32[word + SampleField.flags]!
    if (this.#context.place === 'out') this.#age(samples, word, flags)
    else this.#arrival(samples, word, flags)
    return Verdict.ok
  }

  periodic(): void {
    const statistics = this.#statistics
    const count = countOf(statistics)
    // No sample has come since the last line.
    if (count === this.#said) return
    if (this.#settings.format === 'json') this.#write(`${JSON.stringify(statistics.summary())}\n`)
    else {
      const seconds = (this.#context.nowNs() - this.#saidNs) / 1e9
      // Statistics that have a file of their own are not needed in the log.
      const level = this.#settings.output === 'stdout' ? 'info' : 'debug'
      this.#context.log(level, lineOf(statistics, count, (count - this.#said) / seconds))
    }
    this.#said = count
    this.#saidNs = this.#context.nowNs()
  }

  restart(): void {
    this.#output ??= this.#context.open(this.#settings.output)
    this.#statistics.reset()
    this.#any = false
    this.#said = 0
    this.#saidNs = this.#context.nowNs()
  }

  stop(): void {
    const summary = this.#statistics.summary()
    const { format, verbose } = this.#settings
    this.#write(format === 'json' ? `${JSON.stringify(summary)}\n` : textOf(summary, verbose))
    this.#output?.close()
    this.#output = undefined
  }

  #write(text: string): void {
    this.#output?.write(new TextEncoder().encode(text))
  }

  #age(samples: Samples, word: number, flags: number): void {
    if (!(flags & SampleFlag.tsReceived)) return
    this.#context.stamp(this.#last, received)
    this.#statistics.update('age', secondsBetween(samples, word + received, this.#last, received))
  }

  #arrival(samples: Samples, word: number, flags: number): void {
    const last = this.#last
    const statistics = this.#statistics
    const both = this.#any ? flags & last.u32[SampleField.flags]! : 0
    if (both & SampleFlag.tsReceived)
      statistics.update('gap_received', secondsBetween(last, received, samples, word + received))
    if (both & SampleFlag.tsOrigin) statistics.update('gap_sent', secondsBetween(last, origin, samples, word + origin))
    if (this.#any && flags & SampleFlag.tsOrigin && flags & SampleFlag.tsReceived)
      statistics.update('owd', secondsBetween(samples, word + origin, samples, word + received))
    if (both & SampleFlag.sequence) {
      const step = sequenceDistance(samples, word + sequence, last, sequence)
      if (step !== 1) statistics.update('reordered', step)
    }
    statistics.update('signal_cnt', samples.u32[word + SampleField.length]!)
    for (let i = SampleField.flags; i < SampleField.data; i++) last.i32[i] = samples.i32[word + i]!
    this.#any = true
  }
}

const descriptions: Readonly<Partial<Record<StatsMetric, string>>> = {
  skipped: 'samples that hooks skipped',
  reordered: 'steps of the sequence number other than 1',
  gap_sent: 'time between samples, by their origins',
  gap_received: 'time between samples, by their receipt',
  owd: 'one-way delay',
  age: 'time from receipt to sending',
  signal_cnt: 'values in a sample',
}

function digits(value: number | null): string {
  return value === null ? '-' : String(Number(value.toPrecision(6)))
}

function countOf(statistics: Statistics): number {
  return statistics.get('signal_cnt', 'total') || statistics.get('age', 'total')
}

/** Returns the line. Figures that are not known are left out. */
function lineOf(statistics: Statistics, count: number, rate: number): string {
  const parts = [`${count} samples`, ...(Number.isFinite(rate) ? [`${digits(rate)} per second`] : [])]
  for (const [metric, is] of [
    ['owd', 'one-way delay'],
    ['age', 'age'],
  ] as const) {
    if (statistics.get(metric, 'total') === 0) continue
    const delay = (percent: number): string => digits(statistics.percentile(metric, percent))
    parts.push(`${is}: median ${delay(50)} s, 99 % ${delay(99)} s`)
  }
  return parts.join(', ')
}

/** Returns the text of all metrics that have values. */
function textOf(summary: Readonly<Record<StatsMetric, MetricSummary>>, verbose: boolean): string {
  const lines: string[] = []
  for (const [name, metric] of Object.entries(summary) as [StatsMetric, MetricSummary][]) {
    if (metric.total === 0) continue
    const { total, last, lowest, highest, mean, stddev, variance, percentiles, histogram } = metric
    lines.push(`${name}: ${descriptions[name] ?? name}, in ${statsMetrics[name]}`)
    lines.push(`  values ${total}, last ${digits(last)}, lowest ${digits(lowest)}, highest ${digits(highest)}`)
    lines.push(`  mean ${digits(mean)}, standard deviation ${digits(stddev)}, variance ${digits(variance)}`)
    const parts = Object.entries(percentiles).map(([percent, value]) => `${percent} % ${digits(value)}`)
    lines.push(`  percentiles: ${parts.join(', ')}`)
    if (verbose && histogram !== null) {
      const { low, high, lower, higher, buckets } = histogram
      lines.push(
        `  buckets from ${digits(low)} to ${digits(high)}: ${buckets.join(' ')}; ${lower} below, ${higher} above`,
      )
    }
  }
  return lines.map((line) => `${line}\n`).join('')
}

export const stats: HookType = {
  name: 'stats',
  is: 'statistics of samples: rates, delays, losses, percentiles',
  priority: usualPriority,
  make(settings, context) {
    const format = settings.choice<'human' | 'json'>('format', 'human', ['human', 'json'])
    const verbose = settings.boolean('verbose', false)
    const warmup = settings.integer('warmup', 500, 0, 2 ** 31)
    const buckets = settings.integer('buckets', 20, 0, 1 << 16)
    const output = settings.string('output', 'stdout', 'stats.log')
    const statistics = new Statistics({ buckets, warmup })
    context.publish?.(statistics)
    return new Stats(context, statistics, { format, verbose, output })
  },
}
