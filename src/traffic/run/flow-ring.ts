/**
 * Ring of the flows of one channel in their order, in typed arrays that grow and are reused: a flow is enqueued at `tail`, started at
 * `next`, and is over when `head` has passed it. Its number in that order is its sequence number on the wire, modulo 2^32.
 */
export class FlowRing {
  head = 0
  next = 0
  tail = 0
  /** Sizes in bytes, by number & mask, as all arrays here. */
  sizes: Float64Array
  /** Times when the flows were due, nanoseconds. */
  dues: Float64Array
  /** Bits per second. */
  rates: Float64Array
  /** Indices in `verbs`. */
  verbs: Uint8Array
  /** Indices in the phases of the configuration. */
  phases: Int32Array
  /** Times when flows of the peer were requested, nanoseconds. */
  begins: Float64Array
  /** Numbers of the work requests that end the flows, at the sender; Infinity until they are posted. */
  ends: Float64Array
  mask: number

  constructor(slots = 64) {
    this.mask = slots - 1
    this.sizes = new Float64Array(slots)
    this.dues = new Float64Array(slots)
    this.rates = new Float64Array(slots)
    this.verbs = new Uint8Array(slots)
    this.phases = new Int32Array(slots)
    this.begins = new Float64Array(slots)
    this.ends = new Float64Array(slots)
  }

  /** Number of flows that have not begun. */
  get waiting(): number {
    return this.tail - this.next
  }

  /** Number of flows that have begun and are not over. */
  get outstanding(): number {
    return this.next - this.head
  }

  push(size: number, verb: number, rateBps: number, dueNs: number, phase: number): void {
    if (this.tail - this.head > this.mask) this.#grow()
    const at = this.tail & this.mask
    this.sizes[at] = size
    this.verbs[at] = verb
    this.rates[at] = rateBps
    this.dues[at] = dueNs
    this.phases[at] = phase
    this.ends[at] = Number.POSITIVE_INFINITY
    this.tail++
  }

  #grow(): void {
    const slots = 2 * (this.mask + 1)
    const moved = <T extends Float64Array | Int32Array | Uint8Array>(from: T, to: T): T => {
      for (let i = this.head; i < this.tail; i++) to[i & (slots - 1)] = from[i & this.mask]!
      return to
    }
    this.sizes = moved(this.sizes, new Float64Array(slots))
    this.dues = moved(this.dues, new Float64Array(slots))
    this.rates = moved(this.rates, new Float64Array(slots))
    this.verbs = moved(this.verbs, new Uint8Array(slots))
    this.phases = moved(this.phases, new Int32Array(slots))
    this.begins = moved(this.begins, new Float64Array(slots))
    this.ends = moved(this.ends, new Float64Array(slots))
    this.mask = slots - 1
  }
}
