/**
 * Saved files of a profiled measurement, for each end: the cost breakdown in run.json, the tree of calls for the flame
 * graph, and the profile itself, which Chrome's developer tools and other programs can open.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SocketProfile, type SocketSet, saveFlame } from '../../report/index.ts'
import { costOf } from './cost.ts'
import { moduleAt, sourceLine } from './modules.ts'
import type { EndResult } from './socket-end.ts'

export function saveProfiles(
  dir: string,
  set: SocketSet,
  client: EndResult | undefined,
  server: EndResult | undefined,
): SocketProfile[] {
  const profiles: SocketProfile[] = []
  for (const [end, result] of Object.entries({ client, server }) as ['client' | 'server', EndResult | undefined][]) {
    const profile = result?.profile
    if (!result || !profile || profile.samples.length === 0) continue
    // A thread that sleeps in the kernel is sampled there; only its CPU clock shows how long it slept.
    const sleepsInCalls = set.settings.transport === 'tcp' && set.settings.poll === 'event'
    const asleep = sleepsInCalls && !Number.isNaN(result.cpu.thread) ? Math.max(0, 1 - result.cpu.thread) : 0
    const { samples, components, functions, root } = costOf(profile, `${end} thread`, moduleAt, sourceLine, asleep)
    writeFileSync(join(dir, `${set.id}-${end}.cpuprofile`), JSON.stringify(profile))
    saveFlame(dir, set.id, end, root)
    const { id, settings, messagesPerSecond, bytesPerSecond } = set
    profiles.push({ id, end, settings, messagesPerSecond, bytesPerSecond, samples, components, functions })
  }
  return profiles
}
