/**
 * Queries of a window by key: any part of the key, any measure, filtered by any field. Every number has its bounds. They are those of the
 * sketches; for messages and events, the upper one also includes the packets that were only counted (for missing PSNs, which no packet
 * bounds, as many as passed).
 */
import type { Estimate, KeyEstimate, PartialKey } from '../sketch/index.ts'
import { MonitorError } from './error.ts'
import { type EventName, eventNumber, followedOnly } from './events.ts'
import {
  bytesOf,
  fieldOf,
  fieldsOf,
  type Key,
  type KeyField,
  type KeyFields,
  keyText,
  partOf,
  Word,
  wordsOf,
} from './key.ts'
import type { Window } from './window.ts'

/** Quantity that is summed: bytes on the wire, packets, messages, or an event. */
export type Measure = 'bytes' | 'packets' | 'messages' | EventName

/** Query of a window. */
export interface Query {
  /** Named key, or fields. */
  by: Key
  of: Measure
  /** Filter: only keys whose fields have these values, as in `KeyFields`. */
  where?: Partial<KeyFields>
  /** Number of rows, the largest first (default 10). */
  top?: number
}

/** Key and its estimate. */
export interface Row extends Estimate {
  /** Text of the key, one line. */
  name: string
  fields: Partial<KeyFields>
}

/** Largest keys, and a summary of the rest. */
export interface QueryAnswer {
  rows: Row[]
  /** Maximum amount of a key that has no row, with the confidence of the rows. */
  rest: number
  /** Packed keys of the rows. */
  keys: Uint8Array[]
  /** Number of keys that were found; small ones may be missing. */
  found: number
  /** Sum of all keys, exact; not limited to those that `where` selects. */
  total: number
}

/** Returns the largest keys. Throws ERR_MONITOR_VALUE for an invalid measure. */
export function query(window: Window, { by, of, where = {}, top = 10 }: Query): QueryAnswer {
  const event = Object.hasOwn(eventNumber, of) ? eventNumber[of as EventName] : 0
  if (event === 0 && of !== 'bytes' && of !== 'packets' && of !== 'messages')
    throw new MonitorError(
      'ERR_MONITOR_VALUE',
      `'${of}' is no measure: expected bytes, packets, messages, ${Object.keys(eventNumber).join(', ')}`,
    )
  const sketch = window.sketches[event === 0 ? (of as 'bytes') : 'events']
  const part = partOf(by, window.sourceQps)
  const resolve = partOf(['source', 'sourceQp', 'destination', 'destinationQp'], window.sourceQps)
  const conditions = Object.entries(where) as [KeyField, KeyFields[KeyField]][]
  const usesSourceQp = conditions.some(([field]) => field === 'sourceQp')
  const nothing = new Uint8Array(0)
  const partial: PartialKey = (key) => {
    const words = wordsOf(key)
    if (event !== 0 && ((words[Word.rest]! >>> 24) & 0x3f) !== event) return nothing
    if (conditions.length > 0) {
      let whole = words
      if (usesSourceQp) {
        whole = words.slice()
        resolve(whole)
      }
      for (const [field, value] of conditions)
        if (fieldOf(field === 'sourceQp' ? whole : words, field) !== value) return nothing
    }
    part(words)
    return bytesOf(words)
  }
  const found = sketch.aggregate(partial).filter(({ key }) => key.length > 0)
  // Each packet that was only counted may have been one more.
  const unseen = followedOnly.has(of) ? window.count('fastPath') : 0
  return {
    rows: found.slice(0, top).map((one) => rowOf(one, by, unseen)),
    rest: Math.max(found[top]?.upper ?? 0, sketch.mostOfAbsent) + unseen,
    keys: found.slice(0, top).map(({ key }) => key),
    found: found.length,
    total: event === 0 ? sketch.total : window.count(of as EventName),
  }
}

function rowOf({ key, value, lower, upper, confidence }: KeyEstimate, by: Query['by'], unseen: number): Row {
  const fields = fieldsOf(wordsOf(key), by)
  return { name: keyText(fields, by), fields, value, lower, upper: upper + unseen, confidence }
}

/** Returns the names of the parts of a message's key. */
export function flowFields(key: readonly number[], window: Window): { name: string; fields: Partial<KeyFields> } {
  const words = Int32Array.from(key)
  partOf('flow', window.sourceQps)(words)
  const fields = fieldsOf(words, 'flow')
  return { name: keyText(fields, 'flow'), fields }
}
