/** The segments that this thread is attached to, with their tables made ready for two adapters each. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { atExit, Segment, segmentFilePrefix } from '../../memory/index.ts'
import { hostOf, processHost, reapDead, reapOwn, segmentOptions } from '../../verbs/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'
import { Executor } from './executor.ts'

const { Dev, Meta, Tables } = layout

export const adaptersPerSegment = 2
export const activeMtu = 4096

/** Segment with its tables made ready; the same for all devices of the segment in this thread. */
export interface Attached {
  host: Host
  executor: Executor
}

const attached = new Map<string, Attached>()

/**
 * Attaches this thread to a segment, that of this process if `name` is null, and makes the tables ready; once. `mode` as for
 * `Segment.named`.
 */
export function attachSegment(name: string | null, mode?: 'open'): Attached {
  const known = attached.get(name ?? '')
  if (known) return known
  if (name !== null) removeStaleSegments()
  const host = name === null ? processHost() : hostOf(Segment.named(name, segmentOptions(), mode))
  host.control(() => initialise(host, name ?? ''))
  reapDead(host)
  const made = { host, executor: new Executor(host, activeMtu, adaptersPerSegment) }
  attached.set(name ?? '', made)
  return made
}

atExit(() => {
  for (const [name, { host }] of attached) if (name !== '') reapOwn(host)
})

function initialise(host: Host, name: string): void {
  const { i32, at } = host
  if (i32[at.meta + Meta.initialised] === 1) return
  const guid = guidLowOf(name)
  for (let index = 0; index < adaptersPerSegment; index++) {
    const dev = host.deviceWord(index)
    i32[dev + Dev.guidHigh] = guidHigh
    i32[dev + Dev.guidLow] = (guid & ~1) | index
    i32[dev + Dev.lid] = index + 1
    i32[dev + Dev.state] = 1
  }
  i32[at.meta + Meta.initialised] = 1
}

/** High half of the GUIDs: locally administered, so that it belongs to no vendor; "VBN". */
const guidHigh = 0x0256424e

/**
 * Returns the low half of the GUIDs: the same each time for a segment of this name on this host, as with an adapter that is built in. The
 * segments of processes have no name: their adapters, which nothing outside reaches, share one.
 */
function guidLowOf(name: string): number {
  return createHash('sha256').update(`${hostname()}\0${name}`).digest().readInt32BE()
}

export function deviceGuid(host: Host, index: number): bigint {
  return guidIn(host.i32, host.at.meta, index)
}

/** Returns the GUID of an adapter, from the words of a segment whose tables begin at `tables`. */
export function guidIn(i32: Int32Array, tables: number, index: number): bigint {
  const dev = tables + Tables.devices + index * Dev.words
  return (BigInt(i32[dev + Dev.guidHigh]! >>> 0) << 32n) | BigInt(i32[dev + Dev.guidLow]! >>> 0)
}

/** Number of bytes at the beginning of the tables that hold the GUIDs of all adapters. */
export const guidsEndBytes: number = (Tables.devices + adaptersPerSegment * Dev.words) * 4

/** Removes the named segments that killed processes left. */
export function removeStaleSegments(): void {
  for (const name of namedSegments()) {
    try {
      Segment.removeStale(name)
    } catch {
      // The segment belongs to another user, or is gone meanwhile: it is not to be removed here.
    }
  }
}

export function namedSegments(): string[] {
  const directory = '/dev/shm'
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((file) => file.startsWith(segmentFilePrefix))
    .map((file) => file.slice(segmentFilePrefix.length))
}
