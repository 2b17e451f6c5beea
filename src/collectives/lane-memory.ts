/**
 * Memory of a lane at its rank:
 *
 *     slots     messages of the peer
 *     notice    32 bytes, from which this rank sends the locations and destinations of transfers; then the proof
 *     boxes     short messages of the peer, if it has the same memory
 */
import { dataSlots } from './arrived.ts'
import { Boxes, type BoxPlace } from './boxes.ts'
import type { Memory, Range, Region } from './memory.ts'
import { readyBytes } from './readies.ts'

/** Number of slots, more than `dataSlots`: messages that only return slots need one for each half of `dataSlots` that was used. */
export const slots: number = dataSlots + 8
const noticeBytes = 64
/** Bytes from the beginning of the proof to the boxes. */
const proofBefore: number = noticeBytes - readyBytes
const proofBytes = 16

export function laneBytes(slotBytes: number): number {
  return slots * slotBytes + noticeBytes + Boxes.bytes
}

export interface LaneMemory {
  /** Location of the slots: offset in the buffer, address, key. */
  at: number
  addr: number
  lkey: number
  notice: Range
  /** Random bytes that the peer finds at the same place if it has the same memory. */
  proof: Uint8Array
  boxes: BoxPlace
}

/** Returns the layout of `laneBytes` bytes that begin `offset` bytes into `region`. */
export function laneMemory({ bytes, mr }: Region, offset: number, slotBytes: number): LaneMemory {
  const { addr, lkey, rkey } = mr
  const notice = offset + slots * slotBytes
  const boxes = notice + noticeBytes
  return {
    ...{ at: bytes.byteOffset + offset, addr: addr + offset, lkey },
    notice: { at: bytes.byteOffset + notice, addr: addr + notice, lkey, rkey: 0, bytes: readyBytes },
    proof: bytes.subarray(boxes - proofBefore, boxes - proofBefore + proofBytes),
    boxes: { at: bytes.byteOffset + boxes, addr: addr + boxes, rkey },
  }
}

/** Returns the location of a peer's `proof` if all memory is common and the peer's boxes are at `at`; null if they cannot be there. */
export function proofAt({ u8 }: Memory, at: number): Uint8Array | null {
  if (!Number.isInteger(at / 8) || at < proofBefore || at + Boxes.bytes > u8.length) return null
  return u8.subarray(at - proofBefore, at - proofBefore + proofBytes)
}
