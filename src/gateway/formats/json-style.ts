/** Layout of JSON as jansson writes it, the library that VILLASnode uses. */
import type { SettingsReader } from '../settings.ts'

export interface JsonStyle {
  /** True if members are in the order of their names. */
  readonly sorted: boolean
  readonly comma: string
  readonly colon: string
  /** Returns the text before the members of an object or array at this depth, and after the last one of the depth below. */
  lineBreak(depth: number): string
}

/** Maximum indent, as in jansson. */
const mostIndent = 31

export function jsonStyle(reader: SettingsReader): JsonStyle {
  const indent = reader.integer('indent', 0, 0, mostIndent)
  const compact = reader.boolean('compact', false)
  const sorted = reader.boolean('sort_keys', false)
  // The written text has neither other characters nor slashes.
  reader.boolean('ensure_ascii', false)
  reader.boolean('escape_slash', false)
  return {
    sorted,
    comma: compact || indent > 0 ? ',' : ', ',
    colon: compact ? ':' : ': ',
    lineBreak: (depth) => (indent > 0 ? `\n${' '.repeat(indent * depth)}` : ''),
  }
}
