/** The files of named segments: their names, and when a name is taken away. */
import { anyoneAlive } from './attachments.ts'
import { inodeOf, isUnused, unlinkShared, unlinkUnused } from './native/index.ts'
import { sleepMs } from './processor.ts'
import { Header, headerState, magic } from './segment-layout.ts'

/** Creating or unlinking a segment never takes this long; after that, who does it counts as dead. */
const transientMs = 2000

/** What the names of segments begin with under /dev/shm. */
export const segmentFilePrefix = 'verbena-'

/** File name under /dev/shm of a named segment; `GROUP/NAME` is one of a group of users, in the folder made for it. */
export function segmentFile(name: string): string {
  const slash = name.indexOf('/') + 1
  return name.slice(0, slash) + segmentFilePrefix + name.slice(slash)
}

/** Takes the name away from what is no segment: a file of this user, under a name that only segments have. */
export function replaceDamaged(file: string, inode: number): null {
  unlinkShared(file, inode)
  return null
}

/** Whether nobody uses the file; asked for a while, since somebody else may be asking, and be kept waiting by the system. */
export function everUnused(buffer: ArrayBuffer): boolean {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (isUnused(buffer)) return true
    sleepMs(1)
  }
  return false
}

/**
 * Takes the name of a segment away that nobody uses; false if somebody does, or somebody else takes it away. The caller has marked it
 * as used, so that others see whether it died on the way.
 */
export function retire(i32: Int32Array, file: string, inode: number): boolean {
  const { ready, retired } = headerState
  if (anyoneAlive(i32) || Atomics.compareExchange(i32, Header.state, ready, retired) !== ready) return false
  // Looked at again: a thread that attached meanwhile sees that it is retired, or is seen.
  if (!anyoneAlive(i32)) return unlinkShared(file, inode)
  Atomics.compareExchange(i32, Header.state, retired, ready)
  return false
}

/**
 * Waits until a segment is not in this state any more, or has lost its name, which it does at once if who was about to change that is
 * gone; false if it takes too long.
 */
export function settles(i32: Int32Array, file: string, inode: number, transient: number): boolean {
  for (let waited = 0; Atomics.load(i32, Header.state) === transient; waited++) {
    if (unlinkUnused(i32.buffer as ArrayBuffer, file, inode) || inodeOf(file) !== inode) return true
    if (waited === transientMs) return false
    sleepMs(1)
  }
  return true
}

/** Whether a segment is being made, or its name taken away; by a thread that may be gone. */
export function isTransient(i32: Int32Array): boolean {
  const { fresh, retired } = headerState
  const state = Atomics.load(i32, Header.state)
  return i32[Header.magic] === magic ? state === fresh || state === retired : state === fresh && i32[Header.magic] === 0
}
