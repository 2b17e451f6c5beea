/** Copying of samples from and to a pool of the node's own, where the gateway's pool is in other memory than the device's. */
import {
  type Clock,
  copySample,
  type Destination,
  GatewayError,
  type NodeContext,
  type Pool,
  SampleField,
  type Source,
} from '../../index.ts'

/** Stamps samples of the node's own pool, by a sample of the gateway's, since its clock stamps no other. */
export class Stamps implements Pick<Clock, 'stamp'> {
  readonly #context: NodeContext
  readonly #own: Pool
  readonly #sample = new Int32Array(1)
  readonly #from: number

  constructor(context: NodeContext, own: Pool) {
    this.#context = context
    this.#own = own
    if (context.pool.take(this.#sample, 0, 1) === 0)
      throw new GatewayError('ERR_GATEWAY_NODE', 'the pool has no sample left')
    this.#from = context.pool.samples.word(this.#sample[0]!) + SampleField.received
  }

  stamp(word: number): void {
    const { clock, pool } = this.#context
    clock.stamp(this.#from)
    for (let i = 0; i < 4; i++) this.#own.samples.i32[word + i] = pool.samples.i32[this.#from + i]!
  }

  close(): void {
    this.#context.pool.release(this.#sample, 0, 1)
  }
}

/** One direction of the node, between the two pools. */
abstract class Copying<Inner extends Source | Destination> {
  released = 0
  protected readonly inner: Inner
  protected readonly pool: Pool
  protected readonly own: Pool
  /** Samples of the node's own pool: as many as are copied at a time. */
  protected readonly list: Int32Array

  constructor(inner: Inner, pool: Pool, own: Pool, vectorize: number) {
    this.inner = inner
    this.pool = pool
    this.own = own
    this.list = new Int32Array(vectorize)
  }
}

export class CopyingSource extends Copying<Source> implements Source {
  read(samples: Int32Array, count: number): number {
    const list = this.list
    const taken = this.own.take(list, 0, Math.min(count, list.length))
    const read = taken === 0 ? 0 : this.inner.read(list, taken)
    for (let i = 0; i < read; i++) copy(this.own, list[i]!, this.pool, samples[i]!)
    if (taken > 0) this.own.release(list, 0, this.inner.released)
    this.released = count
    return read
  }

  wait(ms: number): void {
    this.inner.wait!(ms)
  }
}

export class CopyingDestination extends Copying<Destination> implements Destination {
  write(samples: Int32Array, count: number): number {
    const list = this.list
    this.released = count
    const taken = this.own.take(list, 0, Math.min(count, list.length))
    if (taken === 0) return 0
    for (let i = 0; i < taken; i++) copy(this.pool, samples[i]!, this.own, list[i]!)
    const written = this.inner.write(list, taken)
    this.own.release(list, 0, this.inner.released)
    return written
  }

  flush(): void {
    this.inner.flush?.()
  }
}

function copy(from: Pool, index: number, to: Pool, toIndex: number): void {
  copySample(from.samples, from.samples.word(index), to.samples, to.samples.word(toIndex))
}
