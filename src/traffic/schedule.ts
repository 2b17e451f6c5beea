/**
 * Requests of a configuration in the order of time. The seed and the number of the client determine all of them: arrivals, sizes, verbs,
 * destinations, rates, DSCPs, service levels and fan-outs each have a stream of random numbers of their own.
 *
 *     const schedule = new Schedule(config)
 *     while (schedule.next()) use(schedule.timeNs, schedule.server, …)
 *
 * `next` allocates nothing for a request.
 */
import { Arrivals } from './arrivals.ts'
import { Choice, joint, type Pair } from './choice.ts'
import { CollectiveRun } from './collective-run.ts'
import {
  atomicBytes,
  fanoutsOf,
  isAtomic,
  type Phase,
  qpTypes,
  requestRate,
  type SizeSource,
  type TrafficConfig,
  type TrafficQpType,
  type Verb,
  verbs,
} from './config.ts'
import { DestinationPicker } from './destinations.ts'
import { TrafficError } from './error.ts'
import { RandomStream } from './random.ts'

/** Maximum size of a request that a distribution may return. */
const mostBytes = Number.MAX_SAFE_INTEGER

const atomics = verbs.map(isAtomic)

/** Properties of one request. A `Schedule` is its current one. */
export interface Request {
  /**
   * Time when it is due, whole nanoseconds from the start. In a closed loop, where the previous request determines it, the time at which it
   * would be due on a link that carries its bandwidth at once.
   */
  readonly timeNs: number
  /** Index in the servers of the configuration. */
  readonly server: number
  /** Bytes of the flow. */
  readonly size: number
  readonly verb: Verb
  readonly type: TrafficQpType
  /** Indices of verb and type in `verbs` and `qpTypes`. */
  readonly verbIndex: number
  readonly typeIndex: number
  readonly dscp: number
  readonly serviceLevel: number
  /** Bits per second; 0 is as fast as possible. */
  readonly rateBps: number
  /** Number, from 0, of the fan-out that it belongs to: requests of one number are due together. */
  readonly group: number
  /** Index in the phases of the configuration. */
  readonly phase: number
}

interface Streams {
  arrivals: RandomStream
  sizes: RandomStream
  pairs: RandomStream
  servers: RandomStream
  rates: RandomStream
  dscps: RandomStream
  levels: RandomStream
  fanouts: RandomStream
  collective: RandomStream
}

export class Schedule implements Request {
  timeNs = 0
  server = 0
  size = 0
  verbIndex = 0
  typeIndex = 0
  dscp = 0
  serviceLevel = 0
  rateBps = 0
  group = -1
  phase = -1

  readonly #config: TrafficConfig
  readonly #times: 'ideal' | 'caller'
  readonly #streams: Streams
  readonly #endNs: number
  #count = 0
  #now = 0
  #phaseEndNs = 0
  #current: PhaseRun | null = null
  /** Number of requests of the fan-out that are still to come. */
  #left = 0
  #flows = 1
  #total = 0

  /** @param times with those of the caller, requests of a closed loop have the time at which the phase began, and `skipPhase` ends it */
  constructor(config: TrafficConfig, times: 'ideal' | 'caller' = 'ideal') {
    this.#times = times
    const stream = (name: string): RandomStream => new RandomStream(config.seed, `${config.client}/${name}`)
    this.#config = config
    this.#endNs = config.durationNs ?? Number.POSITIVE_INFINITY
    this.#streams = {
      arrivals: stream('arrivals'),
      sizes: stream('sizes'),
      pairs: stream('verbs'),
      servers: stream('servers'),
      rates: stream('rates'),
      dscps: stream('dscps'),
      levels: stream('levels'),
      fanouts: stream('fanouts'),
      collective: stream('collective'),
    }
  }

  get verb(): Verb {
    return verbs[this.verbIndex]!
  }

  get type(): TrafficQpType {
    return qpTypes[this.typeIndex]!
  }

  /** Moves on to the next request; false when there is none. */
  next(): boolean {
    if (this.#config.count !== null && this.#count >= this.#config.count) return false
    for (;;) {
      if (this.#left > 0) break
      if (this.#current === null && !this.#nextPhase()) return false
      const run = this.#current!
      if (run.collective !== null) {
        if (this.#nextOfCollective(run, run.collective)) break
      } else if (this.#nextFanout(run)) break
      // The phase is over: the gap that led out of it is not carried over, since rates differ.
      this.#now = this.#phaseEndNs
      this.#current = null
    }
    if (this.#now >= this.#endNs) return false
    this.timeNs = Math.round(this.#now)
    if (this.#current!.collective === null) this.#fill(this.#current!)
    this.#count++
    return true
  }

  /** Ends the current phase at this time, before its current request. */
  skipPhase(nowNs: number): void {
    this.#count--
    this.#now = nowNs
    this.#left = 0
    this.#current = null
  }

  #nextPhase(): boolean {
    const index = this.phase + 1
    const phase = this.#config.phases[index]
    if (phase === undefined) return false
    this.phase = index
    this.#phaseEndNs = this.#now + phase.durationNs
    this.#current = new PhaseRun(phase, this.#config, this.#streams)
    return true
  }

  #nextFanout(run: PhaseRun): boolean {
    const at = this.#now + run.arrivals.gapNs() + (run.closed && this.#times === 'ideal' ? this.#idealGapNs(run) : 0)
    if (at >= this.#phaseEndNs) return false
    this.#now = at
    this.group++
    this.#flows = run.fanouts.pick(this.#streams.fanouts)
    this.#left = this.#flows
    run.destinations.begin()
    this.#drawKind(run)
    this.#total = atomics[this.verbIndex] ? atomicBytes : this.#drawSize(run)
    return true
  }

  #drawKind(run: PhaseRun): void {
    const pair = run.pairs.pick(this.#streams.pairs)
    this.verbIndex = pair >>> 2
    this.typeIndex = pair & 3
    this.dscp = run.dscps.pick(this.#streams.dscps)
    this.serviceLevel = run.levels.pick(this.#streams.levels)
    this.rateBps = run.rates[this.verbIndex]!.pick(this.#streams.rates)
  }

  /**
   * Returns the gap of a closed loop: the time of the previous request on the link, or the pause divided by the depth, if that is longer.
   */
  #idealGapNs(run: PhaseRun): number {
    if (this.group < 0) return 0
    return Math.max((this.#total * 8e9) / this.#config.bandwidthBps, run.closed!.thinkNs / run.closed!.depth)
  }

  /** Fills in one flow of the fan-out. All have its verb, type, DSCP and rate. */
  #fill(run: PhaseRun): void {
    const i = this.#flows - this.#left
    this.#left--
    this.server = run.destinations.next()
    if (atomics[this.verbIndex]) this.size = atomicBytes
    else if (!run.splits) this.size = i === 0 ? this.#total : this.#drawSize(run)
    else this.size = Math.floor((this.#total * (i + 1)) / this.#flows) - Math.floor((this.#total * i) / this.#flows)
  }

  /**
   * Draws a size. Sizes are rounded up, so that the share of requests with at most n bytes is that of the distribution for each whole n.
   */
  #drawSize(run: PhaseRun): number {
    const source = run.sizes[this.verbIndex]!.pick(this.#streams.sizes)
    if (typeof source === 'number') return source
    return Math.min(mostBytes, Math.ceil(source.quantile(this.#streams.sizes.unit())))
  }

  #nextOfCollective(run: PhaseRun, collective: CollectiveRun): boolean {
    if (!collective.next()) {
      this.#now += collective.restNs
      if (this.#now < this.#phaseEndNs) this.#phaseEndNs = this.#now
      return false
    }
    const at = this.#now + collective.gapNs
    if (at >= this.#phaseEndNs) return false
    this.#now = at
    if (collective.beginsStep) this.group++
    this.#drawKind(run)
    this.server = collective.to
    this.size = collective.bytes
    return true
  }
}

/** Distributions of one phase, ready to be drawn from. */
class PhaseRun {
  readonly arrivals: Arrivals
  /** Index of a verb · 4 + index of a type. */
  readonly pairs: Choice<number>
  readonly fanouts: Choice<number>
  readonly dscps: Choice<number>
  readonly levels: Choice<number>
  readonly destinations: DestinationPicker
  readonly splits: boolean
  readonly closed: { depth: number; thinkNs: number } | null
  readonly collective: CollectiveRun | null
  /** Sizes by index of the verb. */
  readonly sizes: readonly Choice<SizeSource>[]
  readonly rates: readonly Choice<number>[]

  constructor(phase: Phase, { servers, seed, client, bandwidthBps }: TrafficConfig, streams: Streams) {
    const pairs = joint(
      phase.verbs.map(({ verb, weight }) => ({ value: verb, weight })),
      phase.types,
    )
    if (typeof pairs === 'string') throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', `${phase.name}: ${pairs}`)
    const own = (verb: Verb) => phase.verbs.find((share) => share.verb === verb)
    this.arrivals = new Arrivals(phase.arrival, requestRate(phase, bandwidthBps), streams.arrivals)
    this.pairs = new Choice(pairs.map(({ value, weight }) => ({ value: pairNumber(value), weight })))
    this.fanouts = new Choice(fanoutsOf(phase))
    this.dscps = new Choice(phase.dscps)
    this.levels = new Choice(phase.serviceLevels)
    this.destinations = new DestinationPicker(phase.destinations, servers, seed, client, streams.servers)
    this.closed = phase.arrival.type === 'closed' ? phase.arrival : null
    this.splits = phase.fanoutSize === 'split'
    this.collective =
      phase.collective === null
        ? null
        : new CollectiveRun(phase.collective, servers.length, (phase.load ?? 1) * bandwidthBps, streams.collective)
    this.sizes = verbs.map((verb) => new Choice(own(verb)?.sizes ?? phase.sizes))
    this.rates = verbs.map((verb) => new Choice(own(verb)?.rates ?? phase.rates))
  }
}

function pairNumber({ verb, type }: Pair): number {
  return (verbs.indexOf(verb) << 2) | qpTypes.indexOf(type)
}
