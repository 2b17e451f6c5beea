/** Values that a client has drawn from the distributions of its configuration: sizes by phase and verb, and gaps by phase. */
import { LogHistogram } from '../../stats/index.ts'
import { gapsAsked, type RecordedValues, sizeSlack, sizesAsked, type TrafficConfig, verbs } from '../index.ts'

const precision = 8
const sizeBits = 53
const gapBits = 50
/** Maximum number of gaps of a phase that are recorded: more add no information, and take time. */
const mostGaps = 2 ** 20
/** Maximum deviation of gaps by rounding: due times are whole nanoseconds. */
const gapSlackNs = 1

interface Sizes {
  histogram: LogHistogram
  draws: number
  /** Last size, and the number of successive times that it came without being in the histogram. */
  last: number
  times: number
}

export class DrawnValues {
  readonly #config: TrafficConfig
  /** Sizes by phase and verb. */
  readonly #sizes: (Sizes | null)[]
  /** Gaps by phase. */
  readonly #gaps: (LogHistogram | null)[]
  /** Flags by phase: flows of a fan-out share one draw. */
  readonly #shared: readonly boolean[]
  #phase = -1
  #group = -1
  #dueNs = 0

  constructor(config: TrafficConfig) {
    this.#config = config
    this.#sizes = new Array(config.phases.length * verbs.length).fill(null)
    this.#gaps = config.phases.map(() => null)
    this.#shared = config.phases.map(({ fanoutSize }) => fanoutSize === 'split')
  }

  /** Adds a request: `group` is the number of its fan-out. */
  add(phase: number, group: number, verb: number, size: number, dueNs: number): void {
    const begins = group !== this.#group
    const at = phase * verbs.length + verb
    const sizes = this.#sizes[at] ?? this.#madeSizes(at)
    if (begins || !this.#shared[phase]) sizes.draws++
    if (size === sizes.last) sizes.times++
    else {
      if (sizes.times > 0) sizes.histogram.addTimes(sizes.last, sizes.times)
      sizes.last = size
      sizes.times = 1
    }
    if (!begins) return
    this.#group = group
    if (phase === this.#phase) {
      const gaps = this.#gaps[phase]!
      if (gaps !== null && gaps.count < mostGaps) gaps.add(dueNs - this.#dueNs)
    } else this.#enter(phase)
    this.#dueNs = dueNs
  }

  toPlain(): { sizes: RecordedValues[]; gaps: RecordedValues[] } {
    const { phases, bandwidthBps } = this.#config
    const sizes = this.#sizes.flatMap((drawn, at): RecordedValues[] => {
      if (drawn === null) return []
      if (drawn.times > 0) drawn.histogram.addTimes(drawn.last, drawn.times)
      drawn.times = 0
      const phase = Math.floor(at / verbs.length)
      const verb = verbs[at % verbs.length]!
      const [asked, slack] = [sizesAsked(phases[phase]!, verb), sizeSlack(phases[phase]!)]
      return [{ phase, verb, asked, slack, draws: drawn.draws, generated: drawn.histogram.toPlain() }]
    })
    const gaps = this.#gaps.flatMap((histogram, phase): RecordedValues[] => {
      if (histogram === null) return []
      const asked = gapsAsked(phases[phase]!, bandwidthBps)
      return [{ phase, verb: null, asked, slack: gapSlackNs, draws: histogram.count, generated: histogram.toPlain() }]
    })
    return { sizes, gaps }
  }

  #madeSizes(at: number): Sizes {
    const made = { histogram: new LogHistogram({ precision, bits: sizeBits }), draws: 0, last: -1, times: 0 }
    this.#sizes[at] = made
    return made
  }

  /**
   * Enters a phase. The time between the phases is not a gap of either. In a closed loop and in a collective other requests determine the
   * times.
   */
  #enter(phase: number): void {
    this.#phase = phase
    const { arrival, collective } = this.#config.phases[phase]!
    if (collective !== null || arrival.type === 'closed') return
    this.#gaps[phase] = new LogHistogram({ precision, bits: gapBits })
  }
}
