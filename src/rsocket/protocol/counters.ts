/** Counters: of each connection, and of protocol errors and drops in this thread. */

/** Counters of one connection. */
export interface RSocketCounters {
  bytesSent: number
  bytesReceived: number
  /** Messages of the protocol, data and control. */
  messagesSent: number
  messagesReceived: number
  /** Number of times a send or a receive found nothing to do and the thread slept. */
  sleeps: number
  /** Number of times data waited for a receive buffer of the peer, and for credits. */
  waitsForBuffer: number
  waitsForCredits: number
  /** Bytes that were transferred from the caller's memory into the peer's without a copy on this side. */
  bytesDirect: number
  /**
   * Datagrams that were received and dropped: without a header, not from the peer of `connect`, without a path back, or not read in time.
   */
  datagramsDropped: number
}

/** Protocol errors for which this end ends a connection, with the reason in words. */
export const protocolErrors = {
  badConnData: 'the private data of the connection is not that of rsockets version 1',
  badImmediate: 'the peer sent a message of an unknown kind',
  badControl: 'the peer sent an unknown control message',
  badReceive: 'the peer sent something other than an RDMA WRITE with immediate',
  emptyData: 'the peer sent a data message without data',
  dataOverrun: 'the peer wrote more than the receive buffers that it was given',
  creditOverrun: 'the peer sent more messages than it had credits for',
  creditOverflow: 'the peer granted more credits than its receive queue has entries',
  creditUnderflow: 'the peer took credits back that it had granted',
  badSgl: 'the peer offered a buffer outside of what it registered',
  sglOverflow: 'the peer offered more buffers than it has',
  badIomap: 'the peer mapped a buffer at an invalid entry or range',
  badFrame: 'the peer sent an invalid frame on a trunk',
  framesNotTaken: 'the peer takes no frames of a trunk, and too many wait for it',
  dataAfterShutdown: 'the peer sent data after it had shut down',
} as const
export type ProtocolError = keyof typeof protocolErrors

const counts: Record<ProtocolError, number> = Object.fromEntries(
  Object.keys(protocolErrors).map((name) => [name, 0]),
) as Record<ProtocolError, number>

export function countProtocolError(name: ProtocolError): void {
  counts[name]++
}

/** Returns the number of connections of this thread that were ended because the peer violated the protocol, by violation. */
export function rsocketProtocolErrors(): Record<ProtocolError, number> {
  return { ...counts }
}

/** Drops of this end because a limit was reached. */
const drops = {
  /** Connections that were rejected: more of them waited for `accept` than the backlog allows, or memory was exhausted. */
  connectionsRefused: 0,
  /** Streams of a trunk that were rejected: more of them waited for `accept` than the backlog allows, or RDMA_STREAMS were open. */
  streamsRefused: 0,
  /** Addresses that a datagram socket forgot in favour of later ones. */
  peersForgotten: 0,
  /** Datagrams over UDP that were dropped: more arrived than the program took in time. */
  udpDropped: 0,
}
export type RSocketDrops = Record<keyof typeof drops, number>

export function countDrop(name: keyof RSocketDrops, times = 1): void {
  drops[name] += times
}

/** Returns the numbers of objects that sockets of this thread rejected or forgot because a limit was reached. See docs/guide/rsocket.md. */
export function rsocketDrops(): RSocketDrops {
  return { ...drops }
}

/** Counters of one connection: fields of one shape, because the data path writes them. */
export class Counters implements RSocketCounters {
  bytesSent = 0
  bytesReceived = 0
  messagesSent = 0
  messagesReceived = 0
  sleeps = 0
  waitsForBuffer = 0
  waitsForCredits = 0
  bytesDirect = 0
  datagramsDropped = 0
}
