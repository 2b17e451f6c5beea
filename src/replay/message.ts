/** Messages of a capture: the operation that a program posted on a queue pair, its time, and the event for which it waited. */

export const messageOps = [
  'send',
  'send_with_imm',
  'send_with_inv',
  'write',
  'write_with_imm',
  'read',
  'fetch_add',
  'compare_swap',
  'atomic_write',
  'flush',
] as const
/** Value of `messageOps`. */
export type MessageOp = (typeof messageOps)[number]

/** Events that a message can have waited for: an earlier message that its end received, or whose completion it got, or that it had sent. */
export const waits = ['received', 'completed', 'sent'] as const
/** Value of `waits`. */
export type Wait = (typeof waits)[number]

/** Message: sender, operation, times, and the event for which it waited. */
export interface TraceMessage {
  /** Number from 0, in the order in which messages begin. */
  id: number
  /** Index of the connection. */
  connection: number
  /** End that sends the request: 0, which sent the first message, or 1. */
  from: 0 | 1
  op: MessageOp
  bytes: number
  /** Nanoseconds after the first message of the capture: first and last packet of the request, and its completion. */
  atNs: number
  endNs: number
  doneNs: number | null
  /** Id of the earlier message of its connection for which it waited; `thinkNs` is the time after that event, in nanoseconds. */
  after: number | null
  wait: Wait | null
  thinkNs: number
}

/** One end of a connection. */
export interface TraceEnd {
  address: string
  /** Queue pair number; null if the capture does not determine it. */
  qpn: number | null
}

/** Two queue pairs and the service between them. */
export interface TraceConnection {
  type: 'RC' | 'UC' | 'UD'
  /** Path MTU in bytes; 0 if the capture does not determine it. */
  mtu: number
  ends: [TraceEnd, TraceEnd]
  /** True if the capture has one direction only. */
  oneSided: boolean
}

/** Counts of packets and messages that could not be reconstructed. */
export interface MessageGaps {
  /** Packets that the receiver drops: a wrong ICRC, broken rules, or a truncated header. */
  damagedPackets: number
  /** Messages whose first or last packet is not in the capture. */
  incomplete: number
  /** Messages on XRC and RD, which this library cannot perform. */
  otherServices: number
  /** Datagrams of the connection manager. */
  management: number
  /** Retransmitted packets: their messages are counted once. */
  retransmissions: number
  /** NAKs that end a connection, for requests that will succeed when they are performed. */
  rejected: number
  /** Packets of flows beyond the maximum that is tracked. */
  withoutFlow: number
  /** Messages beyond the maximum that is stored. */
  beyond: number
}

/** Minimum length in bytes of a WRITE whose arrival the other end can see in memory. */
const visibleWrite = 4
export function isSend(op: MessageOp): boolean {
  return op === 'send' || op === 'send_with_imm' || op === 'send_with_inv'
}

/** True if the receiving end gets a completion. */
export function notifies(op: MessageOp): boolean {
  return isSend(op) || op === 'write_with_imm'
}

/** True if the receiving end can detect the arrival of the message. */
export function isSeen({ op, bytes }: Pick<TraceMessage, 'op' | 'bytes'>): boolean {
  return notifies(op) || (op === 'write' && bytes >= visibleWrite)
}
