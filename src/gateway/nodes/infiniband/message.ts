/**
 * A sample as a message: three scatter/gather elements of its record, and in front of them the GRH of a message received by UD.
 *
 *     GRH         40 bytes, UD only: received, never sent
 *     sequence     8
 *     ts.origin   16
 *     data         8 for each value
 */
import { ScatterGather } from '../../../index.ts'
import { SampleField } from '../../index.ts'
import type { RegisteredSamples } from './registered.ts'

/** Bytes in front of the values. */
export const metaBytes = 24
const sequenceBytes = 8
const originBytes = 16
export const valueBytes = 8

/** Elements for a sample; `pointAt` fills in the addresses. */
export function elementsOf(memory: RegisteredSamples, dataBytes: number): ScatterGather[] {
  const { lkey } = memory
  return [sequenceBytes, originBytes, dataBytes].map((length) => new ScatterGather(0, length, lkey))
}

/** Points the last three elements at the record that begins at `word`. */
export function pointAt(list: ScatterGather[], memory: RegisteredSamples, word: number): void {
  const addr = memory.addr + word * 4
  const last = list.length - 1
  list[last - 2]!.addr = addr + SampleField.sequence * 4
  list[last - 1]!.addr = addr + SampleField.origin * 4
  list[last]!.addr = addr + SampleField.data * 4
}
