/** Choice among weighted values, and the joint choice of a verb and a type of queue pair. */
import { shortPercentText } from '../text/index.ts'
import { qpTypes, type TrafficQpType, type Verb, verbs, verbsOfType, type Weighted } from './config.ts'
import type { RandomStream } from './random.ts'

/** Values by weight, chosen with one random number. */
export class Choice<T> {
  readonly values: readonly T[]
  readonly #limits: Float64Array

  constructor(entries: readonly Weighted<T>[]) {
    const used = entries.filter(({ weight }) => weight > 0)
    const total = used.reduce((sum, { weight }) => sum + weight, 0)
    let sum = 0
    this.values = used.map(({ value }) => value)
    this.#limits = Float64Array.from(used, ({ weight }) => {
      sum += weight
      return sum / total
    })
    this.#limits[used.length - 1] = 1
  }

  /**
   * Returns the index of a value. A constant draws no number: adding a second value does not move the numbers of other choices, which have
   * streams of their own.
   */
  index(random: RandomStream): number {
    const limits = this.#limits
    if (limits.length === 1) return 0
    const u = random.unit()
    let i = 0
    while (u >= limits[i]!) i++
    return i
  }

  pick(random: RandomStream): T {
    return this.values[this.index(random)]!
  }
}

export interface Pair {
  verb: Verb
  type: TrafficQpType
}

const slack = 1e-9

/**
 * Returns the joint distribution of verbs and types with both shares as configured. UD can only SEND, and UC cannot READ or do atomics, so
 * verbs and types cannot be drawn independently: UD takes its share of the SENDs, UC then of the SENDs and WRITEs that are left, each verb
 * in proportion, and RC has the rest. Returns the reason as text if that is impossible.
 */
export function joint(
  verbShares: readonly Weighted<Verb>[],
  typeShares: readonly Weighted<TrafficQpType>[],
): Weighted<Pair>[] | string {
  const left = new Map<Verb, number>(verbs.map((verb) => [verb, shareOf(verbShares, verb)]))
  const pairs: Weighted<Pair>[] = []
  for (const type of ['UD', 'UC', 'RC'] as const) {
    const share = shareOf(typeShares, type)
    const able = verbsOfType[type]
    const room = able.reduce((sum, verb) => sum + left.get(verb)!, 0)
    if (share > room + slack) {
      const what = type === 'UD' ? 'SENDs' : 'SENDs and WRITEs'
      return `${percent(share)} of the requests are to be ${type}, which can only do ${what}, and ${percent(room)} of them can be`
    }
    if (share === 0) continue
    for (const verb of able) {
      const part = room > 0 ? (share * left.get(verb)!) / room : 0
      if (part <= slack) continue
      left.set(verb, Math.max(0, left.get(verb)! - part))
      pairs.push({ value: { verb, type }, weight: part })
    }
  }
  const order = (pair: Pair): number => verbs.indexOf(pair.verb) * qpTypes.length + qpTypes.indexOf(pair.type)
  return pairs.sort((a, b) => order(a.value) - order(b.value))
}

function shareOf<T>(entries: readonly Weighted<T>[], value: T): number {
  const total = entries.reduce((sum, { weight }) => sum + weight, 0)
  return entries.reduce((sum, entry) => sum + (entry.value === value ? entry.weight : 0), 0) / total
}

function percent(share: number): string {
  return shortPercentText(share, 2)
}
