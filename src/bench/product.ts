/** From lists of settings to the sets that are measured: their product, without what cannot be. */

import { UsageError } from '../toolkit/index.ts'
import { Random } from './random.ts'
import { type LatencyLists, type LatencySettings, latencyOptions } from './settings.ts'

/** What the adapters can do. */
export interface Limits {
  /** Largest UD message, bytes. */
  mtu: number
  maxInlineData: number
}

export interface PlannedSet<S> {
  /** Three digits or more; names the file of its timestamps. */
  id: string
  settings: S
  /** 1 for the first measurement of these settings, 2 for the second, … */
  repeat: number
}

export interface LeftOut {
  reason: string
  combinations: number
}

export interface Plan<S> {
  /** As a person reads them: in the order of the product. */
  sets: PlannedSet<S>[]
  /** Indices into `sets` as they are measured: shuffled, so that a drift of the machine does not look like a setting. */
  order: number[]
  leftOut: LeftOut[]
}

/** Why a combination cannot be measured; null if it can. */
export function exclusion(s: LatencySettings, limits: Limits): string | null {
  if (s.service === 'UD' && s.op === 'write-imm') return 'UD carries no RDMA WRITE (--op write-imm needs RC or UC)'
  if (s.service === 'UD' && s.size > limits.mtu)
    return `a UD message is one packet, at most the MTU of ${limits.mtu} bytes (--size)`
  if (s.inline && s.size > limits.maxInlineData)
    return `--inline takes at most ${limits.maxInlineData} bytes here (--size)`
  if (s.stamp === 'send' && s.engine !== 'thread')
    return '--stamp send needs --engine thread: the poster engine reads the payload inside postSend, before another thread could rewrite it'
  return null
}

/** Every combination of the lists, the last key varying fastest. */
export function combinations<S extends object>(lists: { [K in keyof S]: readonly S[K][] }): S[] {
  let all: object[] = [{}]
  for (const [key, values] of Object.entries<readonly unknown[]>(lists)) {
    all = all.flatMap((settings) => values.map((value) => ({ ...settings, [key]: value })))
  }
  return all as S[]
}

/** Puts what can be measured into a plan and counts what cannot. */
export function makePlan<S extends object>(
  all: readonly S[],
  excluded: (settings: S) => string | null,
  repeat: number,
  seed: number,
): Plan<S> {
  const leftOut = new Map<string, number>()
  const possible: S[] = []
  for (const settings of all) {
    const reason = excluded(settings)
    if (reason === null) possible.push(settings)
    else leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
  }
  const sets: PlannedSet<S>[] = []
  for (const settings of possible) {
    for (let r = 1; r <= repeat; r++) sets.push({ id: String(sets.length + 1).padStart(3, '0'), settings, repeat: r })
  }
  const order = new Random(seed).shuffle(sets.map((_, i) => i))
  return { sets, order, leftOut: [...leftOut].map(([reason, combinations]) => ({ reason, combinations })) }
}

const maxSets = 100_000

/** The plan of a latency run; throws a UsageError when nothing is left to measure. */
export function planLatency(lists: LatencyLists, limits: Limits, repeat: number, seed: number): Plan<LatencySettings> {
  const count = Object.values(lists).reduce((product, values) => product * values.length, repeat)
  if (count > maxSets)
    throw new UsageError('--repeat', `these lists make ${count} sets, more than ${maxSets}: shorten some`)
  const plan = makePlan(combinations<LatencySettings>(lists), (settings) => exclusion(settings, limits), repeat, seed)
  if (plan.sets.length === 0) {
    const reasons = plan.leftOut.map(({ reason }) => reason)
    const option = Object.values(latencyOptions).find(({ flag }) => reasons[0]?.includes(flag))?.flag ?? '--service'
    throw new UsageError(option, `nothing is left to measure: ${reasons.join('; ')}`)
  }
  return plan
}
