/**
 * Socket addresses in the memory of the C library: struct sockaddr_in and sockaddr_in6, and the table of those that a
 * socket sends to.
 *
 *     sockaddr_in    family u16 | port be16 | address 4 | zero 8                            16 bytes
 *     sockaddr_in6   family u16 | port be16 | flow info 4 | address 16 | scope id u32       28 bytes
 *
 * Both stand in slots of 32 bytes. An address is 4 bytes, or 16 in the form of a GID: IPv6, or IPv4 as ::ffff:a.b.c.d.
 */
import { errnos, NativeError } from './error.ts'
import { nativeScratch } from './libc.ts'

export const AF_INET = 2
export const AF_INET6 = 10
const sockaddrSlotBytes = 32

/** Destinations that one socket can have: 2 MiB of them. */
const maxDestinations = 65_536
const slotsPerChunk = 64

/** Words of a key: address, port, scope. Signed, so that none is ever too large for a small integer of V8. */
const keyWords = 6

/** ::ffff in the third word of a GID, as the machine (little-endian) reads it. */
const mappedWord = 0xffff0000 | 0

export function sockaddrBytes(family: 4 | 6): number {
  return family === 4 ? 16 : 28
}

/** True for the 12 bytes of ::ffff:0:0/96 in front of an IPv4 address. */
export function isMappedIpv4(address: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (address[i] !== 0) return false
  return address[10] === 0xff && address[11] === 0xff
}

/** 4 for an IPv4 address in either form, 6 for another of 16 bytes; throws EINVAL for any other length. */
export function familyOf(address: Uint8Array): 4 | 6 {
  if (address.length === 4) return 4
  if (address.length === 16) return isMappedIpv4(address) ? 4 : 6
  throw new NativeError('EINVAL', errnos.EINVAL, 'socket', `an address has 4 or 16 bytes, not ${address.length}`)
}

/** `127.0.0.1` or `fe80:0:0:0:0:0:0:1%2`, for messages. */
export function addressText(address: Uint8Array, scopeId = 0): string {
  if (familyOf(address) === 4) return address.subarray(-4).join('.')
  const groups: string[] = []
  for (let i = 0; i < 16; i += 2) groups.push(((address[i]! << 8) | address[i + 1]!).toString(16))
  const text = groups.join(':').replace(/(^|:)0(:0)+(:|$)/, '::')
  return scopeId === 0 ? text : `${text}%${scopeId}`
}

/** Writes the address at byte `at` of native memory. */
export function writeSockaddr(u8: Uint8Array, at: number, address: Uint8Array, port: number, scopeId: number): void {
  const family = familyOf(address)
  u8.fill(0, at, at + sockaddrSlotBytes)
  u8[at] = family === 4 ? AF_INET : AF_INET6
  u8[at + 2] = port >>> 8
  u8[at + 3] = port
  if (family === 4) {
    for (let i = 0; i < 4; i++) u8[at + 4 + i] = address[address.length - 4 + i]!
  } else {
    u8.set(address, at + 8)
    for (let i = 0; i < 4; i++) u8[at + 24 + i] = scopeId >>> (8 * i)
  }
}

/** Destinations of a socket: addresses by index, and the index of an address without allocation. */
export class Destinations {
  /** Addresses of the slots in native memory, as low and high word. */
  low: Uint32Array = new Uint32Array(16)
  high: Uint32Array = new Uint32Array(16)
  count = 0
  readonly #family: 4 | 6
  #keys = new Int32Array(16 * keyWords)
  /** Open addressing; index + 1, 0 for a free entry; its length is a power of two and at least twice the count. */
  #table = new Int32Array(64)
  readonly #key = new Int32Array(keyWords)
  readonly #keyBytes = new Uint8Array(this.#key.buffer)

  constructor(family: 4 | 6) {
    this.#family = family
  }

  /** The index of this destination. Throws EINVAL for an address of the other family, ENOBUFS when there are too many. */
  index(address: Uint8Array, port: number, scopeId: number): number {
    const key = this.#key
    if (address.length === 16) this.#keyBytes.set(address)
    else if (address.length === 4) {
      key[0] = 0
      key[1] = 0
      key[2] = mappedWord
      for (let i = 0; i < 4; i++) this.#keyBytes[12 + i] = address[i]!
    } else familyOf(address)
    key[4] = port
    key[5] = scopeId
    const mask = this.#table.length - 1
    let entry = hash(key) & mask
    for (; this.#table[entry] !== 0; entry = (entry + 1) & mask) {
      const index = this.#table[entry]! - 1
      if (this.#equals(index)) return index
    }
    return this.#add(entry, address, port, scopeId)
  }

  #equals(index: number): boolean {
    const key = this.#key
    const keys = this.#keys
    for (let i = 0; i < keyWords; i++) if (keys[index * keyWords + i] !== key[i]) return false
    return true
  }

  #add(entry: number, address: Uint8Array, port: number, scopeId: number): number {
    if (familyOf(address) !== this.#family)
      throw new NativeError(
        'EINVAL',
        errnos.EINVAL,
        'sendmsg',
        `${addressText(address)} cannot be reached from an IPv${this.#family} socket: use a device on an IPv${familyOf(address)} address`,
      )
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new NativeError('EINVAL', errnos.EINVAL, 'sendmsg', `a port is a number from 1 to 65535, not ${port}`)
    const index = this.count
    if (index === maxDestinations)
      throw new NativeError(
        'ENOBUFS',
        errnos.ENOBUFS,
        'sendmsg',
        `the socket has ${maxDestinations} destinations already: use another device for more`,
      )
    if (index % slotsPerChunk === 0) this.#addChunk(index)
    this.#keys.set(this.#key, index * keyWords)
    const chunk = this.#chunks[this.#chunks.length - 1]!
    writeSockaddr(chunk.u8, (index % slotsPerChunk) * sockaddrSlotBytes, address, port, scopeId)
    this.#table[entry] = index + 1
    this.count = index + 1
    if (this.count * 2 > this.#table.length) this.#rehash()
    return index
  }

  readonly #chunks: Chunk[] = []

  #addChunk(index: number): void {
    const chunk = freeChunks.pop() ?? nativeScratch(slotsPerChunk * sockaddrSlotBytes)
    this.#chunks.push(chunk)
    if (index + slotsPerChunk > this.low.length) {
      const size = Math.max(slotsPerChunk, this.low.length * 2)
      const [low, high, keys] = [this.low, this.high, this.#keys]
      this.low = new Uint32Array(size)
      this.low.set(low)
      this.high = new Uint32Array(size)
      this.high.set(high)
      this.#keys = new Int32Array(size * keyWords)
      this.#keys.set(keys)
    }
    for (let i = 0; i < slotsPerChunk; i++) {
      const address = chunk.address + i * sockaddrSlotBytes
      this.low[index + i] = address
      this.high[index + i] = Math.floor(address / 4294967296)
    }
  }

  #rehash(): void {
    const table = new Int32Array(this.#table.length * 2)
    const mask = table.length - 1
    for (let index = 0; index < this.count; index++) {
      let entry = hash(this.#keys.subarray(index * keyWords, (index + 1) * keyWords)) & mask
      while (table[entry] !== 0) entry = (entry + 1) & mask
      table[entry] = index + 1
    }
    this.#table = table
  }

  /** Gives the native memory to the next socket of this thread. */
  release(): void {
    freeChunks.push(...this.#chunks.splice(0))
    this.count = 0
    this.#table = new Int32Array(64)
  }
}

type Chunk = ReturnType<typeof nativeScratch>
const freeChunks: Chunk[] = []

function hash(key: Int32Array): number {
  let h = 0x1e3779b9
  for (let i = 0; i < keyWords; i++) {
    h = Math.imul(h ^ key[i]!, 0x25ebca6b)
    h ^= h >>> 15
  }
  return h
}
