/**
 * Records of the tables in a segment, and their names. A record changes hands: a name that is kept across a time in which that may happen
 * (in a handle, an event, an entry of a channel's list) is not its slot but a reference:
 *
 *     bits 0–15    slot
 *     bits 16–31   generation: odd while the record is in use, and another for each use; so a reference is never 0
 *
 * The record holds its own reference in word 1, so that one comparison detects a stale reference. It changes when the object begins to be
 * destroyed; the record is free, and may be taken again, only when nothing uses it any more.
 *
 *     free ──takeRecord──▶ in use ──retire──▶ in use, but references are stale ──giveRecord, after a grace period──▶ free
 *
 * `takeRecord`, `retire`, `giveRecord` and `repairRecords` are called under the control lock. Word 0 of a record is 0 while it is free; it
 * is written in the same critical section as the bit of the table, so that `repairRecords` can recognise a change that a thread left
 * incomplete when it died.
 */
import { VerbsError } from './errors.ts'
import { type RecordKind, Records } from './layout.ts'
import type { SegmentTables } from './tables.ts'

/** Word of each record that holds its reference. */
const refWord = 1

/** Result of `recordOf` for a reference to an object that is gone. */
export const stale = -1

/**
 * Slots that are used in turn before one is used again, as long as so many are free: an old reference then meets its
 * generation again only after 2^15 times as many objects.
 */
const rotation = 256

const whats: Readonly<Record<RecordKind, string>> = {
  context: 'contexts',
  pd: 'protection domains',
  channel: 'completion channels',
  srq: 'shared receive queues',
  cq: 'completion queues',
  qp: 'queue pairs',
  port: 'ports',
}

export function slotOf(ref: number): number {
  return ref & 0xffff
}

/** Returns true if the record at `word` is not, or no longer, that of the object that `ref` names. */
export function isStale(tables: SegmentTables, word: number, ref: number): boolean {
  return tables.i32[word + refWord] !== ref || (ref & 0x10000) === 0
}

/** First word of the record that `ref` names, or `stale`. */
export function recordOf(tables: SegmentTables, kind: RecordKind, ref: number): number {
  const { table, words } = Records[kind]
  const word = tables.at[table] + slotOf(ref) * words
  return isStale(tables, word, ref) ? stale : word
}

/** The record that a handle names, perhaps another thread's; EINVAL if it is none, or its object is gone. */
export function recordOfHandle(tables: SegmentTables, verb: string, kind: RecordKind, handle: unknown): number {
  const given = handle as { kind?: unknown; ref?: unknown } | null
  if (typeof given !== 'object' || given === null || given.kind !== kind)
    throw new VerbsError('EINVAL', verb, `this is not a handle of kind '${kind}'`)
  const { ref } = given
  // A slot that was never in use may have no memory yet, which only `commitMemory` may request.
  const used = tables.i32[tables.at.meta + Records[kind].high]!
  const wellFormed = typeof ref === 'number' && (ref | 0) === ref && slotOf(ref) < used
  const word = wellFormed ? recordOf(tables, kind, ref) : stale
  if (word === stale) throw new VerbsError('EINVAL', verb, `the object of this handle is closed, or never was`)
  return word
}

/** Takes a free record of a table, cleared but for its locks and counts; its first word. ENOMEM if all are in use. */
export function takeRecord(tables: SegmentTables, kind: RecordKind, verb: string): number {
  const { i32, at } = tables
  const { table, words, max, high, hint, bits, locks, counts } = Records[kind]
  const first = at.slots + bits
  const used = i32[at.meta + high]!
  let slot = freeBit(i32, first, Math.min(max, Math.max(used, rotation)), i32[at.meta + hint]!)
  if (slot < 0) slot = freeBit(i32, first, max, used)
  if (slot < 0) throw new VerbsError('ENOMEM', verb, `all ${max} ${whats[kind]} of the segment are in use`)
  const word = at[table] + slot * words
  if (slot >= used) tables.commitMemory(at[table] + used * words, (slot + 1 - used) * words, verb)
  const ref = slot | ((((i32[word + refWord]! >>> 16) + 1) | 1) << 16)
  for (let i = 0; i < words; i++) if (!locks.includes(i) && !counts.includes(i)) i32[word + i] = 0
  i32[word + refWord] = ref
  i32[first + (slot >>> 5)] = i32[first + (slot >>> 5)]! | (1 << (slot & 31))
  i32[at.meta + hint] = slot + 1
  if (slot >= used) i32[at.meta + high] = slot + 1
  return word
}

/**
 * A new object with `ringBytes` of memory of its own, under the control lock: `fill` writes its record, word 0 last. If
 * anything throws, nothing stays.
 */
export function createRecord(
  tables: SegmentTables,
  kind: RecordKind,
  verb: string,
  ringBytes: number,
  fill: (word: number, ring: number) => void,
): number {
  const { segment } = tables
  const ring = ringBytes > 0 ? tables.allocate(ringBytes, verb) : 0
  try {
    return tables.orReclaim(() =>
      tables.control(() => {
        const word = takeRecord(tables, kind, verb)
        try {
          fill(word, ring / 4)
        } catch (error) {
          giveRecord(tables, kind, word)
          throw error
        }
        return word
      }),
    )
  } catch (error) {
    if (ring > 0) segment.free(ring)
    throw error
  }
}

/** Returns the reference that a record with `ref` has from `retire` on. */
export function retiredRef(ref: number): number {
  return (ref + 0x10000) | 0
}

/** Makes all references to a record stale. The record stays in use until `giveRecord`. */
export function retire(tables: SegmentTables, word: number): void {
  const { i32 } = tables
  const ref = i32[word + refWord]!
  if ((ref & 0x10000) !== 0) Atomics.store(i32, word + refWord, retiredRef(ref))
}

/** Frees a record. */
export function giveRecord(tables: SegmentTables, kind: RecordKind, word: number): void {
  const { i32, at } = tables
  const { table, words, bits } = Records[kind]
  const slot = (word - at[table]) / words
  retire(tables, word)
  Atomics.store(i32, word, 0)
  const bit = at.slots + bits + (slot >>> 5)
  i32[bit] = i32[bit]! & ~(1 << (slot & 31))
}

/** Takes back the records that threads had taken which died before they could use them. */
export function repairRecords(tables: SegmentTables): void {
  const { i32, at } = tables
  for (const { table, words, high, bits } of Object.values(Records)) {
    for (let slot = 0; slot < i32[at.meta + high]!; slot++) {
      const bit = at.slots + bits + (slot >>> 5)
      const mask = 1 << (slot & 31)
      if (i32[at[table] + slot * words] === 0) i32[bit] = i32[bit]! & ~mask
      else i32[bit] = i32[bit]! | mask
    }
  }
}

/** The first clear bit of [0, count) from `from` on, and then from the start; −1 if all are set. */
function freeBit(i32: Int32Array, first: number, count: number, from: number): number {
  const start = from < count ? from : 0
  const words = Math.ceil(count / 32)
  for (let i = 0; i <= words; i++) {
    const index = ((start >>> 5) + i) % words
    let free = ~i32[first + index]!
    // In the word where the search begins, first the bits from there on, and at the end those before.
    if (i === 0) free &= -1 << (start & 31)
    if (free === 0) continue
    const bit = index * 32 + (31 - Math.clz32(free & -free))
    if (bit < count) return bit
  }
  return -1
}
