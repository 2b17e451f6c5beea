/**
 * Mapping expressions of paths: which values of a source go into the path, as VILLASnode writes them.
 *
 *     node                          all of its values
 *     node[0-2], node.data[a-b]     a range, by index or by the names of signals
 *     node.voltage, node.data.voltage, node[3]
 *     node.hdr.sequence, node.hdr.length
 *     node.ts.origin, node.ts.received      two values: seconds, nanoseconds
 *     node.stats.owd.mean           a statistic of the node
 */
import { didYouMean } from '../../spelling/index.ts'
import { GatewayError } from '../errors.ts'
import { type Signal, SignalType } from '../signals.ts'

export type Mapping = { readonly node: string } & (
  | {
      readonly what: 'data' /** Names or indices; null: all values. */
      readonly range: readonly [string, string] | null
    }
  | { readonly what: 'hdr'; readonly field: 'sequence' | 'length' }
  | { readonly what: 'ts'; readonly field: 'origin' | 'received' }
  | { readonly what: 'stats'; readonly metric: StatsMetric; readonly type: StatsType }
)

/** Statistics and their units. */
export const statsMetrics = {
  skipped: 'samples',
  reordered: 'samples',
  gap_sent: 'seconds',
  gap_received: 'seconds',
  owd: 'seconds',
  age: 'seconds',
  signal_cnt: 'signals',
  'rtp.loss_fraction': 'percent',
  'rtp.pkts_lost': 'packets',
  'rtp.jitter': 'seconds',
} as const
export type StatsMetric = keyof typeof statsMetrics

export const statsTypes = ['last', 'highest', 'lowest', 'mean', 'var', 'stddev', 'total'] as const
export type StatsType = (typeof statsTypes)[number]

export const nodeName: RegExp = /^[a-z0-9_-]{2,32}$/

const expression = /^([a-z0-9_-]{2,32})(?:\[(\w+)(?:-(\w+))?\]|\.(.+))?$/
const range = /^data\[(\w+)(?:-(\w+))?\]$/
const single = /^(?:data\.)?(\w+)$/
const examples =
  "'node', 'node[0-2]', 'node.data[a-b]', 'node.voltage', 'node.hdr.sequence', 'node.ts.origin' or 'node.stats.owd.mean'"

/** Parses a mapping expression. Throws a `GatewayError` that describes what is wrong with it. */
export function parseMapping(text: string): Mapping {
  const [, node, first, last, rest] = expression.exec(text) ?? []
  if (node === undefined) refuse(text, `expected ${examples}; names of nodes have 2 to 32 of a-z, 0-9, _ and -`)
  if (first !== undefined) return { node, what: 'data', range: [first, last ?? first] }
  if (rest === undefined) return { node, what: 'data', range: null }
  const [, from, to] = range.exec(rest) ?? []
  if (from !== undefined) return { node, what: 'data', range: [from, to ?? from] }
  const [group, ...parts] = rest.split('.')
  const field = parts.join('.')
  if (group === 'hdr' && parts.length > 0)
    return { node, what: 'hdr', field: oneOf(text, 'field of the header', field, ['sequence', 'length']) }
  if (group === 'ts' && parts.length > 0)
    return { node, what: 'ts', field: oneOf(text, 'time', field, ['origin', 'received']) }
  if (group === 'stats' && parts.length > 0) {
    const type = parts.pop()!
    const metric = oneOf(text, 'statistic', parts.join('.'), Object.keys(statsMetrics) as StatsMetric[])
    return { node, what: 'stats', metric, type: oneOf(text, 'value of a statistic', type, statsTypes) }
  }
  const [, name] = single.exec(rest) ?? []
  if (name === undefined) refuse(text, `expected ${examples}`)
  return { node, what: 'data', range: [name, name] }
}

export function mappingText(mapping: Mapping): string {
  const { node, what } = mapping
  if (what === 'stats') return `${node}.stats.${mapping.metric}.${mapping.type}`
  if (what !== 'data') return `${node}.${what}.${mapping.field}`
  if (mapping.range === null) return node
  const [first, last] = mapping.range
  return first === last ? `${node}.data[${first}]` : `${node}.data[${first}-${last}]`
}

/** Values that a mapping takes from its source, whose signals are known now. */
export interface MappedValues {
  /** Index of the first value of the source that is taken; 0 if what is taken is not a value of it. */
  readonly first: number
  /** Signals of the values that are taken, in order. */
  readonly signals: readonly Signal[]
}

/** Resolves a mapping. Throws a `GatewayError` if the source has no such signals. */
export function resolveMapping(mapping: Mapping, signals: readonly Signal[]): MappedValues {
  const text = mappingText(mapping)
  if (mapping.what === 'hdr') return { first: 0, signals: [{ name: text, unit: '', type: SignalType.integer }] }
  if (mapping.what === 'ts')
    return {
      first: 0,
      signals: [
        { name: `${text}.sec`, unit: 's', type: SignalType.integer },
        { name: `${text}.nsec`, unit: 'ns', type: SignalType.integer },
      ],
    }
  if (mapping.what === 'stats') {
    const type = mapping.type === 'total' ? SignalType.integer : SignalType.float
    return { first: 0, signals: [{ name: text, unit: statsMetrics[mapping.metric], type }] }
  }
  if (mapping.range === null) return { first: 0, signals }
  const [first, last] = mapping.range.map((name) => {
    const named = signals.findIndex((signal) => signal.name === name)
    const index = named < 0 && /^\d+$/.test(name) ? Number(name) : named
    if (index < 0) {
      const names = signals.map((signal) => signal.name)
      refuse(text, `node '${mapping.node}' has no signal '${name}'.${didYouMean(name, names)}`)
    }
    if (index >= signals.length)
      refuse(
        text,
        `node '${mapping.node}' has ${signals.length} signals, 0 to ${signals.length - 1}; there is no ${index}`,
      )
    return index
  }) as [number, number]
  if (last < first) refuse(text, `the range ends (${last}) before it begins (${first})`)
  return { first, signals: signals.slice(first, last + 1) }
}

function oneOf<const T extends string>(text: string, what: string, value: string, known: readonly T[]): T {
  if (!known.includes(value as T))
    refuse(text, `'${value}' is no ${what}.${didYouMean(value, known)} Expected one of ${known.join(', ')}`)
  return value as T
}

function refuse(text: string, why: string): never {
  throw new GatewayError('ERR_GATEWAY_SETTING', `the mapping '${text}' is not valid: ${why}`)
}
