/** A connection as the loops use it, over either transport: rsockets, or TCP of the kernel. */

export interface ByteStream {
  /** Sends bytes of the outgoing memory; returns the number that was taken, 0 if none can be sent now. */
  send(at: number, length: number): number
  /** Receives into the incoming memory; returns the number of bytes received, 0 if none have arrived, −1 at the end of the stream. */
  recv(length: number): number
  /** Polls for a while after a `send` (`sending`) or `recv` that returned 0, unless that call has waited itself. */
  wait(sending: boolean): void
  /** Ends the outgoing direction: the peer receives what was sent and then the end of the stream. */
  shutdownWrite(): void
  /** Returns the counters of the connection, for the results. */
  counters(): Record<string, number>
  close(): void
}

/** Address of one end for the other end: plain data that a message between threads carries. */
export type Meeting = Record<string, unknown>

/** Connection that is not established yet. */
export interface Opening {
  /** Address that the other end must know. */
  readonly meeting: Meeting
  /** Connects: the server waits for the client, which knows the server's address. */
  connect(other: Meeting): ByteStream | Promise<ByteStream>
  close(): void
}

export interface StreamRequest {
  server: boolean
  /** Device of this end; empty for TCP. */
  device: string
  /** True to poll instead of sleeping. */
  busy: boolean
  /** True to send data at once, for request and response. */
  noDelay: boolean
  /** Bytes of the socket's buffers; 0: the default of the socket. */
  bufferBytes: number
  /** True to use version 1 of the protocol only, as with a peer of librdmacm. */
  version1: boolean
  /** True to send from memory of the device, which avoids a copy. */
  direct: boolean
  /** Bytes for the longest message. */
  memoryBytes: number
}

/** Milliseconds that a call of TCP waits at a time; between calls, the thread checks whether the measurement was stopped. */
export const sleepMs = 100
/** Number of polls of a wait that does not sleep. */
export const pollsOfWait = 32
/** Time limit of connecting. */
export const connectTimeoutMs = 10_000
