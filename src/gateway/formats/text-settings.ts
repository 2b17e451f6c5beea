/** Which fields of a sample a format writes, and with how many digits: settings that all formats of text have. */
import type { SettingsReader } from '../settings.ts'

export interface TextSettings {
  origin: boolean
  sequence: boolean
  offset: boolean
  data: boolean
  /** Digits behind the point (lines) or significant ones (JSON). */
  precision: number
}

export function textSettings(reader: SettingsReader): TextSettings {
  return {
    origin: reader.boolean('ts_origin', true),
    sequence: reader.boolean('sequence', true),
    offset: reader.boolean('offset', true),
    data: reader.boolean('data', true),
    precision: reader.integer('real_precision', 17, 0, 31),
  }
}
