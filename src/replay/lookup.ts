/** Mappings as the data path looks them up: no allocation, and nothing to do for a kind that has none. */
import { isIpv4Gid, put32, u32 } from '../wire/index.ts'
import type { IpMapping, Mapping, MappingKind, NumberMapping, VaMapping } from './mappings.ts'

/** Numbers by number, and by the host to which they belong. */
export class NumberLookup {
  readonly empty: boolean
  readonly #all: NumberMapping | undefined
  readonly #byNumber = new Map<number, NumberMapping[]>()
  readonly #numbers: boolean

  constructor(mappings: readonly Mapping[], kind: MappingKind) {
    const own = mappings.filter((mapping): mapping is NumberMapping => mapping.kind === kind)
    this.empty = own.length === 0
    // The last one counts, as with all options.
    this.#all = own.findLast(({ from }) => from < 0)
    for (const mapping of own.toReversed()) {
      if (mapping.from < 0) continue
      const list = this.#byNumber.get(mapping.from)
      if (list === undefined) this.#byNumber.set(mapping.from, [mapping])
      // One for a host is asked before those for all hosts.
      else if (mapping.host === undefined) list.push(mapping)
      else list.unshift(mapping)
    }
    this.#numbers = this.#byNumber.size > 0
  }

  /**
   * What replaces the number, or is added to it; `none` if nothing does. The host's address is b[at, at + length); length 0: none
   * is known.
   */
  get(number: number, none: number, b: Uint8Array, at: number, length: number): number {
    const list = this.#numbers ? this.#byNumber.get(number) : undefined
    if (list !== undefined)
      for (const mapping of list)
        if (mapping.host === undefined || isHost(mapping.host, b, at, length)) {
          mapping.hits++
          return mapping.to
        }
    if (this.#all === undefined) return none
    this.#all.hits++
    return this.#all.to
  }
}

function isHost(host: Uint8Array, b: Uint8Array, at: number, length: number): boolean {
  if (host.length !== length) return false
  for (let i = 0; i < length; i++) if (host[i] !== b[at + i]) return false
  return true
}

/** Addresses of 4 and 16 bytes, and the GIDs of both. */
export class AddressLookup {
  readonly empty: boolean
  /** Those of whole IPv4 addresses, by the address. */
  readonly #exact = new Map<number, IpMapping>()
  readonly #networks4: readonly { mapping: IpMapping; mask: number; from: number; to: number }[]
  readonly #networks6: readonly IpMapping[]

  constructor(mappings: readonly Mapping[]) {
    const own = mappings.filter((mapping): mapping is IpMapping => mapping.kind === 'ip')
    this.empty = own.length === 0
    for (const mapping of own)
      if (mapping.bits === 32 && mapping.from.length === 4) this.#exact.set(u32(mapping.from, 0), mapping)
    // The longest prefix counts; of equal ones the last.
    const networks = own.toReversed().toSorted((a, b) => b.bits - a.bits)
    this.#networks4 = networks
      .filter(({ bits, from }) => from.length === 4 && bits < 32)
      .map((mapping) => {
        const mask = mapping.bits === 0 ? 0 : -1 << (32 - mapping.bits)
        return { mapping, mask, from: u32(mapping.from, 0) & mask, to: u32(mapping.to, 0) & mask }
      })
    this.#networks6 = networks.filter(({ from }) => from.length === 16)
  }

  /** Replaces the address at b[at, at + length). True if it is one of those to replace. */
  replace(b: Uint8Array, at: number, length: number): boolean {
    return length === 4 ? this.#replace4(b, at) : this.#replace6(b, at)
  }

  #replace4(b: Uint8Array, at: number): boolean {
    const address = u32(b, at)
    const exact = this.#exact.get(address)
    if (exact !== undefined) {
      exact.hits++
      put32(b, at, u32(exact.to, 0))
      return true
    }
    for (const { mapping, mask, from, to } of this.#networks4) {
      if ((address & mask) !== from) continue
      mapping.hits++
      put32(b, at, to | (address & ~mask))
      return true
    }
    return false
  }

  #replace6(b: Uint8Array, at: number): boolean {
    for (const mapping of this.#networks6) {
      if (!hasPrefix(b, at, mapping)) continue
      mapping.hits++
      for (let i = 0; i < 16; i++) {
        const keep = 0xff >> Math.min(8, Math.max(0, mapping.bits - 8 * i))
        b[at + i] = (mapping.to[i]! & ~keep) | (b[at + i]! & keep)
      }
      return true
    }
    return false
  }

  /** The GID at b[at, at + 16), which may be that of an IPv4 address. */
  replaceGid(b: Uint8Array, at: number): boolean {
    return isIpv4Gid(b.subarray(at, at + 16)) ? this.replace(b, at + 12, 4) : this.replace(b, at, 16)
  }
}

function hasPrefix(b: Uint8Array, at: number, { from, bits }: IpMapping): boolean {
  const bytes = bits >> 3
  for (let i = 0; i < bytes; i++) if (b[at + i] !== from[i]) return false
  const rest = 0xff00 >> (bits & 7)
  return (bits & 7) === 0 || ((b[at + bytes]! ^ from[bytes]!) & rest & 0xff) === 0
}

interface Range {
  readonly mapping: VaMapping
  readonly firstHigh: number
  readonly firstLow: number
  readonly lastHigh: number
  readonly lastLow: number
  /** To add, modulo 2^64. */
  readonly addHigh: number
  readonly addLow: number
}

const low32 = 0xffffffffn

/** Virtual addresses of 64 bits, as two words. */
export class VaLookup {
  readonly empty: boolean
  readonly #ranges: readonly Range[]

  constructor(mappings: readonly Mapping[]) {
    const own = mappings.filter((mapping): mapping is VaMapping => mapping.kind === 'va')
    this.empty = own.length === 0
    this.#ranges = own.toReversed().map((mapping) => {
      const add = BigInt.asUintN(64, mapping.to - mapping.first)
      return {
        mapping,
        firstHigh: Number(mapping.first >> 32n),
        firstLow: Number(mapping.first & low32),
        lastHigh: Number(mapping.last >> 32n),
        lastLow: Number(mapping.last & low32),
        addHigh: Number(add >> 32n),
        addLow: Number(add & low32),
      }
    })
  }

  replace(b: Uint8Array, at: number): boolean {
    const high = u32(b, at)
    const low = u32(b, at + 4)
    for (const range of this.#ranges) {
      if (high < range.firstHigh || (high === range.firstHigh && low < range.firstLow)) continue
      if (high > range.lastHigh || (high === range.lastHigh && low > range.lastLow)) continue
      range.mapping.hits++
      const sum = low + range.addLow
      put32(b, at, high + range.addHigh + (sum > 0xffffffff ? 1 : 0))
      put32(b, at + 4, sum)
      return true
    }
    return false
  }
}
