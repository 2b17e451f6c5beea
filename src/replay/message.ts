/** A message of a capture: what a program asked of a queue pair, when, and what it waited for. */

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
/** A value of `messageOps`. */
export type MessageOp = (typeof messageOps)[number]

/** What a message can have waited for: an earlier one that its end received, or whose completion it got, or that it had sent. */
export const waits = ['received', 'completed', 'sent'] as const
/** A value of `waits`. */
export type Wait = (typeof waits)[number]

/** A message: who sent what, when, and what it waited for. */
export interface TraceMessage {
  /** From 0, in the order in which they begin. */
  id: number
  /** Index of the connection. */
  connection: number
  /** The end that sends the request: 0, which sent the first message, or 1. */
  from: 0 | 1
  op: MessageOp
  bytes: number
  /** Nanoseconds after the first message of the capture: first and last packet of the request, and when it was done. */
  atNs: number
  endNs: number
  doneNs: number | null
  /** What it waited for: an earlier message of its connection, and how long after that it began, nanoseconds. */
  after: number | null
  wait: Wait | null
  thinkNs: number
}

/** One end of a connection. */
export interface TraceEnd {
  address: string
  /** null if the capture does not tell. */
  qpn: number | null
}

/** Two queue pairs and the service between them. */
export interface TraceConnection {
  type: 'RC' | 'UC' | 'UD'
  /** Bytes; 0 if the capture does not tell. */
  mtu: number
  ends: [TraceEnd, TraceEnd]
  /** The capture has one direction only. */
  oneSided: boolean
}

/** What could not be reconstructed. */
export interface MessageGaps {
  /** Packets that the receiver drops: a wrong ICRC, broken rules, or a header that is cut off. */
  damagedPackets: number
  /** Messages whose first or last packet the capture does not have. */
  incomplete: number
  /** Messages on XRC and RD, which no connection here can perform. */
  otherServices: number
  /** Datagrams of the connection manager. */
  management: number
  /** Packets that were sent again: their messages count once. */
  retransmissions: number
  /** NAKs that end a connection, of requests that will succeed when they are performed. */
  rejected: number
  /** Packets of more flows than are followed. */
  withoutFlow: number
  /** Messages beyond the most that are remembered. */
  beyond: number
}

/** From 4 bytes on the other end can see in memory that a WRITE has arrived. */
const visibleWrite = 4
export function isSend(op: MessageOp): boolean {
  return op === 'send' || op === 'send_with_imm' || op === 'send_with_inv'
}

/** Whether the receiving end gets a completion. */
export function notifies(op: MessageOp): boolean {
  return isSend(op) || op === 'write_with_imm'
}

/** Whether the receiving end can know that it has arrived. */
export function isSeen({ op, bytes }: Pick<TraceMessage, 'op' | 'bytes'>): boolean {
  return notifies(op) || (op === 'write' && bytes >= visibleWrite)
}
