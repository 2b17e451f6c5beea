/** Values with which the fields of a filter can be compared. A value that no packet can have is an error, not a silent mismatch. */
import {
  CmAttribute,
  formatIp,
  madName,
  type OpcodeInfo,
  opcodeTable,
  parseGid,
  parseIp,
  syndromeText,
} from '../wire/index.ts'
import { operationText } from './describe.ts'
import { kindNames } from './dissect.ts'
import { serviceNames } from './flow.ts'
import { problemRules } from './problems.ts'
import { hexOf, type Row } from './row.ts'
import { tunnelNames } from './tunnels.ts'

type Epoch = NonNullable<Row['epoch']>

export type Value = string | number | bigint | boolean | Uint8Array | Epoch | undefined

/** Predicate: true if the value of a packet matches. */
export type Test = (have: Value) => boolean

/** Comparison of a packet's value with the value of the filter. */
interface Wanted {
  equals: Test
  /** Returns a number below zero if the packet's value is lower. Absent for kinds without an order. */
  compare?(have: Value): number
}

export interface ValueKind {
  /** Text that completes "… is wanted". */
  wants: string
  ordered: boolean
  /** Returns the comparison with the value; undefined if no packet can have such a value. */
  read(text: string): Wanted | undefined
  /** Returns the test for the operator `~`; undefined if no value can contain this. Without this method, the operator has no meaning. */
  contains?(part: string): Test | undefined
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

/** @param unit unit of the packet's field, and of a value without a unit */
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

/** Units of sizes in bytes: powers of 1024, as RDMA tools have them, unless the unit is a decimal one. */
const unitsBytes: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ...[...'kmg'].flatMap((letter, i) => [
    [letter, 1024 ** (i + 1)] as const,
    [`${letter}i`, 1024 ** (i + 1)] as const,
    [`${letter}ib`, 1024 ** (i + 1)] as const,
    [`${letter}b`, 1000 ** (i + 1)] as const,
  ]),
])

/** Returns the kind of sizes in bytes. @param most the largest value that the packet's field can hold */
export function size(most: number = Number.MAX_SAFE_INTEGER): ValueKind {
  const limit = most === Number.MAX_SAFE_INTEGER ? '' : `, at most ${most}`
  return {
    wants: `a number of bytes such as 4096, 0x1000, 4k, 4KiB or 4kB (1000)${limit}`,
    ordered: true,
    read(text) {
      const match = /^(?:(0x[\da-f]+)|(\d+(?:\.\d+)?)([a-z]*))$/i.exec(text)
      const unit = unitsBytes.get((match?.[3] ?? '').toLowerCase())
      if (match === null || unit === undefined) return undefined
      const wanted = Number(match[1] ?? match[2]) * unit
      if (!Number.isInteger(wanted) || wanted > most) return undefined
      return { equals: (have) => have === wanted, compare: (have) => (have as number) - wanted }
    },
  }
}

/** Returns the digits of a fraction of a second as nanoseconds. */
function fraction(digits = ''): number {
  return Number(digits.slice(0, 9).padEnd(9, '0'))
}

/** Kind of absolute times: seconds since 1970, or a date. */
export const moment: ValueKind = {
  wants: 'a date such as 2026-11-21, 2026-11-21T04:29:46.5Z (UTC; without Z: local time), or seconds since 1970',
  ordered: true,
  read(text) {
    const number = /^(\d+)(?:\.(\d+))?$/.exec(text)
    const date = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[-+]\d\d:\d\d)?)?$/i.exec(text)
    let wanted: Epoch
    if (number !== null) wanted = { seconds: Number(number[1]), nanoseconds: fraction(number[2]) }
    else if (date !== null) {
      const [, day, time = '00:00', digits, zone = ''] = date
      const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`)
      if (Number.isNaN(ms)) return undefined
      wanted = { seconds: ms / 1000, nanoseconds: fraction(digits) }
    } else return undefined
    const compare = (have: Value): number => {
      const { seconds, nanoseconds } = have as Epoch
      return seconds - wanted.seconds || nanoseconds - wanted.nanoseconds
    }
    return { equals: (have) => compare(have) === 0, compare }
  },
}

/** Returns the kind of byte strings: private data and GIDs. @param most number of bytes of the packet's field */
export function byteString(most: number): ValueKind {
  const digits = (text: string): string | undefined => {
    const plain = text.toLowerCase().replace(/^0x/, '').replaceAll(/[:-]/g, '')
    return /^([\da-f]{2})+$/.test(plain) && plain.length <= 2 * most ? plain : undefined
  }
  return {
    wants: `${most === 16 ? 'a GID such as fe80::1, or ' : ''}hexadecimal digits, two for each of at most ${most} bytes,`,
    ordered: false,
    read(text) {
      const gid = most === 16 ? parseGid(text) : undefined
      const wanted = gid === undefined ? digits(text) : hexOf(gid)
      return wanted === undefined ? undefined : { equals: (have) => hexOf(have as Uint8Array) === wanted }
    },
    contains(text) {
      const part = digits(text)
      if (part === undefined) return undefined
      return (have) => {
        const all = hexOf(have as Uint8Array)
        let at = all.indexOf(part)
        // A match does not begin in the middle of a byte.
        while (at % 2 === 1) at = all.indexOf(part, at + 1)
        return at >= 0
      }
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

/** @param part in lower case */
function has(part: string): Test {
  return (have) => String(have).toLowerCase().includes(part)
}

/** Returns the kind that accepts one of the names, in any case, or text that `also` matches. `list` is called when it is needed. */
function oneOf(list: () => readonly string[], also?: RegExp): ValueKind {
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
    contains(text) {
      const part = text.toLowerCase()
      return lower().some((name) => name.includes(part)) || also?.test(text) === true ? has(part) : undefined
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
  contains: (text) => (/^([\da-f.:]+|lid( \d*)?)$/i.test(text) ? has(text.toLowerCase()) : undefined),
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
export const packetKind: ValueKind = oneOf(() => kindNames)
export const place: ValueKind = oneOf(() => [...new Set(opcodes().map((info) => info.place))])
/** Kind of operation names without the place in the message. */
export const verb: ValueKind = oneOf(() => [...new Set(opcodes().map((info) => info.operation))])
export const answer: ValueKind = oneOf(() => [...new Set(Array.from({ length: 256 }, (_, code) => syndromeText(code)))])
export const icrcState: ValueKind = oneOf(() => ['valid', 'invalid', 'unknown'])
export const cmType: ValueKind = oneOf(() => Object.keys(CmAttribute))
export const brokenRule: ValueKind = oneOf(() => problemRules.map(({ name }) => name))
/** Kind of names of management datagrams: any text may be part of one. */
export const madText: ValueKind = oneOf(() => [madName(1, 1, 0x20)], /^\w+(\(\w*\)?)?$/)
export const operation: ValueKind = oneOf(operationNames, /^((vendor )?opcode 0x[\da-f]{1,2}|\w+\(\w+\))$/i)

/** Returns all texts that `operationText` can return for opcodes that exist. */
function operationNames(): string[] {
  const rows = opcodes().map(
    ({ opcode, operation: does, place: at }) => ({ opcode, operation: does, place: at }) as Row,
  )
  const messages = Object.keys(CmAttribute).map((type) => `CM ${type}`)
  return [...new Set(rows.map(operationText)), 'NAK', 'RNR NAK', ...messages, 'opcode 0x15']
}

function opcodes(): OpcodeInfo[] {
  return opcodeTable.filter((info) => info !== undefined)
}
