/** signal and signal.v2: generated samples. The settings of the first are for all values, or lists of them; of the second, for each signal. */
import {
  mostSignals,
  type NodeCommon,
  type NodeType,
  type ParsedNode,
  SettingsReader,
  type Signal,
  SignalType,
} from '../../index.ts'
import { timerNames } from '../timing/index.ts'
import { Generator, type GeneratorSettings } from './generator.ts'
import { Shape, type ShapeName, type ShapeSettings, shapeNames } from './shapes.ts'

const mostRateHz = 1e7
const shapeOrMixed = [...shapeNames, 'mixed'] as const
/** Shapes that `mixed` goes through: in VILLASnode, `signal` has no pulse there, and `signal.v2` has one. */
const mixedShapes: readonly ShapeName[] = shapeNames.filter((name) => name !== 'pulse')

function generatorSettings(reader: SettingsReader, { initialSequence = 0 }: NodeCommon): GeneratorSettings {
  return {
    rateHz: reader.number('rate', 10, 1e-6, mostRateHz),
    limit: Math.max(0, reader.integer('limit', 0, -1, Number.MAX_SAFE_INTEGER)),
    realtime: reader.boolean('realtime', true),
    monitorMissed: reader.boolean('monitor_missed', true),
    firstSequence: initialSequence,
    timer: reader.choice('timer', 'hybrid', timerNames),
    warmUp: warmUpSettings(reader.group('warmup')),
  }
}

/** Reads settings of the warm-up, which VILLASnode does not have. */
function warmUpSettings(reader: SettingsReader): GeneratorSettings['warmUp'] {
  const read = {
    samples: reader.integer('samples', 0, 0, 1e9),
    rateHz: reader.number('rate', 10_000, 1e-6, mostRateHz),
    pauseSeconds: reader.number('pause', 0.2, 0, 1e6),
  }
  reader.done()
  return read
}

type Numbers = Omit<ShapeSettings, 'shape'>

/** Settings of numbers, each with its fallback and its minimum. */
const numberSettings: readonly (readonly [keyof Numbers, string, number, number])[] = [
  ['frequency', 'frequency', 1, Number.NEGATIVE_INFINITY],
  ['amplitude', 'amplitude', 1, Number.NEGATIVE_INFINITY],
  ['stddev', 'stddev', 0.2, 0],
  ['offset', 'offset', 0, Number.NEGATIVE_INFINITY],
  ['phase', 'phase', 0, Number.NEGATIVE_INFINITY],
  ['pulseWidth', 'pulse_width', 1, 0],
  ['pulseLow', 'pulse_low', 0, Number.NEGATIVE_INFINITY],
  ['pulseHigh', 'pulse_high', 1, Number.NEGATIVE_INFINITY],
]

/** Reads the settings of a number of values: each is one for all of them, or a list with one for each. */
function shapesOf(reader: SettingsReader, values: number): ShapeSettings[] {
  const each = <T>(key: string, one: (from: SettingsReader) => T): T[] => {
    const value = reader.any(key)
    if (!Array.isArray(value)) return new Array<T>(values).fill(one(reader))
    if (value.length !== values)
      reader.fail(`${reader.of}: ${key} has ${value.length} entries for ${values} values`, key)
    return value.map((entry, i) => {
      const of = new SettingsReader(`${reader.of}.${key}[${i}]`, { [key]: entry }, [], () => reader.placeOf(key))
      return one(of)
    })
  }
  const names = each('signal', (from) => from.choice('signal', 'mixed', shapeOrMixed))
  const numbers = numberSettings.map(
    ([name, key, fallback, least]) =>
      [name, each(key, (from) => from.number(key, fallback, least, Number.POSITIVE_INFINITY))] as const,
  )
  return names.map((name, i) => {
    const own = Object.fromEntries(numbers.map(([key, list]) => [key, list[i]!])) as unknown as Numbers
    return { ...own, shape: name === 'mixed' ? mixedShapes[i % mixedShapes.length]! : name }
  })
}

function parsed(settings: GeneratorSettings, shapes: readonly ShapeSettings[], signals: readonly Signal[]): ParsedNode {
  return {
    signals,
    reads: true,
    writes: false,
    splits: false,
    start: async (context) => {
      const made = shapes.map((shape) => new Shape(shape, settings.rateHz))
      return new Generator(context, settings, made)
    },
  }
}

export const signal: NodeType = {
  name: 'signal',
  is: 'generates samples: random, sine, square, triangle, ramp, counter, constant, pulse, or all of them (mixed)',
  parse(reader, common) {
    const settings = generatorSettings(reader, common)
    const shape = reader.any('signal')
    const usual = common.signals?.length ?? (Array.isArray(shape) ? shape.length : 1)
    const values = reader.integer('values', usual, 1, mostSignals)
    const shapes = shapesOf(reader, values)
    const given = common.signals
    if (given !== null && given.length !== values)
      reader.fail(`there are ${given.length} signals for ${values} values`, 'values')
    const signals = shapes.map(({ shape, offset }, i) => ({
      name: given?.[i]?.name ?? shape,
      unit: given?.[i]?.unit ?? '',
      type: SignalType.float,
      init: offset,
    }))
    return parsed(settings, shapes, signals)
  },
}

export const signalV2: NodeType = {
  name: 'signal.v2',
  is: 'generates samples, with a shape for each signal',
  parse(reader, common) {
    const settings = generatorSettings(reader, common)
    const own = ['name', 'unit', 'type', 'init']
    const inside = reader.group('in')
    const list = inside.groups('signals', own)
    if (list.length === 0)
      reader.fail('in.signals is missing: a list with a shape for each, for example ({ signal = "sine" })', 'in')
    // A group with a count stands for that number of equal ones.
    const groups = list.flatMap((group) =>
      Array.from(
        { length: Array.isArray(inside.any('signals')) ? 1 : group.integer('count', 1, 1, mostSignals) },
        () => group,
      ),
    )
    let mixed = 0
    const shapes = groups.map((group) => {
      const [shape] = shapesOf(group, 1) as [ShapeSettings]
      group.done()
      return group.string('signal', 'mixed', 'sine') === 'mixed'
        ? { ...shape, shape: shapeNames[mixed++ % shapeNames.length]! }
        : shape
    })
    const signals = shapes.map(({ shape, offset }, i) => {
      const { name = '', unit = '' } = common.signals?.[i] ?? {}
      return { name: /^signal\d*$/.test(name) ? shape : name, unit, type: SignalType.float, init: offset }
    })
    return parsed(settings, shapes, signals)
  },
}
