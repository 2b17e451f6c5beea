/** signal and signal.v2: generated samples. The first has one shape for all values (or all shapes in turn), the second one for each. */
import {
  mostSignals,
  type NodeCommon,
  type NodeType,
  type ParsedNode,
  type SettingsReader,
  type Signal,
  SignalType,
} from '../../index.ts'
import { timerNames } from '../timing/index.ts'
import { Generator, type GeneratorSettings } from './generator.ts'
import { Shape, type ShapeName, type ShapeSettings, shapeNames } from './shapes.ts'

const mostRateHz = 1e7
const anyNumber = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const

function generatorSettings(reader: SettingsReader, { initialSequence = 0 }: NodeCommon): GeneratorSettings {
  return {
    rateHz: reader.number('rate', 10, 1e-6, mostRateHz),
    limit: Math.max(0, reader.integer('limit', 0, -1, Number.MAX_SAFE_INTEGER)),
    realtime: reader.boolean('realtime', true),
    monitorMissed: reader.boolean('monitor_missed', true),
    firstSequence: initialSequence,
    timer: reader.choice('timer', 'hybrid', timerNames),
  }
}

/** `index`: of the value, for which `mixed` chooses a shape. */
function shapeSettings(reader: SettingsReader, index: number): ShapeSettings {
  const shape = reader.choice('signal', 'mixed', [...shapeNames, 'mixed'] as (ShapeName | 'mixed')[])
  const number = (key: string, fallback: number): number => reader.number(key, fallback, ...anyNumber)
  return {
    shape: shape === 'mixed' ? shapeNames[index % shapeNames.length]! : shape,
    frequency: number('frequency', 1),
    amplitude: number('amplitude', 1),
    stddev: reader.number('stddev', 0.2, 0, Number.POSITIVE_INFINITY),
    offset: number('offset', 0),
    phase: number('phase', 0),
    pulseWidth: reader.number('pulse_width', 1, 0, Number.POSITIVE_INFINITY),
    pulseLow: number('pulse_low', 0),
    pulseHigh: number('pulse_high', 1),
  }
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
    const values = reader.integer('values', common.signals?.length ?? 1, 1, mostSignals)
    const shapes = Array.from({ length: values }, (_, i) => shapeSettings(reader, i))
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
    const groups = reader.group('in').groups('signals', ['name', 'unit', 'type', 'init'])
    if (groups.length === 0)
      reader.fail('in.signals is missing: a list with a shape for each, for example ({ signal = "sine" })', 'in')
    let mixed = 0
    const shapes = groups.map((group) => {
      const shape = shapeSettings(group, group.string('signal', 'mixed', 'sine') === 'mixed' ? mixed++ : 0)
      group.done()
      return shape
    })
    const signals = shapes.map(({ shape, offset }, i) => {
      const { name = '', unit = '' } = common.signals?.[i] ?? {}
      return { name: /^signal\d*$/.test(name) ? shape : name, unit, type: SignalType.float, init: offset }
    })
    return parsed(settings, shapes, signals)
  },
}
