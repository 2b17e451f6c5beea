/** What our own counters may say after a run. */
import { expect } from 'vitest'
import type { Counters, Outcome } from './lab/index.ts'

/** Drops that follow from losses: late and repeated acknowledgements, what comes behind a gap, a goodbye that is said again when its answer was lost. */
export const dropsAfterLoss = /^(drops_nak_pending|drops_uc_sequence|out_of_seq_request|cm_drops_unknown_id)$/
/** Where a timer expired too early the peer may acknowledge the same packet twice. */
const harmlessDrops = /^drops_unexpected_ack$/

/** Those of our counters that must be 0, but are not. */
export function faultsOf(counters: Counters, allowed?: RegExp): Counters {
  const forbidden = ([name, n]: [string, number]): boolean =>
    n > 0 &&
    /icrc|drop|out_of_seq|invalid|access_errors|local_errors|overrun|send_err/.test(name) &&
    !harmlessDrops.test(name) &&
    !allowed?.test(name)
  return Object.fromEntries(Object.entries(counters).filter(forbidden))
}

/** The counters in our JSON; null when the program was stopped before it printed any. */
export function countersOf({ stdout }: Outcome): Counters | null {
  if (stdout === '') return null
  const { counters } = JSON.parse(stdout) as { counters?: Counters }
  expect(counters, 'counters of the adapter in the JSON of our program').toBeDefined()
  return counters!
}
