/**
 * The list of closed objects that are not reclaimed yet: see reclaim.ts. All functions are called under the control lock, except those that
 * only read.
 */
import { type Host, stageOf } from './host.ts'
import { eachKey } from './key-slots.ts'
import { Cq, Key, keyKind, Meta, Pd, Qp, Records, Srq } from './layout.ts'

/** Kinds of buried objects; the index in this list is part of a link. */
const kinds = ['qp', 'cq', 'srq', 'pd', 'key'] as const
export type Buried = (typeof kinds)[number]

/** The word with the owner, and then the link. */
const linkWord: Readonly<Record<Buried, number>> = {
  qp: Qp.owner,
  cq: Cq.owner,
  srq: Srq.owner,
  pd: Pd.owner,
  key: Key.owner,
}

/** Links are negative, and attachments are not. */
const lastLink = -0x80000000

/**
 * Number of objects in the list, and bytes of their memory, at which a thread that closes one more sweeps. If more memory became free at a
 * time, its pages would go back to the system, which provides others for the next connections: this costs more than the sweep.
 */
const sweepAtObjects = 64
const sweepAtBytes = 2 ** 20

function wordOf(host: Host, kind: Buried, slot: number): number {
  if (kind === 'key') return host.at.keys + slot * Key.words
  const { table, words } = Records[kind]
  return host.at[table] + slot * words
}

function slotOfWord(host: Host, kind: Buried, word: number): number {
  if (kind === 'key') return (word - host.at.keys) / Key.words
  const { table, words } = Records[kind]
  return (word - host.at[table]) / words
}

/** Returns true if an object was closed and is not reclaimed yet. */
export function isBuried(host: Host, kind: Exclude<Buried, 'key'>, word: number): boolean {
  return host.i32[word + linkWord[kind]]! < 0
}

/** Puts an object that was taken out of use into the list, with `bytes` of memory to be freed; called under the control lock. */
export function bury(host: Host, kind: Buried, word: number, bytes = 0): void {
  const { i32, at } = host
  const head = i32[at.meta + Meta.retired]!
  i32[word + linkWord[kind]] = head === 0 ? lastLink : head
  i32[at.meta + Meta.retired] = ~(slotOfWord(host, kind, word) * kinds.length + kinds.indexOf(kind))
  i32[at.meta + Meta.retiredCount] = i32[at.meta + Meta.retiredCount]! + 1
  i32[at.meta + Meta.retiredBytes] = Math.min(i32[at.meta + Meta.retiredBytes]! + bytes, 2 ** 30)
}

/** Returns true if the closed objects are so many, or so large, that they are to be reclaimed now. */
export function sweepIsDue({ i32, at }: Host): boolean {
  return i32[at.meta + Meta.retiredCount]! >= sweepAtObjects || i32[at.meta + Meta.retiredBytes]! >= sweepAtBytes
}

/** The object that a link names. */
export function linked(host: Host, link: number): { kind: Buried; word: number; next: number } {
  const kind = kinds[~link % kinds.length]!
  const word = wordOf(host, kind, Math.floor(~link / kinds.length))
  return { kind, word, next: host.i32[word + linkWord[kind]]! }
}

/** Returns true if a link names an object: the list goes on. */
export function goesOn(link: number): boolean {
  return link !== 0 && link !== lastLink
}

/**
 * A thread has died: makes the list anew from the records and frees memory whose record was given back when that
 * thread came to free it.
 */
export function relist(host: Host): void {
  const { i32, f64, at, segment } = host
  i32[at.meta + Meta.retired] = 0
  i32[at.meta + Meta.leaving] = 0
  i32[at.meta + Meta.retiredCount] = 0
  i32[at.meta + Meta.retiredBytes] = 0
  const lost = new Set(segment.retiredMemory())
  const found = (kind: Buried, word: number, memory: number): void => {
    bury(host, kind, word)
    lost.delete(memory)
  }
  const each = (kind: Exclude<Buried, 'key'>, ring: number): void => {
    const { table, words, high } = Records[kind]
    for (let slot = 0; slot < i32[at.meta + high]!; slot++) {
      const word = at[table] + slot * words
      if (i32[word] === 0) continue
      if (kind === 'qp' && i32[word + Qp.stage] !== 0) lost.delete(stageOf(host, word))
      if (isBuried(host, kind, word)) found(kind, word, ring < 0 ? -1 : i32[word + ring]! * 4)
      // Its owner died between the two: the thread that reaps that owner buries the object.
      else if (ring >= 0) lost.delete(i32[word + ring]! * 4)
    }
  }
  each('qp', Qp.sqRing)
  each('cq', Cq.ring)
  each('srq', Srq.ring)
  each('pd', -1)
  if (i32[at.meta + Meta.keysUsed] !== 0)
    eachKey(host, (entry, kind) => {
      if (kind === keyKind.retired) found('key', entry, f64[(entry + Key.addr) >> 1]!)
      else if (kind === keyKind.region) lost.delete(f64[(entry + Key.addr) >> 1]!)
    })
  if (lost.size > 0) segment.freeRetired(lost)
}
