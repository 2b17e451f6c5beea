/** Settings that all text formats have: which fields of a sample are written, and with how many digits. */
import type { SettingsReader } from '../settings.ts'

export interface TextSettings {
  origin: boolean
  sequence: boolean
  offset: boolean
  data: boolean
  /** Number of digits after the point (lines) or of significant ones (JSON). */
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
