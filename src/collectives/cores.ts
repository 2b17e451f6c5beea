/** Detection of a host with more ranks than cores that they share: the ranks exchange the sets of their cores. */
import { availableParallelism } from 'node:os'
import { currentCores } from '../memory/index.ts'

/**
 * Layout of a rank's report: number of threads that can run at once where the rank is (4 bytes), and a bit for each core that the rank may
 * run on, the lowest first.
 */
const countBytes = 4
const maskBytes = 128
export const coresBytes: number = countBytes + maskBytes

/** Returns `address` followed by the cores of the calling thread: no bit is set if they are unknown. */
export function withCores(address: Uint8Array): Uint8Array {
  const both = new Uint8Array(address.length + coresBytes)
  both.set(address)
  both.set(describeCores(currentCores(), availableParallelism()), address.length)
  return both
}

/** Returns the report of a rank; cores beyond those that have a bit are left out. */
export function describeCores(cores: readonly number[], count: number): Uint8Array {
  const told = new Uint8Array(coresBytes)
  new DataView(told.buffer).setUint32(0, count)
  for (const core of cores) if (core < maskBytes * 8) told[countBytes + (core >> 3)]! |= 1 << (core & 7)
  return told
}

/**
 * Returns true if the ranks of a host outnumber their cores. `told`: `coresBytes` of each rank of the host. A launcher may have bound each
 * rank to other cores, so their union counts. For a rank with unknown cores, the number of its threads is used instead; if this number is
 * less than its cores (a container's share of the processors' time), it is the limit for all ranks of the host.
 */
export function areCrowded(told: readonly Uint8Array[]): boolean {
  const union = new Uint8Array(maskBytes)
  let available = 0
  let share = Number.POSITIVE_INFINITY
  for (const bytes of told) {
    const count = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(0)
    const mask = bytes.subarray(countBytes)
    const cores = bitsOf(mask)
    if (cores === 0) available = Math.max(available, count)
    else if (count < cores) share = Math.min(share, count)
    for (const [i, bits] of mask.entries()) union[i]! |= bits
  }
  return told.length > Math.min(Math.max(available, bitsOf(union)), share)
}

function bitsOf(mask: Uint8Array): number {
  let count = 0
  for (const byte of mask) for (let bits = byte; bits !== 0; bits &= bits - 1) count++
  return count
}
