/**
 * For the tests of this project: a thread makes no system call that may run another thread in its place (one that sends, or wakes a thread)
 * while it has a lock or is in an operation, since the other thread would wait for that. With `VERBENA_HELD_CALLS=FILE` each such call adds
 * a line to that file: the locks or operation held, the call, and the functions that led to it.
 */
import { appendFileSync } from 'node:fs'
import { heldCallsFile, lookAtCalls } from './native/index.ts'
import { Attachment, attachmentWord } from './segment-layout.ts'

export const watchesHeld: boolean = heldCallsFile !== ''

/** Part of a segment that is watched. */
interface Held {
  readonly i32: Int32Array
  readonly me: number
  readonly lockValue: number
  lock(word: number): void
  tryLock(word: number): boolean
  takeFromDead(word: number): boolean
}

/** The segments of this thread, with the words that it has taken as locks; some it has given back since. */
const watched: { readonly segment: Held; readonly words: Set<number> }[] = []
const known = new Set<string>()

/** Follows the locks that this thread takes in the segment. */
export function watchHeld(segment: Held): void {
  const words = new Set<number>()
  watched.push({ segment, words })
  const { lock, tryLock, takeFromDead } = segment
  const own: Pick<Held, 'lock' | 'tryLock' | 'takeFromDead'> = {
    lock(word) {
      lock.call(segment, word)
      words.add(word)
    },
    tryLock(word) {
      const done = tryLock.call(segment, word)
      if (done) words.add(word)
      return done
    },
    takeFromDead(word) {
      const done = takeFromDead.call(segment, word)
      if (done) words.add(word)
      return done
    },
  }
  Object.assign(segment, own)
}

/** Returns what this thread holds now: an operation, locks; empty if nothing. */
function held(): string[] {
  const all: string[] = []
  for (const { segment, words } of watched) {
    const { i32, me, lockValue } = segment
    if (Atomics.load(i32, attachmentWord(me) + Attachment.operation) & 1) all.push('operation')
    for (const word of words)
      if (Atomics.load(i32, word) === lockValue) all.push('lock')
      else words.delete(word)
  }
  return all
}

/** Called before such a call of this thread: notes what is held. */
export function lookAtHeld(call: string): void {
  const what = held()
  if (what.length === 0) return
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 50
  const stack = new Error().stack ?? ''
  Error.stackTraceLimit = stackTraceLimit
  const functions = [...stack.matchAll(/^ +at (?:async )?(?:new )?([^ (]+) \(/gm)].map((match) => match[1]!).slice(2)
  const line = `${JSON.stringify({ call, held: [...new Set(what)].sort(), functions })}\n`
  if (known.has(line)) return
  known.add(line)
  appendFileSync(heldCallsFile, line)
}

if (watchesHeld) lookAtCalls(lookAtHeld)
