/** The files of named segments: their names, and when a name is taken away. */
import { anyoneAlive } from './attachments.ts'
import { inodeOf, isUnused, unlinkShared, unlinkUnused } from './native/index.ts'
import { sleepMs } from './processor.ts'
import { Header, headerState, magic } from './segment-layout.ts'

/** Time limit of creating or unlinking a segment, which never takes this long; after that, the thread that does it counts as dead. */
const transientMs = 2000

/** Prefix of the names of segments under /dev/shm. */
export const segmentFilePrefix = 'verbena-'

/** File name under /dev/shm of a named segment; `GROUP/NAME` is one of a group of users, in the folder made for it. */
export function segmentFile(name: string): string {
  const slash = name.indexOf('/') + 1
  return name.slice(0, slash) + segmentFilePrefix + name.slice(slash)
}

/** Unlinks a file that is not a segment: a file of this user, under a name that only segments have. */
export function replaceDamaged(file: string, inode: number): null {
  unlinkShared(file, inode)
  return null
}

/**
 * Returns true if no process uses the file; checks for a while, since another process may be checking at the same time, and may be delayed
 * by the system.
 */
export function everUnused(buffer: ArrayBuffer): boolean {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (isUnused(buffer)) return true
    sleepMs(1)
  }
  return false
}

/**
 * Unlinks a segment that no process uses; false if one does, or if another process unlinks it. The caller has marked it as used, so that
 * other processes see whether it died on the way.
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
 * Waits until a segment is not in this state any more, or has lost its name, which it does at once if the thread that was about to change
 * that is gone; false if it takes too long.
 */
export function settles(i32: Int32Array, file: string, inode: number, transient: number): boolean {
  for (let waited = 0; Atomics.load(i32, Header.state) === transient; waited++) {
    if (unlinkUnused(i32.buffer as ArrayBuffer, file, inode) || inodeOf(file) !== inode) return true
    if (waited === transientMs) return false
    sleepMs(1)
  }
  return true
}

/** Returns true if a segment is being made, or its name taken away; by a thread that may be gone. */
export function isTransient(i32: Int32Array): boolean {
  const { fresh, retired } = headerState
  const state = Atomics.load(i32, Header.state)
  return i32[Header.magic] === magic ? state === fresh || state === retired : state === fresh && i32[Header.magic] === 0
}
