/** Interface of a connection to its stream socket, for a queue pair of its own as well as for a stream of a trunk. */
import type { Counters } from './counters.ts'
import type { Mapped } from './mapped.ts'

export interface StreamLink {
  readonly open: boolean
  readonly writable: boolean
  readonly readable: boolean
  readonly readableBytes: number
  readonly writableBytes: number
  readonly pendingBytes: number
  /** True if there is enough buffer space for POLLOUT. */
  readonly pollsWritable: boolean
  /** True if all sent data has arrived, or a trunk has taken it. */
  readonly allSent: boolean
  /** True if no wait is left: all data has arrived, or never will. */
  readonly settled: boolean
  readonly controlFree: boolean
  readonly spaceFree: boolean
  /** True if the peer's connection manager has ended the connection. */
  peerLeft: boolean
  readonly error: number
  readonly reason: string
  readonly closedHere: boolean
  readonly foreign: boolean
  readonly counters: Counters
  /** Mapped buffers; null where buffers cannot be mapped, and nothing is sent from the caller's memory. */
  readonly mapped: Mapped | null
  readonly lastPosted: number
  send(buffer: Uint8Array, offset: number, length: number): number
  sendDirect(addr: number, lkey: number, length: number): number
  isDone(number: number): boolean
  recv(buffer: Uint8Array, offset: number, length: number, peek?: boolean): number
  /** True if `process` or `reap` may find something, or may continue with deferred work. */
  readonly hasNews: boolean
  /** Takes all messages that have arrived and returns their number. */
  process(): number
  /** As `process`, without driving the device: the caller has done so for all streams (`IoContext.poll`). */
  processReady(): number
  reap(): void
  /** Makes a completion show which data has arrived, where nothing else will. */
  flush(): void
  arm(): void
  shutdownWrite(): void
  shutdownRead(): void
  disconnect(): void
  sendKeepalive(): boolean
  end(error: number, reason: string): void
}
