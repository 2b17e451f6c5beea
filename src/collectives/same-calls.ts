/**
 * Check that all ranks make the same calls: a rank that names another root may send a message that no rank expects, and wait for one that
 * no rank sends.
 */
import { differs } from './call.ts'
import { CollectiveError } from './error.ts'
import { countOf, firstDifference, type History } from './history.ts'
import type { Lane } from './lane.ts'
import { callNumbers } from './message.ts'
import type { Ranks } from './options.ts'

/** Distance in calls beyond which a message that seems to be old belongs to a future call. */
const mostBehind = callNumbers / 2

/**
 * Compares calls in which peers wait, and messages that were not taken, with this rank's calls. A peer that was in another call is
 * notified; the next check throws a CollectiveError (EMISMATCH), so that each of the two can name the other.
 */
export function checkCalls(lanes: readonly (Lane | null)[], history: History, nameOf: (tag: number) => string): void {
  for (const lane of lanes) {
    if (lane === null) continue
    lane.look()
    let number = lane.waitedIn
    let theirs = lane.waitedTag
    if (!isOther(history, number, theirs)) {
      if (lane.arrived.count === 0) continue
      theirs = lane.arrived.tag
      number = history.numberOf(theirs)
      if (history.count - number > mostBehind || !isOther(history, number, theirs)) continue
    }
    const own = history.tagOf(number)
    if (lane.isElsewhere) throw differs(lane.rank, nameOf(theirs), nameOf(own))
    lane.isElsewhere = true
    lane.tellCall(number, own)
  }
}

function isOther(history: History, number: number, theirs: number): boolean {
  const own = history.tagOf(number)
  return own >= 0 && own !== theirs
}

/**
 * Compares the calls of all ranks after their last one. Throws a CollectiveError (EMISMATCH) that names a rank that made other calls, and
 * these calls.
 */
export async function agree(ranks: Ranks, history: History, nameOf: (tag: number) => string): Promise<void> {
  const own = { summary: history.summary, tags: history.tags }
  const summaries = await ranks.allgather(own.summary)
  const isSame = (summary: Uint8Array): boolean => Buffer.compare(summary, own.summary) === 0
  if (summaries.every((summary) => Buffer.compare(summary, summaries[0]!) === 0)) return
  const tags = await ranks.allgather(own.tags)
  const rank = summaries.findIndex((summary) => !isSame(summary))
  const [theirs, ours] = [countOf(summaries[rank]!), history.count]
  const difference = firstDifference(own, { summary: summaries[rank]!, tags: tags[rank]! })
  if (difference === null)
    throw new CollectiveError(
      'EMISMATCH',
      `rank ${rank} has made ${theirs} calls and this rank ${ours}: their counts, types or roots differ`,
      rank,
    )
  const { here, there } = difference
  throw differs(rank, there < 0 ? endAfter(theirs) : nameOf(there), here < 0 ? endAfter(ours) : nameOf(here))
}

function endAfter(calls: number): string {
  return `end after ${calls} ${calls === 1 ? 'call' : 'calls'}`
}
