/**
 * stats: statistics of other nodes as samples, at a rate. They are what the hook `stats` of such a node has seen, as of the last time that
 * statistics were gathered (`stats` at the top of a configuration is the rate of that).
 */
import {
  GatewayError,
  type NodeContext,
  type NodeType,
  parseMapping,
  type RunningNode,
  SampleField,
  SampleFlag,
  type SettingsReader,
  type Signal,
  SignalType,
  type Source,
  type StatsMetric,
  type StatsType,
  statsMetrics,
} from '../index.ts'
import { makeTimer, Pace } from './timing/index.ts'

interface Figure {
  readonly node: string
  readonly metric: StatsMetric
  readonly type: StatsType
}

class StatsNode implements RunningNode {
  readonly source: Source
  readonly destination = null
  readonly synchronous = true
  state = 'started'
  readonly #context: NodeContext
  readonly #figures: readonly (() => number)[]
  readonly #signals: readonly Signal[]
  readonly #pace: Pace
  readonly #timer = makeTimer('timerfd')
  #sequence = 0

  constructor(context: NodeContext, rateHz: number, figures: readonly Figure[], signals: readonly Signal[]) {
    this.#context = context
    this.#signals = signals
    this.#figures = figures.map(({ node, metric, type }) => {
      const statistic = context.statistics(node)
      if (statistic === undefined)
        throw new GatewayError(
          'ERR_GATEWAY_NODE',
          `there is no node '${node}', of which ${node}.${metric}.${type} would be`,
        )
      return () => statistic(metric, type)
    })
    this.#pace = new Pace(rateHz, context.clock, this.#timer)
    this.source = {
      released: 0,
      read: (samples, count) => this.#read(samples, count),
      wait: (ms) => this.#pace.wait(ms),
    }
  }

  #read(indices: Int32Array, count: number): number {
    this.source.released = count
    if (this.#pace.due() === 0) return 0
    const { pool, clock } = this.#context
    const { samples } = pool
    const word = samples.word(indices[0]!)
    clock.stamp(word + SampleField.origin)
    samples.setInt64(word + SampleField.sequence, this.#sequence++)
    samples.u32[word + SampleField.length] = this.#figures.length
    samples.u32[word + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence | SampleFlag.data
    for (const [i, figure] of this.#figures.entries()) {
      const at = word + SampleField.data + 2 * i
      const value = figure()
      if (this.#signals[i]!.type === SignalType.integer) samples.setInt64(at, Number.isNaN(value) ? 0 : value)
      else samples.f64[at >> 1] = value
    }
    return 1
  }

  counters(): Readonly<Record<string, number>> {
    return { missed_steps: this.#pace.missed }
  }

  async stop(): Promise<void> {
    this.state = 'stopped'
    this.#timer.close()
  }
}

/** Reads "node.stats.owd.mean". */
function mappingOf(group: SettingsReader, text: string): Figure {
  try {
    const mapping = parseMapping(text)
    if (mapping.what === 'stats') return mapping
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    group.fail(`stats: ${error.message}`, 'stats')
  }
  group.refuse('stats', 'a statistic: NODE.METRIC.TYPE', '"udp_node.owd.mean"')
}

export const stats: NodeType = {
  name: 'stats',
  is: 'statistics of other nodes as samples',
  parse(reader, common) {
    if (!reader.has('rate')) reader.refuse('rate', 'how many samples a second', '1')
    const rateHz = reader.number('rate', 1, 1e-3, 1e6)
    const node = reader.has('node') ? reader.string('node', null, 'udp_node') : undefined
    const input = reader.group('in')
    const groups = input.groups('signals', ['name', 'unit', 'type', 'init'])
    const figures = groups.map((group): Figure => {
      const text = group.string('stats', null, 'udp_node.owd.mean')
      // "node.owd.mean", or "owd.mean" of the node that the settings name.
      const whole = node !== undefined && !text.startsWith(`${node}.`) ? `${node}.${text}` : text
      const mapping = mappingOf(group, whole.replace('.', '.stats.'))
      group.done()
      return { node: mapping.node, metric: mapping.metric, type: mapping.type }
    })
    if (figures.length === 0)
      input.refuse('signals', 'a list with a statistic for each', '[{"stats":"udp_node.owd.mean"}]')
    input.done()
    reader.group('out').done()
    reader.done()
    const signals = figures.map(({ metric, type }, i) => ({
      name: common.signals?.[i]?.name ?? `signal${i}`,
      unit: common.signals?.[i]?.unit || (type === 'total' ? '' : statsMetrics[metric]),
      type: type === 'total' ? SignalType.integer : SignalType.float,
    }))
    return {
      signals,
      reads: true,
      writes: false,
      splits: false,
      start: async (context) => new StatsNode(context, rateHz, figures, signals),
    }
  },
}
