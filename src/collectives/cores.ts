/** Whether the ranks of a host are more than the cores that they share: they tell each other which these are. */
import { availableParallelism } from 'node:os'
import { currentCores } from '../memory/index.ts'

/** What a rank tells: how many threads run at once where it is (4 bytes), and a bit for each core that it may run on, the lowest first. */
const countBytes = 4
const maskBytes = 128
export const coresBytes: number = countBytes + maskBytes

/** `address` and behind it the cores of the calling thread: no bit is set where they are unknown. */
export function withCores(address: Uint8Array): Uint8Array {
  const both = new Uint8Array(address.length + coresBytes)
  both.set(address)
  both.set(describeCores(currentCores(), availableParallelism()), address.length)
  return both
}

/** Cores beyond those that have a bit are left out. */
export function describeCores(cores: readonly number[], count: number): Uint8Array {
  const told = new Uint8Array(coresBytes)
  new DataView(told.buffer).setUint32(0, count)
  for (const core of cores) if (core < maskBytes * 8) told[countBytes + (core >> 3)]! |= 1 << (core & 7)
  return told
}

/**
 * `told`: `coresBytes` of each rank of one host. A launcher may have bound each of them to other cores, so their union counts. Where a
 * rank's cores are unknown, the number of its threads stands for them; where this is less than its cores (a container's share of the
 * processors' time), the host has no more for all.
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
