/** The formats by name, as VILLASnode calls them, with their settings. */
import { didYouMean } from '../../spelling/index.ts'
import { GatewayError } from '../errors.ts'
import { type Settings, SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { missingFormats } from '../villas-only.ts'
import { AsyncIpDecoder, AsyncIpEncoder } from './asyncip.ts'
import type { Decoder, Encoder } from './codec.ts'
import { ColumnDecoder, ColumnEncoder } from './column.ts'
import { HumanDecoder, HumanEncoder } from './human.ts'
import { JsonEncoder } from './json.ts'
import { JsonDecoder } from './json-decoder.ts'
import { jsonStyle } from './json-style.ts'
import { lineSettings } from './lines.ts'
import { MessageDecoder, MessageEncoder } from './message.ts'
import { ProtobufDecoder, ProtobufEncoder } from './protobuf.ts'
import { RawDecoder, RawEncoder } from './raw.ts'
import { textSettings } from './text-settings.ts'
import { ValueDecoder, ValueEncoder } from './value.ts'

/** Format whose settings were checked. */
export interface Format {
  readonly name: string
  /** True if its bytes are not text. */
  readonly isBinary?: true
  /**
   * Makes a decoder. `inMessages`: each chunk that is decoded as the last one is a message of a network by itself, and not a part of a
   * stream.
   */
  decoder(signals: readonly Signal[], inMessages?: boolean): Decoder
  encoder(signals: readonly Signal[]): Encoder
}

type Maker = (reader: SettingsReader, name: string, inMessages: boolean) => Omit<Format, 'name'>

const human: Maker = (reader) => {
  const settings = { ...textSettings(reader), ...lineSettings(reader) }
  return {
    decoder: (signals) => new HumanDecoder(signals, settings),
    encoder: (signals) => new HumanEncoder(signals, settings),
  }
}

function column(separator: string): Maker {
  return (reader, name, inMessages) => {
    const settings = {
      ...textSettings(reader),
      ...lineSettings(reader),
      separator: reader.character('separator', separator),
      offsetMayLack: inMessages,
    }
    if (settings.separator === settings.delimiter)
      throw new GatewayError('ERR_GATEWAY_SETTING', `${name}: separator and delimiter are the same character`)
    return {
      decoder: (signals) => new ColumnDecoder(signals, settings),
      encoder: (signals) => new ColumnEncoder(signals, settings),
    }
  }
}

const json: Maker = (reader, _, inMessages) => {
  const settings = {
    ...textSettings(reader),
    ...jsonStyle(reader),
    received: reader.boolean('ts_received', false),
    array: inMessages && reader.boolean('array', true),
  }
  return {
    decoder: (signals) => new JsonDecoder(signals),
    encoder: (signals) => new JsonEncoder(signals, settings),
  }
}

function message(littleEndian: boolean): Maker {
  return (reader, name) => {
    const settings = {
      name,
      littleEndian,
      sourceIndex: reader.integer('source_index', 0, 0, 255),
      validateSourceIndex: reader.boolean('validate_source_index', false),
    }
    return {
      isBinary: true,
      decoder: (signals) => new MessageDecoder(signals, settings),
      encoder: (signals) => new MessageEncoder(signals, settings),
    }
  }
}

function raw(endianess: 'little' | 'big'): Maker {
  return (reader) => {
    const settings = {
      bits: reader.choice('bits', 32, [8, 16, 32, 64]),
      // Upstream's spelling.
      littleEndian: reader.choice('endianess', endianess, ['little', 'big']) === 'little',
      fake: reader.boolean('fake', false),
    }
    return {
      isBinary: true,
      decoder: (signals, messages = false) => new RawDecoder(signals, settings, messages),
      encoder: (signals) => new RawEncoder(signals, settings),
    }
  }
}

const protobuf: Maker = (reader) => {
  const settings = { origin: reader.boolean('ts_origin', true), sequence: reader.boolean('sequence', true) }
  return {
    isBinary: true,
    decoder: (signals) => new ProtobufDecoder(signals),
    encoder: (signals) => new ProtobufEncoder(signals, settings),
  }
}

const asyncIp: Maker = (reader) => {
  const device = reader.integer('dev_id', 0, 0, 65_535)
  return {
    isBinary: true,
    decoder: (signals) => new AsyncIpDecoder(signals),
    encoder: (signals) => new AsyncIpEncoder(signals, device),
  }
}

const value: Maker = (reader) => {
  const settings = { precision: reader.integer('real_precision', 17, 0, 31) }
  return {
    decoder: (signals) => new ValueDecoder(signals),
    encoder: (signals) => new ValueEncoder(signals, settings),
  }
}

const makers: Readonly<Record<string, Maker>> = {
  'villas.human': human,
  csv: column(','),
  tsv: column('\t'),
  json,
  'villas.binary': message(false),
  'villas.web': message(true),
  raw: raw('little'),
  gtnet: raw('big'),
  value,
  protobuf,
  'opal.asyncip': asyncIp,
}

export const formatNames: readonly string[] = Object.keys(makers)

/**
 * Returns the format of a name, or of settings with the name as `type`. `inMessages`: for messages of a network, whose encoder may have a
 * `framing`; otherwise samples follow each other. Throws a `GatewayError` that lists the known formats.
 */
export function formatOf(description: string | Settings, inMessages = false): Format {
  const settings = typeof description === 'string' ? { type: description } : description
  const name = settings.type
  if (typeof name !== 'string')
    throw new GatewayError('ERR_GATEWAY_FORMAT', 'the settings of a format need its name, for example: {"type":"csv"}')
  if (!Object.hasOwn(makers, name)) {
    if (Object.hasOwn(missingFormats, name))
      throw new GatewayError('ERR_GATEWAY_FORMAT', `the format ${name} is not there: ${missingFormats[name]}`)
    throw new GatewayError(
      'ERR_GATEWAY_FORMAT',
      `'${name}' is not known.${didYouMean(name, formatNames)} Expected ${formatNames.join(', ')}`,
    )
  }
  const reader = new SettingsReader(name, settings)
  const made = makers[name]!(reader, name, inMessages)
  reader.done()
  return { name, ...made }
}
