/**
 * A source of generated samples, at a rate or as fast as they are taken. The time of origin is taken when a step is due and not before, so
 * that it is the time at which the sample came to be. Values and sequence numbers follow the grid: a step that was missed leaves a gap.
 */
import {
  type NodeContext,
  type RunningNode,
  SampleField,
  SampleFlag,
  type Source,
  stepsBehind,
  type TimeOfDay,
  timeOfDay,
} from '../../index.ts'
import { makeTimer, Pace, type Timer, type TimerName } from '../timing/index.ts'
import type { Shape } from './shapes.ts'

export interface GeneratorSettings {
  readonly rateHz: number
  /** Samples, missed ones included; 0: without end. */
  readonly limit: number
  /** Flag: keep to the rate. */
  readonly realtime: boolean
  /** Flag: log at the end how many steps were missed. */
  readonly monitorMissed: boolean
  readonly firstSequence: number
  readonly timer: TimerName
  /**
   * Samples that come first, at a rate of their own, so that all stages that they pass are ready afterwards. Sequence numbers continue
   * after them.
   */
  readonly warmUp: { readonly samples: number; readonly rateHz: number; readonly pauseSeconds: number }
}

const flags = SampleFlag.tsOrigin | SampleFlag.data | SampleFlag.sequence

class GeneratorSource implements Source {
  released = 0
  ended = false
  readonly wait?: (ms: number) => void
  readonly #context: NodeContext
  readonly #settings: GeneratorSettings
  readonly #shapes: readonly Shape[]
  #pace: Pace | null
  /** Pace of the samples after the warm-up. */
  readonly #ownPace: Pace | null
  /** Number of steps in all, those of the warm-up included; 0: without end. */
  readonly #steps: number
  readonly #time: Float64Array = new Float64Array(2)
  /** Number of samples before the last one, missed ones included. */
  #counter = -1
  /** Start of a generator that does not keep to the rate. */
  readonly #start: TimeOfDay = timeOfDay()
  readonly #origin: TimeOfDay = { sec: 0, nsec: 0 }

  constructor(context: NodeContext, settings: GeneratorSettings, shapes: readonly Shape[], timer: Timer) {
    this.#context = context
    this.#settings = settings
    this.#shapes = shapes
    const { realtime, rateHz, limit, warmUp } = settings
    const warms = realtime && warmUp.samples > 0
    const pause = warms ? warmUp.pauseSeconds : 0
    this.#ownPace = realtime ? new Pace(rateHz, context.clock, timer, pause) : null
    this.#pace = warms ? new Pace(warmUp.rateHz, context.clock, timer) : this.#ownPace
    this.#steps = limit > 0 && warms ? limit + warmUp.samples : limit
    // Without a rate there always is something to read.
    this.wait = realtime ? (ms) => this.#pace!.wait(ms) : () => {}
  }

  get missed(): number {
    return this.#ownPace?.missed ?? 0
  }

  read(samples: Int32Array, count: number): number {
    this.released = count
    if (this.#pace !== null) {
      const steps = this.#pace.due()
      if (steps === 0 || this.#isWarm(steps)) return 0
      return this.#generate(samples[0]!, steps) ? 1 : 0
    }
    let made = 0
    while (made < count && this.#generate(samples[made]!, 1)) made++
    return made
  }

  /** True if the warm-up ends with these steps: the samples after it have the node's own rate. */
  #isWarm(steps: number): boolean {
    const { samples } = this.#settings.warmUp
    if (this.#pace === this.#ownPace || this.#counter + steps < samples) return false
    this.#counter = samples - 1
    this.#pace = this.#ownPace
    return true
  }

  /** Fills a sample, the one `steps` steps after the last; returns false if the limit is reached. */
  #generate(index: number, steps: number): boolean {
    const { rateHz, firstSequence } = this.#settings
    const counter = this.#counter + steps
    if (this.#steps > 0 && counter >= this.#steps) {
      this.ended = true
      return false
    }
    this.#counter = counter
    const { samples } = this.#context.pool
    const word = samples.word(index)
    const t = counter / rateHz
    if (this.#pace !== null) this.#context.clock.stamp(word + SampleField.origin)
    else {
      stepsBehind(this.#start, counter, rateHz, this.#origin)
      samples.setInt64(word + SampleField.origin, this.#origin.sec)
      samples.setInt64(word + SampleField.origin + 2, this.#origin.nsec)
    }
    samples.u32[word + SampleField.flags] = flags
    samples.setInt64(word + SampleField.sequence, firstSequence + counter)
    const shapes = this.#shapes
    samples.u32[word + SampleField.length] = shapes.length
    const data = (word + SampleField.data) >> 1
    const time = this.#time
    time[0] = t
    time[1] = counter
    for (let i = 0; i < shapes.length; i++) shapes[i]!.write(time, samples.f64, data + i)
    return true
  }
}

export class Generator implements RunningNode {
  readonly source: GeneratorSource
  readonly destination = null
  readonly synchronous = true
  state = 'started'
  readonly #context: NodeContext
  readonly #monitorMissed: boolean
  readonly #timer: Timer

  constructor(context: NodeContext, settings: GeneratorSettings, shapes: readonly Shape[]) {
    this.#context = context
    this.#monitorMissed = settings.monitorMissed
    this.#timer = makeTimer(settings.timer)
    this.source = new GeneratorSource(context, settings, shapes, this.#timer)
    if (settings.realtime) context.log('debug', `waits by ${this.#timer.is}`)
  }

  counters(): Record<string, number> {
    return { missed_steps: this.source.missed }
  }

  async stop(): Promise<void> {
    this.state = 'stopped'
    this.#timer.close()
    const { missed } = this.source
    if (missed > 0 && this.#monitorMissed)
      this.#context.log('warn', `missed ${missed === 1 ? 'one step' : `${missed} steps`}`)
  }
}
