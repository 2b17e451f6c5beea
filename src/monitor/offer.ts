import { opcodeTable } from '../wire/index.ts'
import type { FlowState } from './flow-state.ts'
import type { Window } from './window.ts'

/**
 * Keeps a message that is among the largest or the slowest of a window. `of` sent it or requested it; `counted` has its bytes; `atMs` is
 * the time of its last packet, which has this opcode, and −1 if that is not known.
 */
export function offerMessage(
  window: Window,
  of: FlowState,
  counted: FlowState,
  opcode: number,
  atMs: number,
  ns: number,
): void {
  const { messageBytes: bytes, messagePackets: packets, messagePsn: psn } = counted
  const large = window.largest.wants(bytes)
  const slow = window.slowest.wants(ns)
  if ((!large && !slow) || !(ns >= 0)) return
  const message = {
    ...{ key: [...of.key], operation: opcodeTable[opcode]!.operation, psn, bytes, packets, ns },
    atMs: Math.max(0, atMs),
  }
  if (large) window.largest.add(message)
  if (slow) window.slowest.add(message)
}
