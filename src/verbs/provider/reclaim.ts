/**
 * A closed object is taken out of use at once, and reclaimed later: the record that other threads may use again, and its memory. Threads
 * that found it before may still be working with it, and closing waits for none of them.
 *
 *     close    control lock   references become stale, its state marks it as gone, `bury`: it is in the list `Meta.retired`
 *     sweep    control lock   the list becomes `Meta.leaving`, the epoch is incremented, a grace period begins
 *     sweep    control lock   once it is over: records are given back, memory is freed
 *
 * Any thread sweeps: the one that closed something, a moment later in its event loop; one that closes when much is in the list; one that
 * finds no memory or no record, which waits for the grace period; and one that cleans up after a dead thread. So a process that is stopped
 * in the middle of an operation keeps memory from being used again, but keeps no thread from closing.
 *
 * Membership in a list is a property of an object's record: the word of its owner is negative, or the kind of a key is `retired`. The lists
 * are links in that word, and are made anew from the records when a thread has died (`relist`). Memory belongs to no thread
 * (`Segment.retireMemory`) before its record is in the list, so that it does not end with its owner; the end of a thread between the two
 * leaves the record with that thread, and the thread that reaps it repeats all of it.
 */
import { type Buried, bury, goesOn, linked } from './graves.ts'
import { type Host, stageOf } from './host.ts'
import { giveKey } from './keys.ts'
import { Cq, Key, Meta, Qp, Records, Srq } from './layout.ts'
import { giveRecord } from './records.ts'

/** Number of looks at a grace period that does not end, after which a sweep checks that the threads that it waits for live. */
const looksBeforeDoubt = 16

/** Returns true if nothing is left to reclaim. */
export function allReclaimed({ i32, at }: Host): boolean {
  return i32[at.meta + Meta.retired] === 0 && i32[at.meta + Meta.leaving] === 0
}

/** Reclaims what it can without waiting, not even for the control lock; returns true if nothing is left. */
export function sweep(host: Host): boolean {
  if (!allReclaimed(host)) host.tryControl(() => step(host))
  return allReclaimed(host)
}

/** Waits for a grace period, and reclaims all that was closed before the call unless a living thread has its lock. */
export function sweepNow(host: Host): void {
  // The first round may end what was leaving already, the second what was in the list, the third what was found locked.
  for (let rounds = 0; rounds < 4 && !allReclaimed(host); rounds++) {
    if (rounds > 0) host.segment.quiesce()
    host.control(() => step(host))
  }
}

function step(host: Host): void {
  const { i32, at, segment } = host
  const leaving = at.meta + Meta.leaving
  if (i32[leaving] === 0) {
    i32[leaving] = i32[at.meta + Meta.retired]!
    i32[at.meta + Meta.retired] = 0
    i32[at.meta + Meta.retiredCount] = 0
    i32[at.meta + Meta.retiredBytes] = 0
    i32[at.meta + Meta.graceLooks] = 0
    // Cached look-ups of objects whose close did not bump the epoch are void from now on.
    segment.bumpEpoch()
    segment.beginGrace()
  }
  const looks = i32[at.meta + Meta.graceLooks]! + 1
  i32[at.meta + Meta.graceLooks] = looks
  if (!segment.graceOver(looks % looksBeforeDoubt === 0)) return
  const memory: number[] = []
  const all: { kind: Buried; word: number }[] = []
  for (let link = i32[leaving]!; goesOn(link); ) {
    const one = linked(host, link)
    all.push(one)
    link = one.next
  }
  i32[leaving] = 0
  // Objects that were closed first go first: queue pairs before the queues that they use.
  for (const { kind, word } of all.reverse()) if (!give(host, kind, word, memory)) bury(host, kind, word)
  if (memory.length > 0) segment.freeRetired(memory)
}

/** Gives a record back, and notes its memory; false if a living thread has one of its locks: it may be inside. */
function give(host: Host, kind: Buried, word: number, memory: number[]): boolean {
  const { i32, f64, segment } = host
  if (kind === 'key') {
    const at = f64[(word + Key.addr) >> 1]!
    // In another process nothing was allocated.
    if (at >= 0) memory.push(at)
    giveKey(host, word)
    return true
  }
  for (const lock of Records[kind].locks) if (!segment.passLock(word + lock)) return false
  if (kind === 'qp') {
    const srq = i32[word + Qp.waitingOn]! - 1
    if (srq >= 0) {
      if (!segment.passLock(host.srqWord(srq) + Srq.lock)) return false
      host.stopWaiting(word)
    }
    for (const cq of [Qp.sendCq, Qp.recvCq]) {
      const producers = host.cqWord(i32[word + cq]!) + Cq.producers
      i32[producers] = i32[producers]! - 1
    }
    memory.push(i32[word + Qp.sqRing]! * 4)
    if (i32[word + Qp.stage] !== 0) memory.push(stageOf(host, word))
  } else if (kind === 'cq') {
    if (i32[word + Cq.producers]! > 0) return false
    host.dropChannelEvents(word, (i32[word + Cq.ref]! - 0x10000) | 0)
    memory.push(i32[word + Cq.ring]! * 4)
  } else if (kind === 'srq') {
    forgetWaiters(host, word)
    memory.push(i32[word + Srq.ring]! * 4)
  }
  giveRecord(host, kind, word)
  return true
}

/** Queue pairs that wait for a receive of this SRQ wait for none any more: they find their peer gone. */
function forgetWaiters(host: Host, srq: number): void {
  const { i32 } = host
  for (let slot = i32[srq + Srq.waiting]!; slot !== 0; ) {
    const q = host.qpWord(slot - 1)
    slot = i32[q + Qp.nextWaiting]!
    i32[q + Qp.nextWaiting] = 0
    i32[q + Qp.waitingOn] = 0
  }
  i32[srq + Srq.waiting] = 0
}
