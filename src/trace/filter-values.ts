/** What the fields of a filter can be compared with. A value that no packet can have is an error, not a silent mismatch. */
import { CmAttribute, formatIp, opcodeTable, parseIp } from '../wire/index.ts'
import { operationText } from './describe.ts'
import { serviceNames } from './flow.ts'
import { problemRules } from './problems.ts'
import type { Row } from './row.ts'
import { tunnelNames } from './tunnels.ts'

export type Value = string | number | bigint | boolean | undefined

/** How one value of a packet compares with the one that is wanted. */
interface Wanted {
  equals(have: Value): boolean
  /** Below zero if the packet's value is lower. Only of kinds with an order. */
  compare?(have: Value): number
}

export interface ValueKind {
  /** Completes "… is wanted". */
  wants: string
  ordered: boolean
  /** Undefined if no packet can have such a value. */
  read(text: string): Wanted | undefined
  /** For the operator `~`: can any value contain this? Without it, the operator has no meaning. */
  mayContain?(text: string): boolean
}

/** @param most the largest value that the packet's field can hold */
export function whole(most: number | bigint = Number.MAX_SAFE_INTEGER): ValueKind {
  const limit = most === Number.MAX_SAFE_INTEGER ? '' : `, at most ${most}`
  return {
    wants: `a whole number such as 21 or 0x15${limit}`,
    ordered: true,
    read(text) {
      if (!/^(0x[0-9a-f]+|\d+)$/i.test(text)) return undefined
      const wanted = typeof most === 'bigint' ? BigInt(text) : Number(text)
      if (wanted > most) return undefined
      return {
        equals: (have) => have === wanted,
        compare: (have) => ((have as number | bigint) < wanted ? -1 : have === wanted ? 0 : 1),
      }
    },
  }
}

const unitsNs: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }

/** @param unit what the packet's field is in, and a value without a unit */
export function duration(unit: 'ns' | 's'): ValueKind {
  return {
    wants: `a time such as 250us or 1.5ms (units ns, us, ms, s; without one: ${unit})`,
    ordered: true,
    read(text) {
      const match = /^(\d+(?:\.\d+)?(?:e[-+]?\d+)?)(ns|us|µs|ms|s)?$/i.exec(text)
      if (match === null) return undefined
      const wanted = (Number(match[1]) * unitsNs[(match[2] ?? unit).toLowerCase()]!) / unitsNs[unit]!
      return { equals: (have) => have === wanted, compare: (have) => (have as number) - wanted }
    },
  }
}

const truth: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', '1'].map((word) => [word, true] as const),
  ...['false', 'no', '0'].map((word) => [word, false] as const),
])

export const flag: ValueKind = {
  wants: 'true or false',
  ordered: false,
  read(text) {
    const wanted = truth.get(text.toLowerCase())
    return wanted === undefined ? undefined : { equals: (have) => have === wanted }
  },
}

/** One of the names, in any case, or what `also` describes. `list` is asked when it is needed. */
export function oneOf(list: () => readonly string[], also?: RegExp): ValueKind {
  let names: readonly string[] | undefined
  const lower = (): readonly string[] => {
    names ??= list().map((name) => name.toLowerCase())
    return names
  }
  return {
    get wants() {
      return `one of ${list().join(', ')}`
    },
    ordered: false,
    read(text) {
      const wanted = text.toLowerCase()
      if (!lower().includes(wanted) && also?.test(text) !== true) return undefined
      return { equals: (have) => String(have).toLowerCase() === wanted }
    },
    mayContain(text) {
      const part = text.toLowerCase()
      return lower().some((name) => name.includes(part)) || also?.test(text) === true
    },
  }
}

export const address: ValueKind = {
  wants: 'an address such as 10.0.0.7, fe80::1 or "LID 5", or a network such as 10.0.0.0/24',
  ordered: false,
  read(text) {
    const lid = /^lid (\d+)$/i.exec(text)
    if (lid !== null) return { equals: (have) => have === `LID ${Number(lid[1])}` }
    const [host = '', bits, ...rest] = text.split('/')
    const wanted = parseIp(host)
    if (wanted === undefined || rest.length > 0) return undefined
    if (bits === undefined) {
      const canonical = formatIp(wanted)
      return { equals: (have) => have === canonical }
    }
    const length = Number(bits)
    if (!/^\d+$/.test(bits) || length > wanted.length * 8) return undefined
    return { equals: (have) => isInNetwork(parseIp(String(have)), wanted, length) }
  },
  mayContain: (text) => /^([\da-f.:]+|lid( \d*)?)$/i.test(text),
}

function isInNetwork(have: Uint8Array | undefined, network: Uint8Array, bits: number): boolean {
  if (have?.length !== network.length) return false
  for (let at = 0; at * 8 < bits; at++) {
    const mask = 0xff00 >> Math.min(8, bits - at * 8)
    if (((have[at]! ^ network[at]!) & mask & 0xff) !== 0) return false
  }
  return true
}

export const service: ValueKind = oneOf(() => serviceNames.slice(0, 6))
export const tunnel: ValueKind = oneOf(() => tunnelNames.slice(1))
export const icrcState: ValueKind = oneOf(() => ['valid', 'invalid', 'unknown'])
export const cmType: ValueKind = oneOf(() => Object.keys(CmAttribute))
export const brokenRule: ValueKind = oneOf(() => problemRules.map(({ name }) => name))
export const operation: ValueKind = oneOf(operationNames, /^opcode 0x[\da-f]{1,2}$/i)

/** All that `operationText` can say of opcodes that exist. */
function operationNames(): string[] {
  const rows = opcodeTable
    .filter((info) => info !== undefined)
    .map(({ opcode, operation: does, place }) => ({ opcode, operation: does, place }) as Row)
  const messages = Object.keys(CmAttribute).map((type) => `CM ${type}`)
  return [...new Set(rows.map(operationText)), 'NAK', 'RNR NAK', ...messages, 'opcode 0x15']
}
