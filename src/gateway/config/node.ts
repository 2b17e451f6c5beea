/** A node in a configuration: the settings that all nodes have. The other ones belong to its type. */
import type { NodeCommon } from '../node-type.ts'
import { type PlaceOf, type Settings, SettingsReader } from '../settings.ts'
import { mostSignals } from '../signals.ts'
import { readHooks } from './hooks.ts'
import { ignored, takeIgnored } from './ignored.ts'
import { nodeName } from './mapping.ts'
import type { Reading } from './reading.ts'
import { readSignals } from './signals.ts'
import type { DirectionConfig, NodeConfig } from './types.ts'

/** Settings that a direction has, and, for both, the node. */
const sharedKeys = ['signals', 'builtin', 'vectorize', 'hooks']
const nodeKeys = ['type', 'uuid', 'enabled', 'initial_sequenceno', ...sharedKeys]
const directionKeys = {
  in: ['enabled', ...sharedKeys],
  out: ['enabled', ...sharedKeys, ...Object.keys(ignored.out)],
}

/** Maximum number of samples that a node reads or writes at once. */
const mostVectorize = mostSignals

/** Reads the node `name` of the settings `nodes`. */
export function readNode(reading: Reading, gatewayUuid: string, nodes: SettingsReader, name: string): NodeConfig {
  const { placeOf } = reading
  if (!nodeName.test(name))
    nodes.fail(`'${name}' is no name of a node. Expected 2 to 32 of a-z, 0-9, _ and -, for example: node_1`, name)
  if (!nodes.has(name)) nodes.refuse(name, 'a group with the type of the node', '{"type":"loopback"}')
  const settings = nodes.group(name).settings
  const of = `node ${name}`
  const reader = new SettingsReader(of, settings, [], placeOf)
  const type = reader.string('type', null, 'loopback')
  takeIgnored(
    reader,
    ignored.node,
    (found) => reading.notices.push(found),
    (each) => placeOf(settings, each),
  )
  const direction = (key: 'in' | 'out'): DirectionConfig => {
    const own = reader.group(key)
    const where = `${of}.${key}`
    if (key === 'out')
      takeIgnored(
        own,
        ignored.out,
        (found) => reading.notices.push(found),
        (each) => placeOf(own.settings, each),
      )
    // Settings of a direction take precedence over those of the node.
    const group = (setting: string): [string, Settings] => (own.has(setting) ? [where, own.settings] : [of, settings])
    const shared = (setting: string) => new SettingsReader(...group(setting), [], placeOf)
    return {
      enabled: own.boolean('enabled', true),
      vectorize: shared('vectorize').integer('vectorize', 1, 1, mostVectorize),
      signals: readSignals(group('signals')[0], type, group('signals')[1], placeOf),
      hooks: readHooks(...group('hooks'), placeOf),
      builtin: shared('builtin').boolean('builtin', true),
    }
  }
  return {
    name,
    uuid: readUuid(reader) ?? reading.uuidOf(gatewayUuid, name),
    type,
    enabled: reader.boolean('enabled', true),
    initialSequence: reader.integer('initial_sequenceno', 0, 0, Number.MAX_SAFE_INTEGER),
    in: direction('in'),
    out: direction('out'),
    settings,
  }
}

/** Returns the reader from which the type of a node reads its settings. */
export function settingsOfNode(node: NodeConfig, placeOf?: PlaceOf): SettingsReader {
  const without = Object.keys(ignored.node).filter((key) => Object.hasOwn(node.settings, key))
  return new SettingsReader(`node ${node.name}`, node.settings, [...nodeKeys, ...without], placeOf, directionKeys)
}

export function commonOfNode({ name, in: { vectorize, signals }, out, initialSequence }: NodeConfig): NodeCommon {
  return { name, vectorize: { in: vectorize, out: out.vectorize }, signals, initialSequence }
}

export function readUuid(reader: SettingsReader): string | null {
  if (!reader.has('uuid')) return null
  const uuid = reader.string('uuid', null, '')
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid))
    reader.refuse('uuid', 'a UUID', '"c7a4bb1f-6b6c-4b1f-a2c5-0f0d7a2d9f11"')
  return uuid.toLowerCase()
}
