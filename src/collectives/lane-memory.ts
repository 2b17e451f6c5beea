/**
 * What a lane has in the memory of its rank:
 *
 *     slots     what the peer sends
 *     notice    32 bytes, from which this rank sends where transfers are and shall go; then the proof
 *     boxes     short messages of the peer, where it has the same memory
 */
import { dataSlots } from './arrived.ts'
import { Boxes, type BoxPlace } from './boxes.ts'
import type { Memory, Range, Region } from './memory.ts'
import { readyBytes } from './readies.ts'

/** More than `dataSlots`: messages that only give slots back, one for each half of `dataSlots` that was used. */
export const slots: number = dataSlots + 8
const noticeBytes = 64
/** How far before the boxes the proof is. */
const proofBefore: number = noticeBytes - readyBytes
const proofBytes = 16

export function laneBytes(slotBytes: number): number {
  return slots * slotBytes + noticeBytes + Boxes.bytes
}

export interface LaneMemory {
  /** Of the slots: offset in the buffer, address, key. */
  at: number
  addr: number
  lkey: number
  notice: Range
  /** Bytes that the peer finds there, too, if it has the same memory. */
  proof: Uint8Array
  boxes: BoxPlace
}

/** Of `laneBytes` bytes, `offset` bytes into `region`. */
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

/** What would be a peer's `proof` if all memory were common and its boxes were at `at`; null if they cannot be there. */
export function proofAt({ u8 }: Memory, at: number): Uint8Array | null {
  if (!Number.isInteger(at / 8) || at < proofBefore || at + Boxes.bytes > u8.length) return null
  return u8.subarray(at - proofBefore, at - proofBefore + proofBytes)
}
