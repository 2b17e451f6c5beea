/**
 * The slots of the key table that are in use, a bit for each: the table has sixteen megabytes, of which a program uses a few places, and
 * whoever looks for entries would touch all of it. A bit is set before its entry is used, and cleared after.
 */
import type { Host } from './host.ts'
import { Key, keyKind, keySlots } from './layout.ts'

function bitWord(host: Host, entry: number): number {
  return host.at.keyBits + (((entry - host.at.keys) / Key.words) >>> 5)
}

function bitOf(host: Host, entry: number): number {
  return 1 << (((entry - host.at.keys) / Key.words) & 31)
}

/** Marks the slot of an entry as in use; under the control lock. */
export function useKeySlot(host: Host, entry: number): void {
  host.i32[bitWord(host, entry)] = host.i32[bitWord(host, entry)]! | bitOf(host, entry)
}

/** Marks the slot of an entry as unused; under the control lock. */
export function leaveKeySlot(host: Host, entry: number): void {
  host.i32[bitWord(host, entry)] = host.i32[bitWord(host, entry)]! & ~bitOf(host, entry)
}

/** Calls `visit` for each key that is in use, with its entry and its kind. */
export function eachKey(host: Host, visit: (entry: number, kind: number) => void): void {
  const { i32, at } = host
  for (let word = 0; word < keySlots / 32; word++) {
    for (let bits = i32[at.keyBits + word]!; bits !== 0; bits &= bits - 1) {
      const entry = at.keys + (word * 32 + 31 - Math.clz32(bits & -bits)) * Key.words
      const kind = i32[entry + Key.kind]!
      if (kind !== keyKind.free && kind !== keyKind.deleted) visit(entry, kind)
    }
  }
}
