/** Choice of the algorithm of a call: the first rule that matches. */

import { CollectiveError } from './error.ts'
import { algorithmsOf, type Collective, collectives } from './schedule/index.ts'

export interface Rule {
  collective: Collective
  algorithm: string
  /** Maximum number of ranks; default: any number. */
  maxRanks?: number
  /** Maximum bytes, as `Task.bytes` counts them; default: any number. */
  maxBytes?: number
}

/** Output of `verbena collective tune`. */
export interface DecisionTable {
  version: 1
  rules: readonly Rule[]
}

/**
 * Default rules, derived from the algorithms' costs: while the cost of a message exceeds that of its bytes, the fewest consecutive
 * messages; beyond that, the fewest bytes on each link (Thakur, Rabenseifner, Gropp 2005).
 */
export const defaultRules: readonly Rule[] = [
  { collective: 'barrier', algorithm: 'dissemination' },
  { collective: 'broadcast', algorithm: 'binomial', maxBytes: 16_384 },
  { collective: 'broadcast', algorithm: 'binomial', maxRanks: 3 },
  { collective: 'broadcast', algorithm: 'scatter-allgather' },
  { collective: 'scatter', algorithm: 'binomial', maxBytes: 2048 },
  { collective: 'scatter', algorithm: 'linear' },
  { collective: 'gather', algorithm: 'binomial', maxBytes: 2048 },
  { collective: 'gather', algorithm: 'linear' },
  { collective: 'allgather', algorithm: 'recursive-doubling', maxBytes: 8192 },
  { collective: 'allgather', algorithm: 'bruck', maxBytes: 1024 },
  { collective: 'allgather', algorithm: 'ring' },
  { collective: 'reduce', algorithm: 'binomial', maxBytes: 16_384 },
  { collective: 'reduce', algorithm: 'binomial', maxRanks: 3 },
  { collective: 'reduce', algorithm: 'ring' },
  { collective: 'allreduce', algorithm: 'recursive-doubling', maxBytes: 8192 },
  { collective: 'allreduce', algorithm: 'halving-doubling', maxBytes: 262_144 },
  { collective: 'allreduce', algorithm: 'ring' },
  { collective: 'alltoall', algorithm: 'bruck', maxBytes: 128 },
  { collective: 'alltoall', algorithm: 'pairwise' },
]

/** Rules of the user, then the default rules. */
export class Chooser {
  readonly #size: number
  readonly #rules: Record<Collective, Rule[]>
  /** Digest of 32 bits of the user's rules: it has to be the same at all ranks. */
  readonly mark: number
  /** True if a rule of the user chooses multicast, which requires more of the device. */
  readonly multicasts: boolean

  /** Throws a CollectiveError (EINVAL) for a table with an invalid rule. */
  constructor(size: number, table: DecisionTable | null = null) {
    this.#size = size
    const own = table === null ? [] : checked(table)
    this.mark = markOf(own)
    const fits = (rule: Rule): boolean =>
      size <= (rule.maxRanks ?? size) && algorithmsOf(rule.collective, size).includes(rule.algorithm)
    this.multicasts = size > 1 && own.some((rule) => rule.algorithm === 'multicast' && fits(rule))
    const rules = [...own, ...defaultRules].filter(fits)
    this.#rules = Object.fromEntries(
      collectives.map((name) => [name, rules.filter(({ collective }) => collective === name)]),
    ) as Record<Collective, Rule[]>
  }

  /** Returns the algorithm. Throws a CollectiveError (EINVAL) for an unknown collective or an invalid number of bytes. */
  choose(collective: Collective, bytes: number): string {
    const rules = Object.hasOwn(this.#rules, collective) ? this.#rules[collective] : undefined
    if (rules === undefined)
      throw new CollectiveError(
        'EINVAL',
        `there is no collective ${JSON.stringify(collective)}: ${collectives.join(', ')}`,
      )
    if (!(bytes >= 0)) throw new CollectiveError('EINVAL', `bytes must be 0 or more, not ${bytes}`)
    const rule = rules.find(({ maxBytes }) => maxBytes === undefined || bytes <= maxBytes)
    return rule?.algorithm ?? algorithmsOf(collective, this.#size)[0]!
  }
}

/** Returns the FNV-1a hash of the rules. */
function markOf(rules: readonly Rule[]): number {
  const text = JSON.stringify(
    rules.map(({ collective, algorithm, maxRanks, maxBytes }) => [collective, algorithm, maxRanks, maxBytes]),
  )
  let mark = 0x811c9dc5
  for (let i = 0; i < text.length; i++) mark = Math.imul(mark ^ text.charCodeAt(i), 0x01000193)
  return mark >>> 0
}

function checked(table: DecisionTable): readonly Rule[] {
  const wrong = (why: string): CollectiveError => new CollectiveError('EINVAL', `decision table: ${why}`)
  if (table?.version !== 1 || !Array.isArray(table.rules)) throw wrong('it must be {"version": 1, "rules": […]}')
  for (const [i, rule] of table.rules.entries()) {
    if (typeof rule !== 'object' || rule === null) throw wrong(`rule ${i + 1} is ${JSON.stringify(rule)}`)
    if (!collectives.includes(rule.collective))
      throw wrong(`rule ${i + 1} has no collective ${JSON.stringify(rule.collective)}: ${collectives.join(', ')}`)
    // All algorithms exist for sixteen ranks.
    const names = algorithmsOf(rule.collective, 16)
    if (!names.includes(rule.algorithm))
      throw wrong(`rule ${i + 1}: ${rule.collective} has ${names.join(', ')}, not ${JSON.stringify(rule.algorithm)}`)
    for (const key of ['maxRanks', 'maxBytes'] as const)
      if (rule[key] !== undefined && !(Number.isInteger(rule[key]) && rule[key]! >= 0))
        throw wrong(`rule ${i + 1}: ${key} must be a whole number, not ${JSON.stringify(rule[key])}`)
  }
  return table.rules
}
