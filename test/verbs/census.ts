/** What of a segment is in use: objects by kind, keys, services, memory. The same before and after means that nothing stayed. */

import type { Context } from '../../src/index.ts'
import { P, runOwnerShift, runPagesMask } from '../../src/memory/pages.ts'
import { pagesLayout } from '../../src/memory/segment-layout.ts'
import { type Host, layout } from '../../src/verbs/provider/index.ts'
import { eachKey } from '../../src/verbs/provider/key-slots.ts'
import { allReclaimed, sweep, sweepNow } from '../../src/verbs/provider/reclaim.ts'

const { Agent, Dev, Key, keyKind, keySlots, Records, Service } = layout

export type Census = Readonly<Record<string, number>>

/** Of the segment that the context's device is in. `waits`: until other threads, which may have been put aside, have ended their operations. */
export function census(context: Context, waits = true): Census {
  const { host, index } = context.device
  const { i32, at } = host
  // What was closed is not in use any more as soon as nobody is in an operation that may have found it.
  if (waits) for (let i = 0; i < 50 && !allReclaimed(host); i++) sweepNow(host)
  else for (let i = 0; i < 2; i++) sweep(host)
  const found: Record<string, number> = {}
  for (const [kind, { bits, max }] of Object.entries(Records)) {
    let count = 0
    for (let slot = 0; slot < max; slot++) count += (i32[at.slots + bits + (slot >>> 5)]! >>> (slot & 31)) & 1
    found[kind] = count
  }
  const keys = countKeys(host)
  const device = host.deviceWord(index)
  return {
    ...found,
    keys,
    keysUsed: i32[at.meta + layout.Meta.keysUsed]!,
    regions: i32[device + Dev.mrs]!,
    windows: i32[device + Dev.mws]!,
    addressHandles: i32[device + Dev.ahs]!,
    services: inUse(host, at.services, Service.words, i32[at.meta + layout.Meta.servicesUsed]!, Service.state),
    agents: inUse(host, at.agents, Agent.words, i32[at.meta + layout.Meta.agentsUsed]!, Agent.qpNum),
    pages: ownPages(host),
  }
}

/** Keys in use. Under the control lock: other threads free keys whose grace period is over at any moment. */
function countKeys(host: Host): number {
  const { i32, at } = host
  return host.control(() => {
    let keys = 0
    for (let slot = 0; slot < keySlots; slot++) {
      const kind = i32[at.keys + slot * Key.words + Key.kind]
      if (kind !== keyKind.free && kind !== keyKind.deleted) keys++
    }
    let marked = 0
    eachKey(host, () => {
      marked++
    })
    if (marked !== keys) throw new Error(`${keys} keys are in use, and the slots of ${marked} are marked so`)
    return keys
  })
}

/** Those of this thread: the one that drives devices has some, too, which it may take at any moment. */
function ownPages({ i32, segment }: Host): number {
  const { header, pageTable, first } = pagesLayout(i32)
  let count = 0
  for (let page = first; page < i32[header + P.high]!; ) {
    const entry = i32[pageTable + page]!
    const pages = entry & runPagesMask
    if (entry !== 0 && entry >> runOwnerShift === segment.me) count += pages
    page += entry === 0 ? 1 : pages
  }
  return count
}

function inUse({ i32 }: Host, table: number, words: number, used: number, state: number): number {
  let count = 0
  for (let slot = 0; slot < used; slot++) if (i32[table + slot * words + state] !== 0) count++
  return count
}
