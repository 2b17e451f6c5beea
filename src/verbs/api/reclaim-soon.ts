/**
 * The time at which closed objects are reclaimed: a moment later, in the event loop of the thread that closed them, or sooner if there are
 * many.
 */
import { inRootContext } from '../../memory/index.ts'
import { sweepIsDue } from '../provider/graves.ts'
import type { Host } from '../provider/host.ts'
import { sweep } from '../provider/reclaim.ts'

/** Milliseconds from a close to the sweep; connections that end within that time are reclaimed together. */
const soonMs = 10
/** Maximum milliseconds until the next sweep, if another thread is in an operation all that time. */
const latestMs = 1000

const scheduled = new WeakSet<Host>()

/** Notes that an object was closed: sweeps now if that is due, else a moment later. */
export function reclaimSoon(host: Host): void {
  if (sweepIsDue(host)) sweep(host)
  if (scheduled.has(host)) return
  scheduled.add(host)
  sweepIn(host, soonMs)
}

function sweepIn(host: Host, ms: number): void {
  inRootContext(() =>
    setTimeout(() => {
      if (sweep(host)) scheduled.delete(host)
      else sweepIn(host, Math.min(2 * ms, latestMs))
    }, ms).unref(),
  )
}
