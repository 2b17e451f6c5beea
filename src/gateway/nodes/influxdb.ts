/**
 * InfluxDB: samples as points of its line protocol, over UDP, without an answer. It is only written to. A value that a point cannot
 * have (NaN, an infinite one) is left out; a sample without any other is lost, and counted.
 */
import {
  type Encoder,
  type Format,
  GatewayError,
  type NodeType,
  SampleField,
  SampleFlag,
  type Samples,
  type Signal,
  SignalType,
} from '../index.ts'
import { addressSetting, noMoreSettings } from './kit/settings.ts'
import { startSocket } from './socket/index.ts'

/** Maximum length of a field of a point: a double has at most 24 characters. */
const fieldBytes = 2 * 40
const text = new TextEncoder()

class LineProtocolEncoder implements Encoder {
  readonly bound: number
  readonly #key: string
  readonly #signals: readonly { readonly name: string; readonly type: SignalType }[]

  constructor(key: string, signals: readonly Signal[]) {
    this.#key = key
    this.#signals = signals.map(({ name, type }) => ({ name: escaped(name), type }))
    const names = this.#signals.reduce((sum, { name }) => sum + 3 * 2 * name.length, 0)
    this.bound = 3 * key.length + names + fieldBytes * signals.length + 64
  }

  encode(samples: Samples, index: number, out: Uint8Array, at: number): number {
    const word = samples.word(index)
    const length = Math.min(samples.u32[word + SampleField.length]!, this.#signals.length)
    const fields: string[] = []
    for (let i = 0; i < length; i++) this.#field(fields, samples, word + SampleField.data + 2 * i, i)
    if (fields.length === 0) throw new GatewayError('ERR_GATEWAY_FORMAT', 'it has no value that a point can have')
    const time = samples.u32[word + SampleField.flags]! & SampleFlag.tsOrigin ? ` ${nanoseconds(samples, word)}` : ''
    return at + text.encodeInto(`${this.#key} ${fields.join(',')}${time}\n`, out.subarray(at)).written
  }

  #field(fields: string[], samples: Samples, word: number, i: number): void {
    const { name, type } = this.#signals[i]!
    const { u32, f32, f64 } = samples
    if (type === SignalType.float) add(fields, name, f64[word >> 1]!)
    else if (type === SignalType.boolean) fields.push(`${name}=${(u32[word]! & 1) === 1}`)
    // As in VILLASnode: InfluxDB takes a number without a suffix for a float.
    else if (type === SignalType.integer) fields.push(`${name}=${int64(samples, word)}`)
    else {
      add(fields, `${name}_re`, f32[word]!)
      add(fields, `${name}_im`, f32[word + 1]!)
    }
  }
}

function add(fields: string[], name: string, value: number): void {
  if (Number.isFinite(value)) fields.push(`${name}=${value}`)
}

function int64({ i32, u32 }: Samples, word: number): bigint {
  return (BigInt(i32[word + 1]!) << 32n) | BigInt(u32[word]!)
}

function nanoseconds(samples: Samples, word: number): bigint {
  return int64(samples, word + SampleField.origin) * 1_000_000_000n + int64(samples, word + SampleField.origin + 2)
}

/** Escapes commas, equals signs and spaces in the name of a field. */
function escaped(name: string): string {
  return name.replace(/[,= ]/g, '\\$&')
}

export const influxdb: NodeType = {
  name: 'influxdb',
  is: 'a database of InfluxDB, by its line protocol over UDP; written to only',
  parse(reader, common) {
    const key = reader.string('key', null, 'villas,location=lab')
    // The measurement, and tags after commas; a space ends it.
    if (!/^(?:[^ ,=\n\\]|\\.)+(?:,(?:[^ ,=\n\\]|\\.)+=(?:[^ ,=\n\\]|\\.)+)*$/.test(key))
      reader.refuse('key', 'a measurement, and tags if there are any: NAME,TAG=VALUE', '"villas,location=lab"')
    const given = reader.string('server', null, 'localhost:8089')
    const remote = given.includes(':') ? addressSetting(reader, 'server', 1) : { host: given, port: 8089 }
    noMoreSettings(reader)
    const format: Format = {
      name: 'influxdb',
      decoder: () => {
        throw new GatewayError('ERR_GATEWAY_FORMAT', 'influxdb is written to only')
      },
      encoder: (signals) => new LineProtocolEncoder(key, signals),
    }
    return {
      signals: common.signals,
      reads: false,
      writes: true,
      splits: false,
      start: (context) =>
        startSocket(context, {
          layer: 'udp',
          format,
          verifySource: false,
          local: undefined,
          remote,
          multicast: undefined,
        }),
    }
  },
}
