/**
 * Anonymised captures, without the data that identifies hosts and without their payload: addresses and keys are mapped with a secret key,
 * each always to the same one, so that flows, connections and memory regions stay distinct; payload is replaced with zeros. The fields that
 * the analysis needs stay: QP numbers, PSNs, lengths, opcodes, times.
 *
 *     MAC, LID            mapped one to one; multicast stays multicast
 *     IP, GID             mapped with prefixes: two addresses that share n bits share n bits afterwards
 *     P_Key, Q_Key, R_Key mapped one to one; the default P_Key and the Q_Key of QP1 stay
 *     virtual addresses   moved by whole pages, each region (R_Key) by as many as all its addresses
 *     payload, immediate and atomic operands    zeros, in management datagrams too
 *
 * The ICRC is recomputed where the packet was captured whole, and stays wrong where it was wrong before.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import {
  AtomicAckEth,
  Bth,
  Ethernet,
  ImmDt,
  Lrh,
  opcodeTable,
  put16,
  put32,
  put32le,
  Udp,
  u16,
  u32,
} from '../wire/index.ts'
import { computeIcrc, type Dissection, IcrcState, Kind } from './dissect.ts'
import { addressLength, putIpv4Sum, putVcrc, sourceAt, transportPlaces, udpSum } from './places.ts'
import { Tunnel } from './tunnels.ts'

/** Keyed pseudorandom function: returns at least 16 bytes, which cannot be distinguished from random ones without the key. */
export type KeyedHash = (purpose: string, input: Uint8Array) => Uint8Array

const mostRemembered = 1 << 20
const pageShift = 12n
const defaultPkey = 0x7fff
const gsiQkey = 0x8001_0000
const firstMulticastLid = 0xc000

export class Anonymiser {
  readonly #hash: KeyedHash
  /** Cache of computed values, bounded: a value that was evicted is recomputed, to the same result. */
  readonly #remembered = new Map<string, Uint8Array>()

  constructor(hash: KeyedHash) {
    this.#hash = hash
  }

  /**
   * Anonymises the packet's bytes; `d` is its dissection, ICRC included. Returns false if not every address in the packet is known here (no
   * RDMA, in a tunnel, a link type with addresses of its own): the packet has to be left out then.
   */
  apply(packet: CapturedPacket, d: Dissection): boolean {
    const { bytes: b, offset, length, linkType } = packet
    if (d.kind === Kind.Other || d.tunnel !== Tunnel.None) return false
    const captured = offset + length
    if (linkType === LinkType.Ethernet) {
      this.#mac(b, offset + Ethernet.destination)
      this.#mac(b, offset + Ethernet.source)
    } else if (!bareLinkTypes.has(linkType)) return false
    if (d.kind === Kind.InfiniBand) {
      if (captured - d.lrh < Lrh.length) return false
      for (const at of [d.lrh + Lrh.dlid, d.lrh + Lrh.slid]) put16(b, at, this.lid(u16(b, at)))
    }
    const size = addressLength(d)
    if (size > 0) for (const at of [sourceAt(d), sourceAt(d) + size]) this.#ip(b, at, size, captured)
    this.#transport(b, d, captured)
    this.#checksums(b, d, captured)
    return true
  }

  /** Returns the replacement of an IP address (4 or 16 bytes), a GID (16), a MAC address (6) or a GUID (8), as in packets. */
  address(address: Uint8Array): Uint8Array {
    const { length } = address
    if (length === 8) return this.#map('guid', address).slice(0, length)
    const mapped = Uint8Array.from(address)
    if (length === 6) this.#mac(mapped, 0)
    else this.#ip(mapped, 0, length, length)
    return mapped
  }

  /** Returns the replacement of a LID, as in packets. */
  lid(lid: number): number {
    if (lid === 0 || lid >= firstMulticastLid) return lid
    let mapped = lid
    // A permutation of 16 bits, iterated until the result is a unicast LID again, is a permutation of the unicast LIDs.
    do mapped = this.#feistel('lid', mapped, 16)
    while (mapped === 0 || mapped >= firstMulticastLid)
    return mapped
  }

  #transport(b: Uint8Array, d: Dissection, captured: number): void {
    const end = d.end < 0 ? captured : Math.min(d.end, captured)
    if (captured - d.bth < Bth.length) {
      b.fill(0, Math.min(d.bth, captured), captured)
      return
    }
    this.#pkey(b, d.bth + Bth.pkey)
    if (!d.complete || opcodeTable[d.opcode] === undefined) {
      b.fill(0, d.bth + Bth.length, Math.max(end, d.bth + Bth.length))
      return
    }
    const { bth } = d
    const { qkey, va, rkey, operands, invalidated, immediate, original } = transportPlaces[d.opcode]!
    if (qkey >= 0) this.#qkey(b, bth + qkey)
    if (va >= 0) this.#memory(b, bth + va, bth + rkey)
    if (invalidated >= 0) put32(b, bth + invalidated, this.#word('rkey', u32(b, bth + invalidated)))
    if (operands >= 0) b.fill(0, bth + operands, bth + operands + 16)
    if (original >= 0) b.fill(0, bth + original, bth + original + AtomicAckEth.length)
    if (immediate >= 0) b.fill(0, bth + immediate, bth + immediate + ImmDt.length)
    if (end > d.payload) b.fill(0, d.payload, end)
  }

  #checksums(b: Uint8Array, d: Dissection, captured: number): void {
    if (d.ipVersion === 4 && d.kind === Kind.RoceV2) putIpv4Sum(b, d)
    if (d.icrc !== IcrcState.Unknown) {
      const icrc = computeIcrc(b, d)
      put32le(b, d.end, d.icrc === IcrcState.Valid ? icrc : ~icrc >>> 0)
      // A checksum that cannot be recomputed would still reveal information about the original bytes.
    } else if (d.authenticated && d.end > 0 && d.end + 4 <= captured) b.fill(0, d.end, d.end + 4)
    if (d.kind === Kind.RoceV2 && captured - d.udp >= Udp.length && u16(b, d.udp + Udp.checksum) !== 0) {
      const whole = d.end > 0 && d.end + 4 <= captured
      put16(b, d.udp + Udp.checksum, whole ? udpSum(b, d) : 0)
    }
    if (d.kind === Kind.InfiniBand && d.end > 0 && d.end + 6 <= captured) putVcrc(b, d)
  }

  /** Replaces a MAC address with a locally administered one; IP multicast groups keep their prefix, and broadcast stays broadcast. */
  #mac(b: Uint8Array, at: number): void {
    const mac = b.slice(at, at + 6)
    if (mac.every((byte) => byte === 0xff) || mac.every((byte) => byte === 0)) return
    const ipGroup = (mac[0] === 0x33 && mac[1] === 0x33) || (mac[0] === 1 && mac[1] === 0 && mac[2] === 0x5e)
    if (ipGroup) {
      b.set(this.#map('group', mac).subarray(0, 3), at + 3)
      if (mac[0] === 1) b[at + 3]! &= 0x7f
      return
    }
    b.set(this.#map('mac', mac).subarray(0, 6), at)
    b[at] = (b[at]! & 0xfc) | 2 | (mac[0]! & 1)
  }

  /**
   * Replaces an IP address; multicast, loopback and link-local prefixes stay, and an IPv4 address inside an IPv6 one is mapped as outside.
   */
  #ip(b: Uint8Array, at: number, size: number, captured: number): void {
    if (at + size > captured) {
      b.fill(0, Math.min(at, captured), captured)
      return
    }
    const address = b.slice(at, at + size)
    if (address.every((byte) => byte === 0)) return
    if (size === 16 && isMapped(address)) {
      b.set(this.#prefixes('ip4', address.subarray(12), specialBits4(address.subarray(12))), at + 12)
      return
    }
    const kept = size === 4 ? specialBits4(address) : specialBits6(address)
    b.set(this.#prefixes(size === 4 ? 'ip4' : 'ip6', address, kept), at)
  }

  /** Flips each bit or not depending on the bits before it; the first `kept` bits stay. */
  #prefixes(purpose: string, address: Uint8Array, kept: number): Uint8Array {
    const known = this.#remembered.get(keyOf(purpose, address))
    if (known !== undefined) return known
    const result = address.slice()
    const prefix = new Uint8Array(address.length + 1)
    for (let bit = kept; bit < address.length * 8; bit++) {
      const [byte, mask] = [bit >> 3, 0x80 >> (bit & 7)]
      prefix.fill(0)
      prefix.set(address.subarray(0, byte))
      prefix[byte] = address[byte]! & ~(2 * mask - 1)
      prefix[address.length] = bit
      if ((this.#hash(purpose, prefix)[0]! & 1) === 1) result[byte]! ^= mask
    }
    return this.#remember(keyOf(purpose, address), result)
  }

  /** Replaces a P_Key; the membership bit stays. */
  #pkey(b: Uint8Array, at: number): void {
    const pkey = u16(b, at)
    const low = pkey & 0x7fff
    if (low === defaultPkey || low === 0) return
    let mapped = low
    do mapped = this.#feistel('pkey', mapped, 16)
    while (mapped === 0 || mapped >= defaultPkey)
    put16(b, at, (pkey & 0x8000) | mapped)
  }

  #qkey(b: Uint8Array, at: number): void {
    const qkey = u32(b, at)
    if (qkey !== gsiQkey) put32(b, at, this.#word('qkey', qkey))
  }

  /** Moves a virtual address: the whole region is moved by a number of pages that depends on its key. */
  #memory(b: Uint8Array, va: number, rkey: number): void {
    const view = new DataView(b.buffer, b.byteOffset)
    const by = this.#map('va', b.slice(rkey, rkey + 4))
    const pages = new DataView(by.buffer, by.byteOffset).getBigUint64(0) & 0xf_ffff_ffffn
    view.setBigUint64(va, BigInt.asUintN(64, view.getBigUint64(va) + (pages << pageShift)))
    put32(b, rkey, this.#word('rkey', u32(b, rkey)))
  }

  #word(purpose: string, value: number): number {
    return this.#feistel(purpose, value, 32)
  }

  /** Permutes the numbers of `bits` bits, in four Feistel rounds. */
  #feistel(purpose: string, value: number, bits: 16 | 32): number {
    const half = bits / 2
    const mask = 2 ** half - 1
    let [left, right] = [Math.floor(value / 2 ** half) & mask, value & mask]
    for (let round = 0; round < 4; round++) {
      const mixed = u16(this.#map(`${purpose} ${round}`, Uint8Array.of(right >> 8, right)), 0) & mask
      ;[left, right] = [right, left ^ mixed]
    }
    return left * 2 ** half + right
  }

  #map(purpose: string, input: Uint8Array): Uint8Array {
    const key = keyOf(purpose, input)
    return this.#remembered.get(key) ?? this.#remember(key, this.#hash(purpose, input))
  }

  #remember(key: string, value: Uint8Array): Uint8Array {
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
    this.#remembered.set(key, value)
    return value
  }
}

/** Link types that have no addresses of their own before the network packet. */
const bareLinkTypes: ReadonlySet<number> = new Set([
  ...[LinkType.Raw, LinkType.RawBsd, LinkType.RawOpenBsd, LinkType.Ipv4, LinkType.Ipv6, LinkType.Null, LinkType.Loop],
  LinkType.InfiniBand,
])

function keyOf(purpose: string, bytes: Uint8Array): string {
  return `${purpose} ${bytes.join('.')}`
}

function isMapped(address: Uint8Array): boolean {
  return address.subarray(0, 10).every((byte) => byte === 0) && address[10] === 0xff && address[11] === 0xff
}

/** Returns the number of leading bits of an address that indicate its kind: 224/4 multicast, 127/8 loopback, 169.254/16 link-local. */
function specialBits4(address: Uint8Array): number {
  if (address[0]! >> 4 === 14) return 4
  if (address[0] === 127) return 8
  return address[0] === 169 && address[1] === 254 ? 16 : 0
}

/** Returns the same for IPv6: ff00::/16 with flags and scope, fe80::/64, ::1. */
function specialBits6(address: Uint8Array): number {
  if (address[0] === 0xff) return 16
  if (address[0] === 0xfe && address[1] === 0x80) return 64
  return address.subarray(0, 15).every((byte) => byte === 0) && address[15] === 1 ? 128 : 0
}
