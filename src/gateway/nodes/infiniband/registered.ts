/** Samples that a verbs device reaches: the records of a pool as one memory region, and memory for the GRHs of UD messages. */
import { Access, type Context, type MemoryRegion, type ProtectionDomain, QpType } from '../../../index.ts'
import { Pool, Samples } from '../../index.ts'

/** Bytes of the global routing header, in front of each UD message that is received. */
export const grhBytes = 40

/** Samples in memory of a device, as the queues of a connection use them. */
export interface RegisteredSamples {
  readonly pool: Pool
  readonly lkey: number
  /** Address of the first record for the device. */
  readonly addr: number
  /** Destination of all GRHs, which are not read, with UD. */
  readonly grh: Pick<MemoryRegion, 'addr' | 'lkey'> | null
}

export class Registered implements RegisteredSamples {
  readonly context: Context
  readonly pd: ProtectionDomain
  readonly pool: Pool
  /** True if the pool is the gateway's; else it is one of this node, from and to which samples are copied. */
  readonly direct: boolean
  readonly grh: MemoryRegion | null = null
  readonly #mr: MemoryRegion
  readonly #buffers: Uint8Array[] = []

  /** Registers a pool. `keeps`: maximum number of samples that queues of the node hold. */
  constructor(context: Context, pool: Pool, qpType: QpType, keeps: number) {
    this.context = context
    this.pd = context.allocPd()
    const grh = this.#alloc(64)
    const { samples } = pool
    this.direct = samples.memory.buffer === grh.buffer
    if (this.direct) this.pool = pool
    else {
      const capacity = 2 ** Math.ceil(Math.log2(keeps))
      const records = this.#alloc(Samples.bytesOf(capacity, samples.values))
      this.pool = Pool.create(capacity, samples.values, records)
    }
    this.#mr = this.#register(this.pool.samples.memory)
    if (qpType === QpType.UD) this.grh = this.#register(grh.subarray(0, grhBytes))
  }

  #alloc(bytes: number): Uint8Array {
    const buffer = this.context.alloc(bytes)
    this.#buffers.push(buffer)
    return buffer
  }

  #register(bytes: Uint8Array): MemoryRegion {
    return this.pd.regMr(bytes, Access.LocalWrite | Access.RemoteWrite)
  }

  get lkey(): number {
    return this.#mr.lkey
  }

  get addr(): number {
    return this.#mr.addr
  }

  close(): void {
    this.#mr.close()
    this.grh?.close()
    this.pd.close()
    for (const buffer of this.#buffers) this.context.free(buffer)
  }
}
