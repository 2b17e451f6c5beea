/** The signals of a node in a configuration: a list, `{ count, type }`, or a format string as "8f2i". */
import { GatewayError } from '../errors.ts'
import { isGroup, type PlaceOf, type Settings, SettingsReader } from '../settings.ts'
import { mostSignals, type Signal, SignalType, signalsOf, signalTypeNames } from '../signals.ts'
import { missingTypes } from '../villas-only.ts'

/** Types of nodes that describe more than name, unit, type and init in their `signals`, and read that themselves. */
const typesWithOwnSignals: readonly string[] = ['signal.v2', 'stats', ...Object.keys(missingTypes)]

/**
 * Reads signals; null if there are none. `value` is the setting `signals` of `group`, which stands at a direction of a node, or at the
 * node.
 */
export function readSignals(of: string, type: string, group: Settings, placeOf: PlaceOf): Signal[] | null {
  const value = group.signals ?? null
  const reader = new SettingsReader(of, group, Object.keys(group), placeOf)
  if (value === null) return null
  if (typeof value === 'string') {
    try {
      return signalsOf(value)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return reader.fail(`${of}.signals: ${error.message}`, 'signals')
    }
  }
  if (isGroup(value)) return counted(reader.group('signals'), !typesWithOwnSignals.includes(type))
  if (!Array.isArray(value) || !value.every(isGroup))
    reader.refuse('signals', 'a list of signals, a count and a type, or a format string', '"8f"')
  const list = reader.groups('signals')
  if (list.length > mostSignals) reader.fail(`${of}.signals: a sample has at most ${mostSignals} signals`, 'signals')
  return list.map((each, i) => {
    const signal = readSignal(each, `signal${i}`)
    if (!typesWithOwnSignals.includes(type)) each.done()
    return signal
  })
}

/** Reads `count` signals of the same kind, whose names end in their index. */
function counted(reader: SettingsReader, isAll: boolean): Signal[] {
  const count = reader.integer('count', 0, 1, mostSignals)
  const { name, ...rest } = readSignal(reader, 'signal')
  if (isAll) reader.done()
  return Array.from({ length: count }, (_, i) => ({ name: `${name}${i}`, ...rest }))
}

function readSignal(reader: SettingsReader, fallbackName: string): Signal {
  const name = reader.string('name', fallbackName, 'voltage')
  const unit = reader.string('unit', '', 'V')
  const type = signalTypeNames.indexOf(reader.choice('type', 'float', signalTypeNames)) as SignalType
  return reader.has('init') ? { name, unit, type, init: readInit(reader, type) } : { name, unit, type }
}

function readInit(reader: SettingsReader, type: SignalType): NonNullable<Signal['init']> {
  if (type === SignalType.float) return reader.number('init', 0, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
  if (type === SignalType.integer) return reader.integer('init', 0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
  if (type === SignalType.boolean) return reader.boolean('init', false)
  const complex = reader.group('init')
  const [real, imag] = ['real', 'imag'].map((key) =>
    complex.number(key, 0, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  ) as [number, number]
  complex.done()
  return { real, imag }
}
