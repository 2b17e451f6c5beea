/** The segment that all threads of this process share, with its tables made ready: one `Host` for each thread. */
import { randomInt } from 'node:crypto'
import { atExit, isProcessMemoryUsed, Segment, whenWorkerEnds } from '../../memory/index.ts'
import { Host } from '../provider/host.ts'
import { reapAttachment } from '../provider/reap.ts'
import { sweepNow } from '../provider/reclaim.ts'
import { newsOf } from './channels.ts'
import { prepareProcess } from './prepare-process.ts'
import { segmentOptions } from './segment-options.ts'

/** The tables of a segment, for this thread. */
export function hostOf(segment: Segment): Host {
  const host: Host = new Host(segment, { randomInt, news: newsOf(() => host) })
  host.reclaim = () => sweepNow(host)
  return host
}

let own: Host | null = null

export function processHost(): Host {
  if (own === null) {
    own = hostOf(Segment.ofProcess(segmentOptions()))
    reapDead(own)
  }
  return own
}

/** Cleans up after all threads that ended without closing their objects; returns their number. */
export function reapDead(host: Host): number {
  const dead = host.segment.deadAttachments()
  for (const use of dead) reap(host, use, true)
  return dead.length
}

/** Gives back what this process has, which ends: its threads' objects, in the main thread those of all. */
export function reapOwn(host: Host): void {
  const own = host.segment.ownAttachments()
  // The others end as they are, in the middle of whatever they do.
  for (const use of own) reap(host, use, use !== host.segment.lockValue)
}

/**
 * Cleans up after a thread, by its use of an attachment. `interrupted`: it may have been about to wake other threads, which wait for its
 * work.
 */
function reap(host: Host, use: number, interrupted: boolean): void {
  // Under the lock, so that a thread of this process which still runs is not in the middle of a change, and begins no other.
  const attachment = host.control(() => host.segment.claim(use))
  if (attachment === 0) return
  reapAttachment(host, attachment)
  if (interrupted) host.segment.parking.wakeAll()
  host.segment.release(attachment)
}

// A thread that was terminated has cleaned nothing up: the one that started it does. Between processes a janitor looks.
whenWorkerEnds(() => {
  if (own === null && !isProcessMemoryUsed()) return
  reapDead(processHost())
})

atExit(() => {
  if (own !== null) reapOwn(own)
})

// Made here, in the thread that imports first, so that threads which it starts find the same devices.
prepareProcess()
