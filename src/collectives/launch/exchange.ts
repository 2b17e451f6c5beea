/** What a group needs of rank 0 and of the other ranks alike. */
import type { GroupError } from './error.ts'
import { Kind } from './link.ts'

export type ExchangeKind = typeof Kind.Barrier | typeof Kind.Gather
/** What each rank gave, in the order of ranks. */
export type Exchanged = readonly Uint8Array[]

/** What a rank sends to rank 0: how many milliseconds it waits (4 bytes, big-endian; 0: for ever), and what it gives. */
export function withLimit(timeoutMs: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(limitBytes)
  head.writeUInt32BE(timeoutMs)
  return Buffer.concat([head, bytes])
}

export const limitBytes = 4

export interface Port {
  /** Called once, when the group has failed. */
  onFailure: (error: GroupError) => void
  /** Why the group has failed; it may have done so before anybody set `onFailure`. */
  readonly failure: GroupError | null
  /** One at a time. Does not settle when the group fails. */
  exchange(kind: ExchangeKind, bytes: Uint8Array, timeoutMs: number): Promise<Exchanged>
  fail(error: GroupError): void
  close(): Promise<void>
}

export function exchangeName(kind: ExchangeKind): string {
  return kind === Kind.Barrier ? 'a barrier' : 'an allgather'
}
