/**
 * Mappings in the form in which the data path looks them up: no allocation, and no work for a kind without mappings.
 */
import { isIpv4Gid, put16, put32, u16, u32 } from '../wire/index.ts'
import type { IpMapping, Mapping, MappingKind, NumberMapping, VaMapping } from './mappings.ts'

/** Finds words among known ones: a table with open addressing, a few nanoseconds where a Map takes twenty. */
class Words {
  readonly #keys: Int32Array
  /** Index of the word; −1: the entry is empty. */
  readonly #places: Int32Array
  readonly #shift: number
  readonly #mask: number

  constructor(words: Iterable<number>) {
    const all = [...words]
    const bits = Math.max(2, Math.ceil(Math.log2(all.length + 1)) + 1)
    this.#shift = 32 - bits
    this.#mask = 2 ** bits - 1
    this.#keys = new Int32Array(2 ** bits)
    this.#places = new Int32Array(2 ** bits).fill(-1)
    for (const [place, word] of all.entries()) {
      let at = Math.imul(word, spread) >>> this.#shift
      while (this.#places[at]! >= 0) at = (at + 1) & this.#mask
      this.#keys[at] = word
      this.#places[at] = place
    }
  }

  /** Returns the index of the word; −1: not found. Only the lower 32 bits are compared. */
  find(word: number): number {
    const key = word | 0
    let at = Math.imul(key, spread) >>> this.#shift
    for (;;) {
      const place = this.#places[at]!
      if (place < 0 || this.#keys[at] === key) return place
      at = (at + 1) & this.#mask
    }
  }
}

/** 2^32 divided by the golden ratio: it spreads neighbouring words far apart. */
const spread = 0x9e3779b1 | 0

/** Returns the mappings by word, the last one first: the last mapping takes precedence, as with all options. */
function byWord<T>(own: readonly T[], wordOf: (mapping: T) => number): Map<number, T[]> {
  const lists = new Map<number, T[]>()
  for (const mapping of own.toReversed()) {
    const word = wordOf(mapping) | 0
    lists.set(word, [...(lists.get(word) ?? []), mapping])
  }
  return lists
}

/** Lookup of numbers, by number and by the host to which they belong. */
export class NumberLookup {
  readonly empty: boolean
  readonly #all: NumberMapping | undefined
  readonly #words: Words
  readonly #lists: readonly NumberMapping[][]
  readonly #numbers: boolean

  constructor(mappings: readonly Mapping[], kind: MappingKind) {
    const own = mappings.filter((mapping): mapping is NumberMapping => mapping.kind === kind)
    this.empty = own.length === 0
    this.#all = own.findLast(({ from }) => from < 0)
    const single = own.filter(({ from }) => from >= 0)
    const lists = byWord(single, ({ from }) => from)
    this.#words = new Words(lists.keys())
    // A mapping for one host takes precedence over those for all hosts.
    const rank = ({ host }: NumberMapping): number => (host === undefined ? 1 : 0)
    this.#lists = [...lists.values()].map((list) => list.toSorted((a, b) => rank(a) - rank(b)))
    this.#numbers = single.length > 0
  }

  /**
   * Returns the replacement of the number, or the value to add to it; `none` if there is no mapping. The host's address is
   * b[at, at + length); length 0: the address is not known.
   */
  get(number: number, none: number, b: Uint8Array, at: number, length: number): number {
    const place = this.#numbers && number >= 0 ? this.#words.find(number) : -1
    if (place >= 0)
      for (const mapping of this.#lists[place]!)
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

interface MacEntry {
  readonly mapping: NumberMapping
  /** First two bytes of the captured address; `high` and `low` are the first two and the last four bytes of the new one. */
  readonly from: number
  readonly high: number
  readonly low: number
}

/** Lookup of Ethernet addresses. */
export class MacLookup {
  readonly empty: boolean
  /** Index by the last four bytes. */
  readonly #words: Words
  readonly #lists: readonly MacEntry[][]

  constructor(mappings: readonly Mapping[]) {
    const own = mappings.filter((mapping): mapping is NumberMapping => mapping.kind === 'mac')
    this.empty = own.length === 0
    const lists = byWord(own, ({ from }) => from)
    this.#words = new Words(lists.keys())
    const high = (mac: number): number => Math.floor(mac / 2 ** 32)
    this.#lists = [...lists.values()].map((list) =>
      list.map((mapping) => ({ mapping, from: high(mapping.from), high: high(mapping.to), low: mapping.to | 0 })),
    )
  }

  /** Replaces the address at b[at, at + 6). Returns true if it has a mapping. */
  replace(b: Uint8Array, at: number): boolean {
    const place = this.#words.find(u32(b, at + 2))
    if (place < 0) return false
    const first = u16(b, at)
    for (const { mapping, from, high, low } of this.#lists[place]!) {
      if (from !== first) continue
      mapping.hits++
      put16(b, at, high)
      put32(b, at + 2, low)
      return true
    }
    return false
  }
}

/** Lookup of addresses of 4 and 16 bytes, and the GIDs of both. */
export class AddressLookup {
  readonly empty: boolean
  /** Index of mappings of whole IPv4 addresses. */
  readonly #words: Words
  readonly #exact: readonly IpMapping[]
  readonly #networks4: readonly IpMapping[]
  /** Mask, old and new network of each of these mappings. */
  readonly #words4: Int32Array
  readonly #networks6: readonly IpMapping[]

  constructor(mappings: readonly Mapping[]) {
    const own = mappings.filter((mapping): mapping is IpMapping => mapping.kind === 'ip')
    this.empty = own.length === 0
    const exact = byWord(
      own.filter(({ bits, from }) => bits === 32 && from.length === 4),
      ({ from }) => u32(from, 0),
    )
    this.#words = new Words(exact.keys())
    this.#exact = [...exact.values()].map(([last]) => last!)
    // The longest prefix takes precedence; of equal ones the last.
    const networks = own.toReversed().toSorted((a, b) => b.bits - a.bits)
    this.#networks4 = networks.filter(({ bits, from }) => from.length === 4 && bits < 32)
    this.#words4 = Int32Array.from(
      this.#networks4.flatMap(({ bits, from, to }) => {
        const mask = bits === 0 ? 0 : -1 << (32 - bits)
        return [mask, u32(from, 0) & mask, u32(to, 0) & mask]
      }),
    )
    this.#networks6 = networks.filter(({ from }) => from.length === 16)
  }

  /** Replaces the address at b[at, at + length). Returns true if it has a mapping. */
  replace(b: Uint8Array, at: number, length: number): boolean {
    return length === 4 ? this.#replace4(b, at) : this.#replace6(b, at)
  }

  #replace4(b: Uint8Array, at: number): boolean {
    const address = u32(b, at) | 0
    const place = this.#words.find(address)
    if (place >= 0) {
      const exact = this.#exact[place]!
      exact.hits++
      put32(b, at, u32(exact.to, 0))
      return true
    }
    const words = this.#words4
    for (let i = 0; i < words.length; i += 3) {
      const mask = words[i]!
      if ((address & mask) !== words[i + 1]) continue
      this.#networks4[i / 3]!.hits++
      put32(b, at, words[i + 2]! | (address & ~mask))
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

  /** Replaces the GID at b[at, at + 16), which may be that of an IPv4 address. */
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
  /** Offset to add, modulo 2^64. */
  readonly addHigh: number
  readonly addLow: number
}

const low32 = 0xffffffffn

/** Lookup of virtual addresses of 64 bits, as two words. */
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
