/** What a stream socket uses of its connection, be it a queue pair of its own or a stream of a trunk. */
import type { Counters } from './counters.ts'
import type { Mapped } from './mapped.ts'

export interface StreamLink {
  readonly open: boolean
  readonly writable: boolean
  readonly readable: boolean
  readonly readableBytes: number
  readonly writableBytes: number
  readonly pendingBytes: number
  /** There is enough room for POLLOUT. */
  readonly pollsWritable: boolean
  /** Whether all that was sent has arrived, or a trunk has taken it. */
  readonly allSent: boolean
  /** Nothing is left to wait for: it has arrived, or never will. */
  readonly settled: boolean
  readonly controlFree: boolean
  readonly spaceFree: boolean
  /** The peer's connection manager has ended the connection. */
  peerLeft: boolean
  readonly error: number
  readonly reason: string
  readonly closedHere: boolean
  readonly foreign: boolean
  readonly counters: Counters
  /** Null where buffers cannot be mapped, and nothing is sent from the caller's memory. */
  readonly mapped: Mapped | null
  readonly lastPosted: number
  send(buffer: Uint8Array, offset: number, length: number): number
  sendDirect(addr: number, lkey: number, length: number): number
  isDone(number: number): boolean
  recv(buffer: Uint8Array, offset: number, length: number, peek?: boolean): number
  /** True if `process` or `reap` may find something, or may go on with what was put off. */
  readonly hasNews: boolean
  process(): number
  reap(): void
  /** Makes a completion show how much has arrived, where nothing else will. */
  flush(): void
  arm(): void
  shutdownWrite(): void
  shutdownRead(): void
  disconnect(): void
  sendKeepalive(): boolean
  end(error: number, reason: string): void
}
