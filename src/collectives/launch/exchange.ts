/** Interface of a group to rank 0 and to the other ranks alike. */
import type { GroupError } from './error.ts'
import { Kind } from './link.ts'

export type ExchangeKind = typeof Kind.Barrier | typeof Kind.Gather
/** Contributions of all ranks, in the order of ranks. */
export type Exchanged = readonly Uint8Array[]

/** Returns a rank's message to rank 0: milliseconds that the rank waits (4 bytes, big-endian; 0: no limit), and its contribution. */
export function withLimit(timeoutMs: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(limitBytes)
  head.writeUInt32BE(timeoutMs)
  return Buffer.concat([head, bytes])
}

export const limitBytes = 4

export interface Port {
  /** Callback that is called once, when the group has failed. */
  onFailure: (error: GroupError) => void
  /** Reason of the group's failure; it may be set before `onFailure` is. */
  readonly failure: GroupError | null
  /** Executes one exchange; only one at a time. The promise does not settle if the group fails. */
  exchange(kind: ExchangeKind, bytes: Uint8Array, timeoutMs: number): Promise<Exchanged>
  fail(error: GroupError): void
  close(): Promise<void>
}

export function exchangeName(kind: ExchangeKind): string {
  return kind === Kind.Barrier ? 'a barrier' : 'an allgather'
}
