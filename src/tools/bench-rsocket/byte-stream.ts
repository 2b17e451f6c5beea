/** What the loops need of a connection, whatever it runs over: rsockets, or TCP of the kernel. */

export interface ByteStream {
  /** Sends bytes of the outgoing memory; how many were taken, 0 if none can be now. */
  send(at: number, length: number): number
  /** Receives into the incoming memory; how many came, 0 if none have, −1 at the end of the stream. */
  recv(length: number): number
  /** After a `send` (`sending`) or `recv` that gave 0: polls a while, if these have not waited themselves. */
  wait(sending: boolean): void
  /** The peer gets what was sent and then the end of the stream. */
  shutdownWrite(): void
  /** What the connection counted, for the results. */
  counters(): Record<string, number>
  close(): void
}

/** How one end is told where the other one is: plain data that a message between threads carries. */
export type Meeting = Record<string, unknown>

/** A connection in the making. */
export interface Opening {
  /** What the other end must know. */
  readonly meeting: Meeting
  /** Connects: the server waits for the client, which knows where to go. */
  connect(other: Meeting): ByteStream | Promise<ByteStream>
  close(): void
}

export interface StreamRequest {
  server: boolean
  /** The device of this end; empty for TCP. */
  device: string
  /** Polls instead of sleeping. */
  busy: boolean
  /** Request and response: what is sent leaves at once. */
  noDelay: boolean
  /** Bytes of the socket's buffers; 0: its own. */
  bufferBytes: number
  /** Version 1 of the protocol only, as with a peer of librdmacm. */
  version1: boolean
  /** Sends from memory of the device, which is not copied on the way into it. */
  direct: boolean
  /** Room for the longest message. */
  memoryBytes: number
}

/** Calls of TCP that wait do so for this long at a time: then it is looked whether the measurement was stopped. */
export const sleepMs = 100
/** Polls of a wait that does not sleep. */
export const pollsOfWait = 32
/** Connecting takes no longer. */
export const connectTimeoutMs = 10_000
