/**
 * Traces whose flows have sizes by Zipf's law, as those of networks nearly have: the flow of rank r is drawn with a probability in
 * proportion to r^−skew. The trace of a seed is the same on every platform.
 */
import { wholeNumber } from './error.ts'
import { Random, type SeedLike, seedFrom } from './seed.ts'

export interface ZipfOptions {
  /** Number of flows to draw from; those of high ranks may get no packet. */
  flows: number
  packets: number
  /** Skew: 0 is uniform; networks have 0.8 to 1.4. */
  skew: number
  /** Length of a key, at least 4 (default 13: two IPv4 addresses, two ports, a protocol). */
  keyBytes?: number
  /**
   * Number of hosts, of which some are in more flows than others (Zipf's law with the same skew): a key of at least 12 bytes then begins
   * with two of their addresses. Without it (the default), every part of a key is as different as the keys.
   */
  hosts?: number
  seed: SeedLike
}

export interface ZipfTrace {
  /** Keys of the packets, packed, for `updateMany`. */
  keys: Uint8Array
  /** Keys of the flows that have packets, packed, the flow of rank 1 first. */
  flowKeys: Uint8Array
  /** Number of packets of those flows, in the same order. */
  counts: Uint32Array
}

/** Returns a trace. Throws ERR_SKETCH_VALUE with the name of the option. */
export function zipfTrace(options: ZipfOptions): ZipfTrace {
  const flows = wholeNumber('flows', options.flows, 1, 2 ** 26)
  const packets = wholeNumber('packets', options.packets, 0, 2 ** 27)
  const keyBytes = wholeNumber('keyBytes', options.keyBytes ?? 13, 4, 256)
  const hosts = wholeNumber('hosts', options.hosts ?? 0, 0, keyBytes < 12 ? 0 : 2 ** 24)
  const random = new Random(seedFrom(options.seed))
  const drawFlow = zipf(flows, options.skew, random)
  const drawHost = zipf(hosts, options.skew, random)
  const all = new Uint8Array(flows * keyBytes)
  const view = new DataView(all.buffer)
  for (let flow = 0; flow < flows; flow++) {
    let at = flow * keyBytes
    const end = at + keyBytes
    if (hosts > 0)
      for (const last = at + 8; at < last; at += 4) view.setUint32(at, Math.imul(drawHost() + 1, 0x85ebca6b))
    // The rank makes keys different, and a multiplication by an odd number hides it; the other bytes are random.
    view.setUint32(at, Math.imul(flow + 1, 0x9e3779b1))
    for (at += 4; at < end; at++) all[at] = random.bits()
  }
  const counts = new Uint32Array(flows)
  const keys = new Uint8Array(packets * keyBytes)
  for (let packet = 0; packet < packets; packet++) {
    const flow = drawFlow()
    counts[flow]!++
    for (let i = 0; i < keyBytes; i++) keys[packet * keyBytes + i] = all[flow * keyBytes + i]!
  }
  const present = counts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0)
  const flowKeys = new Uint8Array(present * keyBytes)
  let at = 0
  for (let flow = 0; flow < flows; flow++)
    if (counts[flow]! > 0) flowKeys.set(all.subarray(flow * keyBytes, (flow + 1) * keyBytes), at++ * keyBytes)
  return { keys, flowKeys, counts: counts.filter((count) => count > 0) }
}

/** Draws ranks from 0 on, by Walker's alias method in the form of Vose (IEEE Transactions on Software Engineering 17, 1991). */
function zipf(ranks: number, skew: number, random: Random): () => number {
  const { share, alias } = aliasTable(Float64Array.from({ length: ranks }, (_, rank) => (rank + 1) ** -skew))
  return () => {
    const drawn = Math.floor(random.unit() * ranks)
    return random.unit() < share[drawn]! ? drawn : alias[drawn]!
  }
}

/** Returns for each entry its share of its cell, and the entry that has the rest of it. */
function aliasTable(weights: Float64Array): { share: Float64Array; alias: Int32Array } {
  const sum = weights.reduce((all, weight) => all + weight, 0)
  const share = weights.map((weight) => (weight / sum) * weights.length)
  const alias = new Int32Array(weights.length)
  const [small, large]: [number[], number[]] = [[], []]
  for (const [i, value] of share.entries()) (value < 1 ? small : large).push(i)
  while (small.length > 0 && large.length > 0) {
    const [less, more] = [small.pop()!, large.at(-1)!]
    alias[less] = more
    share[more] = share[more]! + share[less]! - 1
    if (share[more] < 1) small.push(large.pop()!)
  }
  // Entries that are left because of rounding get a whole cell.
  for (const i of [...small, ...large]) share[i] = 1
  return { share, alias }
}
