/** Which algorithm a call takes: the first rule that it fits. */

import { CollectiveError } from './error.ts'
import { algorithmsOf, type Collective, collectives } from './schedule/index.ts'

export interface Rule {
  collective: Collective
  algorithm: string
  /** Up to so many ranks; any number unless told. */
  maxRanks?: number
  /** Up to so many bytes, of what `Task.bytes` counts; any number unless told. */
  maxBytes?: number
}

/** What `verbena collective tune` writes. */
export interface DecisionTable {
  version: 1
  rules: readonly Rule[]
}

/**
 * From the algorithms' costs: while a message costs more than its bytes, the fewest messages after one another; then the fewest
 * bytes on each link (Thakur, Rabenseifner, Gropp 2005).
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

/** Rules of the user's come first, then the defaults. */
export class Chooser {
  readonly #size: number
  readonly #rules: Record<Collective, Rule[]>
  /** 32 bits that follow from the rules of the user: they have to be the same at all ranks. */
  readonly mark: number
  /** Whether a rule of the user's takes multicast, for which a device needs more. */
  readonly multicasts: boolean

  /** Throws a CollectiveError (EINVAL) for a table with a rule that there is not. */
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

  /** Throws a CollectiveError (EINVAL) for a collective that there is not, or for what is no number of bytes. */
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

/** FNV-1a of the rules. */
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
    // Sixteen ranks have every algorithm.
    const names = algorithmsOf(rule.collective, 16)
    if (!names.includes(rule.algorithm))
      throw wrong(`rule ${i + 1}: ${rule.collective} has ${names.join(', ')}, not ${JSON.stringify(rule.algorithm)}`)
    for (const key of ['maxRanks', 'maxBytes'] as const)
      if (rule[key] !== undefined && !(Number.isInteger(rule[key]) && rule[key]! >= 0))
        throw wrong(`rule ${i + 1}: ${key} must be a whole number, not ${JSON.stringify(rule[key])}`)
  }
  return table.rules
}
