/** The segment that all threads of this process share, with its tables made ready: one `Host` for each thread. */
import { randomInt } from 'node:crypto'
import { atExit, defaultSegmentMib, Segment, type SegmentOptions, segmentBytes } from '../../memory/index.ts'
import { VerbsError } from '../provider/errors.ts'
import { Host } from '../provider/host.ts'
import { Tables, unorderedTables } from '../provider/layout.ts'
import type { Platform } from '../provider/platform.ts'
import { reapAttachment } from '../provider/reap.ts'

const platform: Platform = { randomInt }

/** The tables of a segment, for this thread. */
export function hostOf(segment: Segment): Host {
  return new Host(segment, platform)
}

/**
 * What new segments are made with. VERBENA_SHM_MIB is how many MiB buffers and queues may take; the tables come on top.
 * EINVAL if that is not from 1 to 2048.
 */
export function segmentOptions(): SegmentOptions {
  const mib = Number(process.env.VERBENA_SHM_MIB || defaultSegmentMib)
  if (!Number.isInteger(mib) || mib < 1 || mib > 2048)
    throw new VerbsError(
      'EINVAL',
      'openDevice',
      `VERBENA_SHM_MIB must be an integer from 1 to 2048, not '${process.env.VERBENA_SHM_MIB}'`,
    )
  const staticBytes = Tables.words * 4
  return { staticBytes, sizeBytes: segmentBytes(staticBytes, mib * 2 ** 20), committed: unorderedTables() }
}

let own: Host | null = null

export function processHost(): Host {
  if (own === null) {
    own = hostOf(Segment.ofProcess(segmentOptions()))
    reapDead(own)
  }
  return own
}

/** Cleans up after all threads that ended without closing what they had; how many. */
export function reapDead(host: Host): number {
  const dead = host.segment.deadAttachments()
  for (const use of dead) reap(host, use)
  return dead.length
}

/** Gives back what this process has, which ends: its threads' objects, in the main thread those of all. */
export function reapOwn(host: Host): void {
  for (const use of host.segment.ownAttachments()) reap(host, use)
}

/** Cleans up after a thread, by its use of an attachment. */
function reap(host: Host, use: number): void {
  // Under the lock, so that a thread of this process which still runs is not in the middle of a change, and begins no other.
  const attachment = host.control(() => host.segment.claim(use))
  if (attachment === 0) return
  reapAttachment(host, attachment)
  host.segment.release(attachment)
}

// A thread that was terminated has cleaned nothing up: the one that started it does. Between processes a janitor looks.
process.on('worker', (worker) =>
  worker.once('exit', () => {
    if (own === null && !Segment.isUsedInProcess()) return
    reapDead(processHost())
  }),
)

atExit(() => {
  if (own !== null) reapOwn(own)
})

// Made here, in the thread that imports first, so that threads which it starts find the same devices.
try {
  Segment.prepareProcess(segmentOptions())
} catch {
  // Opening a device says why.
}
