/**
 * test_rtt: samples that a loop brings back, at all rates and numbers of values of its cases; a file for each case has the round-trip time
 * of each sample (the offset of the format), and at its end the numbers of samples sent, received and missed, and the percentiles.
 */
import { join } from 'node:path'
import { LogHistogram } from '../../../stats/index.ts'
import {
  type Destination,
  type Encoder,
  type NodeContext,
  type NodeType,
  type RunningNode,
  SampleField,
  SampleFlag,
  type Source,
} from '../../index.ts'
import { OutputFile } from '../file/output-file.ts'
import { fileName } from '../file/uri.ts'
import { Counters } from '../kit/counters.ts'
import { makeTimer, Pace, type Timer } from '../timing/index.ts'
import { type Case, type TestRttSettings, testRttSettings } from './settings.ts'

/** Room for a sample of 512 complex values in any format, and for many that are shorter. */
const bufferBytes = 1 << 20
const flags = SampleFlag.tsOrigin | SampleFlag.data | SampleFlag.sequence

/** Case while it runs. */
class Run {
  readonly of: Case
  readonly pace: Pace
  readonly started: number = Date.now() / 1000
  readonly times = new LogHistogram({ precision: 10, bits: 53 })
  /** Samples so far, those of the warm-up included. */
  sent = 0
  received = 0
  receivedWarmup = 0
  /** End of the cool-down, in nanoseconds of the clock; 0: samples are sent. */
  endsNs = 0
  readonly #file: OutputFile
  readonly #encoder: Encoder

  constructor(of: Case, pace: Pace, file: OutputFile, encoder: Encoder) {
    this.of = of
    this.pace = pace
    this.#file = file
    this.#encoder = encoder
  }

  get total(): number {
    return this.of.warmup + this.of.count
  }

  /** Records a sample that is back. */
  take({ pool: { samples } }: NodeContext, index: number): void {
    const word = samples.word(index)
    this.received++
    this.times.add(Math.max(0, Math.round(samples.offset(word)[0]! * 1e9)))
    const file = this.#file
    if (!file.has(this.#encoder.bound)) file.flush()
    file.advance(this.#encoder.encode(samples, index, file.buffer, file.at))
  }

  close(): void {
    const { id, rateHz, values, count, warmup } = this.of
    const { times } = this
    const sent = Math.max(0, this.sent - warmup)
    const rtt = times.count > 0 && {
      ...{ min: times.min, p10: times.percentile(10), median: times.percentile(50), p90: times.percentile(90) },
      ...{ p99: times.percentile(99), max: times.max },
    }
    const early = { count: warmup, sent: Math.min(this.sent, warmup), received: this.receivedWarmup }
    const facts = {
      ...{ id, rate: rateHz, values, started: this.started, stopped: Date.now() / 1000 },
      ...{ count, sent, received: this.received, missed: this.pace.missed },
      ...(rtt && { rtt_ns: rtt }),
      ...(warmup > 0 && { warmup: early }),
    }
    this.#file.write(new TextEncoder().encode(`# ${JSON.stringify(facts)}\n`))
    this.#file.close()
  }
}

class TestRttNode implements RunningNode {
  readonly source: Source
  readonly destination: Destination
  readonly synchronous = true
  state = 'started'
  readonly #context: NodeContext
  readonly #settings: TestRttSettings
  readonly #counters: Counters
  readonly #timer: Timer
  readonly #prefix: string
  #next = 0
  #run: Run | undefined
  #over = false

  constructor(context: NodeContext, settings: TestRttSettings) {
    this.#context = context
    this.#settings = settings
    this.#counters = new Counters(context)
    this.#timer = makeTimer(settings.timer)
    this.#prefix = fileName(settings.prefix, new Date())
    const over = (): boolean => this.#over
    this.source = {
      released: 0,
      read: (samples, count) => this.#read(samples, count),
      wait: (ms) => this.#wait(ms),
      get ended() {
        return over()
      },
    }
    this.destination = { released: 0, write: (samples, count) => this.#write(samples, count) }
    this.#begin()
  }

  counters(): Readonly<Record<string, number>> {
    const missed = this.#run?.pace.missed ?? 0
    return { ...this.#counters.all, cases: this.#next, missed_steps: (this.#counters.all.missed_steps ?? 0) + missed }
  }

  /** Begins the next case. */
  #begin(): void {
    const { cases, output, format } = this.#settings
    const of = cases[this.#next++]!
    const { rateHz, values, count, warmup } = of
    const path = join(output, `${this.#prefix}_values${values}_rate${rateHz}.log`)
    const signals = this.#context.signals.out.slice(0, values)
    this.#run = new Run(
      of,
      new Pace(rateHz, this.#context.clock, this.#timer),
      OutputFile.open(path, { bufferBytes, append: true }),
      format.encoder(signals),
    )
    const early = warmup > 0 ? `, ${warmup} of warm-up` : ''
    this.#context.log(
      'info',
      `case ${this.#next} of ${cases.length}: ${values} values at ${rateHz} Hz, ${count} samples${early}: ${path}`,
    )
  }

  #finish(run: Run): void {
    this.#close(run)
    this.#counters.add('missed_steps', run.pace.missed)
    this.#run = undefined
    const { count, warmup } = run.of
    const lost = run.sent - warmup - run.received
    const lag = run.received > 0 ? `, median ${(run.times.percentile(50) / 1000).toFixed(1)} µs` : ''
    this.#context.log(
      'info',
      `${count} samples: ${run.received} came back${lag}, ${lost} did not, ${run.pace.missed} steps missed`,
    )
    if (this.#next < this.#settings.cases.length) {
      this.#begin()
      return
    }
    this.#over = true
    this.state = 'stopping'
    if (this.#settings.shutdown) this.#context.finish()
  }

  #close(run: Run): void {
    try {
      run.close()
    } catch (error) {
      this.#context.fail(error as Error)
    }
  }

  #read(indices: Int32Array, count: number): number {
    this.source.released = count
    const run = this.#run
    if (run === undefined) return 0
    if (run.endsNs > 0) {
      if (this.#context.clock.nowNs() >= run.endsNs) this.#finish(run)
      return 0
    }
    if (run.pace.due() === 0) return 0
    const { pool, clock } = this.#context
    const { samples } = pool
    const word = samples.word(indices[0]!)
    const { values } = run.of
    samples.setInt64(word + SampleField.sequence, run.sent)
    samples.u32[word + SampleField.length] = values
    samples.u32[word + SampleField.flags] = flags
    for (let i = 0, at = (word + SampleField.data) >> 1; i < values; i++) samples.f64[at + i] = i
    clock.stamp(word + SampleField.origin)
    if (++run.sent === run.total) run.endsNs = clock.nowNs() + Math.max(run.of.cooldown * 1e9, 1)
    return 1
  }

  #wait(ms: number): void {
    const run = this.#run
    if (run === undefined) return
    if (run.endsNs === 0) run.pace.wait(ms)
    else this.#timer.sleep(Math.min(run.endsNs, this.#context.clock.nowNs() + ms * 1e6))
  }

  #write(indices: Int32Array, count: number): number {
    this.destination.released = count
    try {
      for (let i = 0; i < count; i++) this.#arrive(indices[i]!)
    } catch (error) {
      // The disk is full.
      this.#context.fail(error as Error)
    }
    return count
  }

  /** Handles a sample that is back. One of an earlier case has another length, a higher number, or an earlier time. */
  #arrive(index: number): void {
    const { samples } = this.#context.pool
    const run = this.#run
    const word = samples.word(index)
    const sequence = samples.int64(word + SampleField.sequence)
    const origin = samples.int64(word + SampleField.origin) + samples.int64(word + SampleField.origin + 2) / 1e9
    if (run === undefined || samples.u32[word + SampleField.length] !== run.of.values) this.#counters.add('late')
    else if (sequence >= run.sent || origin < run.started - 0.001) this.#counters.add('late')
    else if (!(samples.u32[word + SampleField.flags]! & SampleFlag.tsReceived)) {
      const what = 'a sample does not say when it was received, and was lost: does its node have builtin = false?'
      this.#counters.warn('not_stamped', what)
    } else if (sequence < run.of.warmup) run.receivedWarmup++
    else run.take(this.#context, index)
  }

  async stop(): Promise<void> {
    if (this.#run) this.#close(this.#run)
    this.#run = undefined
    this.#timer.close()
    this.state = 'stopped'
  }
}

export const testRtt: NodeType = {
  name: 'test_rtt',
  is: 'measures round-trip times, for rates and numbers of values',
  parse(reader, common) {
    const settings = testRttSettings(reader, common.name)
    const most = Math.max(...settings.cases.map(({ values }) => values))
    return {
      signals: Array.from({ length: most }, (_, i) => ({ name: `signal${i}`, unit: '', type: 0 })),
      reads: true,
      writes: true,
      splits: false,
      start: async (context) => new TestRttNode(context, settings),
    }
  },
}
