/**
 * The end of objects in a segment: a record, and its memory, is taken out of use while other threads may be working with it. Every object
 * goes through the same steps:
 *
 *     1. its references become stale, and its state marks it as gone: a thread that comes now finds nothing
 *     2. it is buried (graves.ts): it has no owner any more
 *     3. a grace period later, a thread that came before is done: its record may be used again, and its memory (reclaim.ts)
 *
 * The first two are one critical section. A thread that dies in it leaves the record with its owner, so that the thread that reaps the
 * owner repeats all of it.
 *
 * An owner may close a CQ, an SRQ or a protection domain only when nothing uses it. If it ends without closing, objects of other threads
 * may do so: queue pairs that complete to such a CQ, or receive from such an SRQ, go to ERR with QP_FATAL; in a protection domain whose
 * owner ended, existing objects go on. The record stays until the last of them is closed.
 */
import { EventType, QpState, QpType } from './constants.ts'
import { deviceAt } from './device.ts'
import { bury, isBuried, relist } from './graves.ts'
import { dropAgent } from './gsi-agents.ts'
import { type Host, stageOf } from './host.ts'
import { eachKey } from './key-slots.ts'
import {
  Chan,
  Cq,
  type cqState,
  Dev,
  Key,
  keyKind,
  Meta,
  maxDevices,
  Pd,
  Qp,
  type RecordKind,
  Records,
  recordState,
  Srq,
} from './layout.ts'
import { leaveMcastGroups } from './multicast.ts'
import { forgetQpNumber } from './qp-numbers.ts'
import { repairRecords, retire } from './records.ts'

/** Owner of objects that are only kept for other threads. */
const nobody = 0

/**
 * Takes a QP out of use; it is reclaimed later. Operations of other threads that had begun before may still be using it and the memory that
 * its requests name, until a grace period has passed (`Segment.quiesce`).
 */
export function retireQp(host: Host, q: number): void {
  const { i32, segment } = host
  const slot = host.qpSlot(q)
  const device = i32[q + Qp.device]!
  let groups: Uint8Array[] = []
  // On a network no peer remembers a QP; in memory every peer that has sent to it does.
  const remembered =
    (Atomics.load(i32, q + Qp.state) as QpState) >= QpState.Rtr && i32[host.deviceWord(device) + Dev.transport] === 0
  const leave = (): void => {
    Atomics.store(i32, q + Qp.state, QpState.Reset)
    // From now on no thread finds it, neither by its number nor by a reference, and none of its completions is polled.
    retire(host, q)
    if (i32[q + Qp.type] === QpType.GSI) dropAgent(host, q)
    forgetQpNumber(host, slot)
    groups = leaveMcastGroups(host, q)
    let bytes = segment.retireMemory(i32[q + Qp.sqRing]! * 4)
    if (i32[q + Qp.stage] !== 0) bytes += segment.retireMemory(stageOf(host, q))
    // First, so that a thread which dies here leaves counts that are too high, for `recount`, and never too low.
    bury(host, 'qp', q, bytes)
    const sendCq = host.cqWord(i32[q + Qp.sendCq]!)
    releaseShared(host, 'cq', sendCq)
    releaseShared(host, 'cq', host.cqWord(i32[q + Qp.recvCq]!))
    if (i32[q + Qp.srq]! >= 0) releaseShared(host, 'srq', host.srqWord(i32[q + Qp.srq]!))
    releasePd(host, i32[q + Qp.pd]!, Pd.qps)
  }
  // Other agents are notified of one that ends, and woken after the lock is released.
  segment.parking.deferWakes()
  try {
    host.control(leave)
  } finally {
    segment.parking.wakeDeferred()
  }
  if (remembered) segment.bumpEpoch()
  // A device may hold a socket for each group of a thread that ended while it was attached.
  if (groups.length > 0) for (const gid of groups) deviceAt(host, device)?.leaveGroup(gid)
}

/** Ends the QPs for which `uses` is true: their owners live, but a CQ or SRQ that they need is no more. No lock is held. */
function endUsers(host: Host, uses: (q: number) => boolean): void {
  const { i32, at, segment } = host
  for (let slot = 0; slot < i32[at.meta + Meta.qpsUsed]!; slot++) {
    const q = host.qpWord(slot)
    if (i32[q + Qp.number]! <= 0 || !uses(q)) continue
    const ref = i32[q + Qp.ref]!
    if (host.breakQp(q, QpState.Err, 'CqGone')) host.qpEvent(q, EventType.QpFatal)
    segment.quiesce()
    host.flushBroken(ref)
  }
}

/** Offsets of the common fields of CQs and SRQs: queues that queue pairs use, whose record stays until the last of those is closed. */
const shared = {
  cq: { ref: Cq.ref, state: Cq.state, refs: Cq.refs, ring: Cq.ring, owner: Cq.owner, locks: [Cq.pollLock, Cq.lock] },
  srq: {
    ref: Srq.ref,
    state: Srq.state,
    refs: Srq.refs,
    ring: Srq.ring,
    owner: Srq.owner,
    locks: [Srq.postLock, Srq.lock],
  },
} as const
type SharedKind = keyof typeof shared
const sharedKinds = ['cq', 'srq'] as const satisfies readonly SharedKind[]

/** The state of a CQ or SRQ that is destroyed while its record stays. */
const dead = recordState.dead satisfies typeof cqState.dead

/**
 * Frees a CQ's record and ring; returns the number of queues that still use it: then nothing was done, unless its owner ended (`orphan`).
 */
export function destroyCq(host: Host, cq: number, orphan: boolean): number {
  const { i32 } = host
  return destroyShared(host, 'cq', cq, orphan, {
    unlink(ref) {
      const channel = i32[cq + Cq.channel]!
      if (channel >= 0) Atomics.sub(i32, host.chanWord(channel) + Chan.cqs, 1)
      host.dropChannelEvents(cq, ref)
    },
    uses: (q, slot) => i32[q + Qp.sendCq] === slot || i32[q + Qp.recvCq] === slot,
  })
}

/** Frees an SRQ's record and ring; as `destroyCq`. */
export function destroySrq(host: Host, srq: number, orphan: boolean): number {
  const { i32 } = host
  return destroyShared(host, 'srq', srq, orphan, {
    uses: (q, slot) => i32[q + Qp.srq] === slot,
    release: () => releasePd(host, i32[srq + Srq.pd]!, Pd.srqs),
  })
}

interface SharedEnd {
  /** Takes it out of lists, once no thread works with it; `ref` is what its name was. */
  unlink?(ref: number): void
  /** Returns true if the QP uses the object with this slot. */
  uses(q: number, slot: number): boolean
  /** Gives back what it uses itself; under the control lock. */
  release?(): void
}

function destroyShared(host: Host, kind: SharedKind, word: number, orphan: boolean, end: SharedEnd): number {
  const { i32, at, segment } = host
  const { ref, state, refs, ring, owner, locks } = shared[kind]
  const name = i32[word + ref]!
  const users = host.control(() => {
    const users = i32[word + refs]!
    if (users > 0 && !orphan) return users
    retire(host, word)
    Atomics.store(i32, word + state, dead)
    if (users === 0) {
      end.release?.()
      bury(host, kind, word, segment.retireMemory(i32[word + ring]! * 4))
      // Under the lock as well: without it another thread may reuse the record at once.
      end.unlink?.(name)
    }
    // This thread's own, until it is done.
    else i32[word + refs] = users + 1
    return users
  })
  if (users > 0 && !orphan) return users
  if (users === 0) return 0
  segment.bumpEpoch()
  segment.quiesce()
  for (const lock of locks) {
    segment.lock(word + lock)
    segment.unlock(word + lock)
  }
  end.unlink?.(name)
  const { table, words } = Records[kind]
  const slot = (word - at[table]) / words
  endUsers(host, (q) => end.uses(q, slot))
  const memory = i32[word + ring]!
  host.control(() => {
    i32[word + ring] = 0
    i32[word + owner] = nobody
    end.release?.()
    releaseShared(host, kind, word)
  })
  segment.free(memory * 4)
  return 0
}

/** Frees a protection domain; false if there is something in it. Then nothing was done; that of an `orphan` goes with the last of it. */
export function destroyPd(host: Host, pd: number, orphan: boolean): boolean {
  return host.control(() => {
    const used = pdMembers.some((word) => host.i32[pd + word]! > 0)
    if (used && !orphan) return false
    retire(host, pd)
    host.i32[pd + Pd.state] = recordState.dead
    if (used) host.i32[pd + Pd.owner] = nobody
    else bury(host, 'pd', pd)
    return true
  })
}

/** Counts that keep the record of a dead protection domain. Address handles do not: they hold a reference. */
const pdMembers = [Pd.mrs, Pd.mws, Pd.qps, Pd.srqs]

/**
 * Recounts what objects use, after a thread ended: it may have died between an object and its count. All counts change
 * under the control lock, in one critical section with what they count.
 */
export function recount(host: Host): void {
  const { i32, at } = host
  const count = (word: number, by: number): void => {
    i32[word] = i32[word]! + by
  }
  const each = (kind: RecordKind, visit: (word: number) => void): void => {
    const { table, words, high } = Records[kind]
    for (let slot = 0; slot < i32[at.meta + high]!; slot++) {
      const word = at[table] + slot * words
      if (i32[word] !== 0) visit(word)
    }
  }
  const pdOf = (slot: number): number => at.pds + slot * Pd.words
  host.control(() => {
    repairRecords(host)
    relist(host)
    for (const kind of sharedKinds) {
      const { state, refs, ring } = shared[kind]
      each(kind, (word) => {
        // A thread that is destroying it counts as a user.
        i32[word + refs] = i32[word + state] === dead && i32[word + ring] !== 0 ? 1 : 0
      })
    }
    each('pd', (pd) => {
      for (const word of pdMembers) i32[pd + word] = 0
    })
    // Senders read this count without the lock: a CQ that had one producer for a moment would be written without its lock.
    const producers = new Int32Array(i32[at.meta + Meta.cqsUsed]!)
    each('qp', (q) => {
      for (const slot of [i32[q + Qp.sendCq]!, i32[q + Qp.recvCq]!]) producers[slot] = producers[slot]! + 1
      if (isBuried(host, 'qp', q)) return
      count(host.cqWord(i32[q + Qp.sendCq]!) + Cq.refs, 1)
      count(host.cqWord(i32[q + Qp.recvCq]!) + Cq.refs, 1)
      if (i32[q + Qp.srq]! >= 0) count(host.srqWord(i32[q + Qp.srq]!) + Srq.refs, 1)
      count(pdOf(i32[q + Qp.pd]!) + Pd.qps, 1)
    })
    producers.forEach((number, slot) => {
      i32[host.cqWord(slot) + Cq.producers] = number
    })
    each('srq', (srq) => {
      // One whose owner ended has left its domain already.
      if (i32[srq + Srq.ring] !== 0 && !isBuried(host, 'srq', srq)) count(pdOf(i32[srq + Srq.pd]!) + Pd.srqs, 1)
    })
    if (i32[at.meta + Meta.keysUsed] !== 0 || keysAreCounted(host)) countKeys(host)
    // The last user of what was kept for it may have died before it could free it.
    for (const kind of sharedKinds) each(kind, (word) => freeUnused(host, kind, word))
    each('pd', (pd) => freePd(host, pd))
  })
}

function keysAreCounted(host: Host): boolean {
  for (let index = 0; index < maxDevices; index++)
    for (const word of [Dev.mrs, Dev.mws]) if (host.i32[host.deviceWord(index) + word] !== 0) return true
  return false
}

function countKeys(host: Host): void {
  const { i32, at } = host
  for (let index = 0; index < maxDevices; index++) {
    i32[host.deviceWord(index) + Dev.mrs] = 0
    i32[host.deviceWord(index) + Dev.mws] = 0
  }
  let used = 0
  eachKey(host, (entry, kind) => {
    used++
    if (kind === keyKind.retired) return
    const device = host.deviceWord(i32[entry + Key.device]!) + (kind === keyKind.region ? Dev.mrs : Dev.mws)
    i32[device] = i32[device]! + 1
    const pd = at.pds + i32[entry + Key.pd]! * Pd.words + (kind === keyKind.region ? Pd.mrs : Pd.mws)
    i32[pd] = i32[pd]! + 1
  })
  i32[at.meta + Meta.keysUsed] = used
}

// Objects that use another count there, under the control lock.

function releaseShared(host: Host, kind: SharedKind, word: number): void {
  const refs = word + shared[kind].refs
  host.i32[refs] = host.i32[refs]! - 1
  freeUnused(host, kind, word)
}

/** A dead CQ or SRQ that nothing uses any more is reclaimed. */
function freeUnused(host: Host, kind: SharedKind, word: number): void {
  const { i32 } = host
  const { state, refs } = shared[kind]
  if (i32[word + refs] === 0 && i32[word + state] === dead && !isBuried(host, kind, word)) bury(host, kind, word)
}

/** The same of a dead protection domain. */
function freePd(host: Host, pd: number): void {
  const { i32 } = host
  if (
    i32[pd + Pd.state] === recordState.dead &&
    pdMembers.every((word) => i32[pd + word]! <= 0) &&
    !isBuried(host, 'pd', pd)
  )
    bury(host, 'pd', pd)
}

/** `counter` is the word of `Pd` that counts objects of this kind. */
export function releasePd(host: Host, slot: number, counter: number): void {
  const { i32, at } = host
  const pd = at.pds + slot * Pd.words
  i32[pd + counter] = i32[pd + counter]! - 1
  freePd(host, pd)
}
