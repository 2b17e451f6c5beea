/** A path in a configuration: its sources, hooks and destinations. */
import { didYouMean } from '../../spelling/index.ts'
import { GatewayError } from '../errors.ts'
import { type Settings, SettingsReader } from '../settings.ts'
import { readHooks } from './hooks.ts'
import { type Mapping, mappingText, parseMapping } from './mapping.ts'
import { readUuid } from './node.ts'
import { notice, type Reading } from './reading.ts'
import type { PathConfig } from './types.ts'

const mostQueueLength = 2 ** 20

/**
 * Reads path `index` of the settings: one path, or two if it goes in both directions. `names`: of all nodes; `usualUuid`: UUID of a path
 * that has none.
 */
export function readPath(
  reading: Reading,
  index: number,
  settings: Settings,
  names: readonly string[],
  usualUuid: string,
): PathConfig[] {
  const of = `path ${index}`
  const reader = new SettingsReader(of, settings, [], reading.placeOf)
  const known = (key: string, name: string): void => {
    if (!names.includes(name)) reader.fail(`${of}.${key}: there is no node '${name}'.${didYouMean(name, names)}`, key)
  }
  const sources = reader.strings('in', [], 'node_1').map((text) => {
    const mapping = mappingOf(reader, of, text)
    known('in', mapping.node)
    return mapping
  })
  if (sources.length === 0) reader.refuse('in', 'the name of a node, or a list of names or mappings', '"node_1"')
  const out = reader.strings('out', [], 'node_2')
  for (const name of out) known('out', name)
  const mask = reader.has('mask') ? reader.strings('mask', [], 'node_1') : null
  for (const name of mask ?? [])
    if (!sources.some(({ node }) => node === name)) {
      const from = [...new Set(sources.map(({ node }) => node))]
      reader.fail(`${of}.mask: '${name}' is no source of this path.${didYouMean(name, from)}`, 'mask')
    }
  const uuid = readUuid(reader) ?? usualUuid
  const path: PathConfig = {
    uuid,
    enabled: reader.boolean('enabled', true),
    in: sources,
    out,
    mode: reader.choice('mode', 'any', ['any', 'all']),
    mask,
    rateHz: reader.number('rate', 0, 0, 1e7),
    poll: reader.has('poll') ? reader.boolean('poll', true) : null,
    queueLength: queueLength(reading, reader),
    originalSequence: reader.has('original_sequence_no') ? reader.boolean('original_sequence_no', true) : null,
    builtin: reader.boolean('builtin', true),
    hooks: reader.has('hooks') ? readHooks(of, settings, reading.placeOf) : [],
    affinity: readAffinity(reader),
    reversed: false,
    settings,
  }
  const both = reader.boolean('reverse', false)
  reader.done()
  if (path.poll === false && sources.some(({ node }) => node !== sources[0]!.node))
    reader.fail(`${of}.poll: a path with more than one source has to poll; leave poll out`, 'poll')
  if (path.poll === false && path.rateHz > 0)
    reader.fail(`${of}.poll: a path with a rate has to poll; leave poll or rate out`, 'poll')
  return both ? [path, reverse(reading, reader, of, path)] : [path]
}

function reverse(reading: Reading, reader: SettingsReader, of: string, path: PathConfig): PathConfig {
  const [source] = path.in
  const [destination] = path.out
  const simple = path.in.length === 1 && path.out.length === 1 && source!.what === 'data' && source!.range === null
  if (!simple) reader.fail(`${of}.reverse: only a path from one node to one node can have a reverse one`, 'reverse')
  if (source!.node === destination)
    reader.fail(`${of}.reverse: the path begins and ends at '${destination}', so it is its own reverse`, 'reverse')
  const mask = path.mask === null ? null : [destination!]
  const into: Mapping = { node: destination!, what: 'data', range: null }
  const uuid = reading.uuidOf(path.uuid, 'reverse')
  return { ...path, uuid, in: [into], out: [source!.node], mask, reversed: true }
}

function queueLength(reading: Reading, reader: SettingsReader): number {
  const asked = reader.integer('queuelen', 1024, 1, mostQueueLength)
  const length = 2 ** Math.ceil(Math.log2(asked))
  if (length !== asked)
    notice(reading, reader.settings, 'queuelen', `queuelen is ${length} instead of ${asked}: it has to be a power of 2`)
  return length
}

export function readAffinity(reader: SettingsReader): number {
  return reader.integer('affinity', 0, 0, Number.MAX_SAFE_INTEGER)
}

function mappingOf(reader: SettingsReader, of: string, text: string): Mapping {
  try {
    return parseMapping(text)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return reader.fail(`${of}.in: ${error.message}`, 'in')
  }
}

/** Returns a path in a line: "node1 + node2.data[0-3] → node3". */
export function pathText({ in: sources, out }: PathConfig): string {
  return `${sources.map(mappingText).join(' + ')} → ${out.join(', ') || 'nothing'}`
}
