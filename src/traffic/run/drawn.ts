/** What a client has drawn from the distributions of its configuration: sizes by phase and verb, and gaps by phase. */
import { LogHistogram } from '../../stats/index.ts'
import { gapsAsked, type RecordedValues, sizeSlack, sizesAsked, type TrafficConfig, verbs } from '../index.ts'

const precision = 8
const sizeBits = 53
const gapBits = 50
/** Gaps of a phase that are looked at: more say nothing new, and take time. */
const mostGaps = 2 ** 20
/** Due times are whole nanoseconds. */
const gapSlackNs = 1

interface Sizes {
  histogram: LogHistogram
  draws: number
  /** The last size, and how often it came in a row without being in the histogram. */
  last: number
  times: number
}

export class DrawnValues {
  readonly #config: TrafficConfig
  /** By phase and verb. */
  readonly #sizes: (Sizes | null)[]
  /** By phase. */
  readonly #gaps: (LogHistogram | null)[]
  /** Whether flows of a fan-out share one draw, by phase. */
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

  /** A request: `group` is the number of its fan-out. */
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

  /** The time between the phases is no gap of either. In a closed loop and in a collective other requests decide. */
  #enter(phase: number): void {
    this.#phase = phase
    const { arrival, collective } = this.#config.phases[phase]!
    if (collective !== null || arrival.type === 'closed') return
    this.#gaps[phase] = new LogHistogram({ precision, bits: gapBits })
  }
}
