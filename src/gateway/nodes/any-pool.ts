/** The pool of a gateway: in memory of its own, or in that of a verbs device, which is loaded only then. */
import { Pool, type PoolShare } from '../index.ts'
import type { DevicePoolShare } from './device-pool.ts'

/** Data with which another thread attaches to the same pool; may be posted to it. */
export type AnyPoolShare = PoolShare | DevicePoolShare

export interface OwnedPool {
  readonly pool: Pool
  readonly share: AnyPoolShare
  /** Closes the pool when all nodes that use it have stopped; in the thread that made it, those of all threads. */
  close(): void
}

/** Makes a pool. `device`: in whose memory; undefined: in any. Throws the errors of `openDevice`. */
export async function makePool(capacity: number, values: number, device: string | undefined): Promise<OwnedPool> {
  if (device !== undefined) return (await import('./device-pool.ts')).DevicePool.create(device, capacity, values)
  return plain(Pool.create(capacity, values))
}

/** Attaches to the pool that another thread has made. */
export async function attachPool(share: AnyPoolShare): Promise<OwnedPool> {
  if ('device' in share) return (await import('./device-pool.ts')).DevicePool.attach(share)
  return plain(Pool.attach(share))
}

function plain(pool: Pool): OwnedPool {
  return { pool, share: pool.share, close: () => {} }
}
