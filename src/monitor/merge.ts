/** Merging of two windows. */
import { type Burst, highest } from './burst.ts'
import { burstsOf } from './bursts.ts'
import { planDifference } from './config.ts'
import { MonitorError } from './error.ts'
import { mostSourceQps, type Window } from './window.ts'

/**
 * Merges another window into a window: one of another part of the traffic, of the same time or a later one. Throws ERR_MONITOR_MISMATCH if
 * their plans differ, or if it has a part that is in this one already. `bursts`: those of the other one, if they are known.
 */
export function mergeWindow(window: Window, other: Window, bursts?: readonly Burst[]): void {
  const difference = planDifference(window.plan, other.plan)
  if (difference !== undefined)
    throw new MonitorError('ERR_MONITOR_MISMATCH', `windows cannot be merged: of the other, ${difference}`)
  if (other.index < window.index)
    throw new MonitorError('ERR_MONITOR_MISMATCH', 'windows cannot be merged: the other one begins earlier')
  const twice = other.parts.find((part) => window.hasPart(part))
  if (twice !== undefined)
    throw new MonitorError(
      'ERR_MONITOR_MISMATCH',
      `windows cannot be merged: both have window ${twice.sequence} of ${twice.agent}`,
    )
  const isLong = other.index !== window.index || other.isLong || window.isLong
  if (isLong) window.bursts = highest([...burstsOf(window), ...(bursts ?? burstsOf(other))])
  else window.sketches.rates.merge(other.sketches.rates)
  for (const part of other.parts) window.parts.push(part)
  window.span = Math.max(window.span, other.index + other.span - window.index)
  for (let i = 0; i < window.counters.length; i++) window.counters[i]! += other.counters[i]!
  for (let i = 0; i < window.pauses.length; i++) window.pauses[i]! += other.pauses[i]!
  for (const [port, pauses] of other.pausedBy) {
    const mine = window.pausesOf(port)
    for (let i = 0; mine !== undefined && i < mine.length; i++) mine[i]! += pauses[i]!
  }
  const { sketches } = window
  for (const name of ['bytes', 'packets', 'messages', 'events'] as const) sketches[name].merge(other.sketches[name])
  for (const name of ['flows', 'hosts'] as const) sketches[name].merge(other.sketches[name])
  for (const name of ['ack', 'read'] as const) sketches[name].merge(other.sketches[name])
  for (const [name, qp] of other.sourceQps) if (window.sourceQps.size < mostSourceQps) window.sourceQps.set(name, qp)
  for (const { key, sketch } of other.flowLatencies.values()) window.latencyOf(key)?.merge(sketch)
  window.largest.merge(other.largest)
  window.slowest.merge(other.slowest)
}
