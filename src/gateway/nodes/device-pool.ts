/**
 * A pool whose records lie in memory of a verbs device, so that nodes of that device send and receive them from where they are. Each
 * thread opens the device for itself; the memory belongs to the thread that made the pool, and its `DevicePool` is closed last.
 */
import { type Context, openDevice } from '../../index.ts'
import { Pool, type PoolShare, Samples } from '../index.ts'

/** Data with which another thread attaches to the same pool; may be posted to it. */
export interface DevicePoolShare {
  readonly device: string
  readonly pool: PoolShare
  /** Address of the records for the device. */
  readonly addr: number
}

export class DevicePool {
  readonly pool: Pool
  readonly share: DevicePoolShare
  readonly #context: Context

  private constructor(context: Context, share: DevicePoolShare, pool: Pool) {
    this.#context = context
    this.share = share
    this.pool = pool
  }

  /** Makes a pool. `capacity`: samples, a power of 2; `values`: room in each. Throws the errors of `openDevice` and `alloc`. */
  static create(device: string, capacity: number, values: number): DevicePool {
    const context = openDevice(device)
    try {
      const records = context.alloc(Samples.bytesOf(capacity, values))
      const pool = Pool.create(capacity, values, records)
      return new DevicePool(context, { device, pool: pool.share, addr: records.byteOffset }, pool)
    } catch (error) {
      context.close()
      throw error
    }
  }

  /** Attaches to the pool that another thread has made. */
  static attach(share: DevicePoolShare): DevicePool {
    const context = openDevice(share.device)
    const { capacity, values } = share.pool
    const records = context.view(share.addr, Samples.bytesOf(capacity, values))
    return new DevicePool(context, share, Pool.attach(share.pool, records))
  }

  /** Closes the device when all nodes that use the pool have stopped; in the thread that made it, those of all threads. */
  close(): void {
    this.#context.close()
  }
}
