/** Finds the flow of a packet: an open hash table of flow numbers, and the flows of each pair of addresses. */
import { hash } from './addresses.ts'
import { Flow, type FlowLimits, Service } from './flow.ts'

/** Maximum number of flows; packets of further ones are counted together, so that a capture of garbage does not exhaust the memory. */
const mostFlows = 65_536

export class FlowTable {
  readonly flows: Flow[] = []
  /** Number of packets whose flow found no slot. */
  overflow = 0
  #slots = new Int32Array(1024).fill(-1)
  readonly #between = new Map<number, Flow[]>()
  #last: Flow | undefined
  readonly #limits: FlowLimits
  /** Flows that were forgotten and can be reused. */
  readonly #spare: Flow[] = []

  constructor(limits: FlowLimits) {
    this.#limits = limits
  }

  /** Returns the flow with this key. `srcQp` is a part of the key for UD only; -1 otherwise. Undefined if there are too many flows. */
  take(source: number, destination: number, destQp: number, service: number, srcQp: number): Flow | undefined {
    const last = this.#last
    if (last !== undefined && matches(last, source, destination, destQp, service, srcQp)) return last
    const mask = this.#slots.length - 1
    let slot = flowHash(source, destination, destQp, service, srcQp) & mask
    for (;;) {
      const index = this.#slots[slot]!
      if (index < 0) break
      const flow = this.flows[index]!
      if (matches(flow, source, destination, destQp, service, srcQp)) {
        this.#last = flow
        return flow
      }
      slot = (slot + 1) & mask
    }
    if (this.flows.length >= mostFlows) {
      this.overflow++
      return undefined
    }
    const index = this.flows.length
    let flow = this.#spare.pop()
    if (flow === undefined) flow = new Flow(index, source, destination, destQp, service, srcQp, this.#limits)
    else flow.renew(index, source, destination, destQp, service, srcQp)
    this.#slots[slot] = index
    this.flows.push(flow)
    this.#last = flow
    this.#enter(flow)
    if (this.flows.length * 2 > this.#slots.length) this.#rehash()
    return flow
  }

  find(source: number, destination: number, destQp: number, service: number, srcQp: number): Flow | undefined {
    const mask = this.#slots.length - 1
    let slot = flowHash(source, destination, destQp, service, srcQp) & mask
    for (; this.#slots[slot]! >= 0; slot = (slot + 1) & mask) {
      const flow = this.flows[this.#slots[slot]!]!
      if (matches(flow, source, destination, destQp, service, srcQp)) return flow
    }
    return undefined
  }

  #enter(flow: Flow): void {
    const pair = flow.source * mostFlows + flow.destination
    const list = this.#between.get(pair)
    if (list === undefined) this.#between.set(pair, [flow])
    else list.push(flow)
  }

  /** Forgets all flows but those for which `isKept` is true, whose addresses may have other numbers than before. They are renumbered. */
  keep(isKept: (flow: Flow) => boolean): void {
    const { flows } = this
    let kept = 0
    for (const flow of flows) {
      if (isKept(flow)) {
        flow.index = kept
        flows[kept++] = flow
        continue
      }
      flow.outstanding.free()
      this.#limits.forget?.(flow)
      this.#spare.push(flow)
    }
    flows.length = kept
    this.#between.clear()
    for (const flow of flows) this.#enter(flow)
    this.#last = undefined
    this.#rehash(1024)
  }

  /** Returns all flows from one address to another. */
  between(source: number, destination: number): readonly Flow[] {
    return this.#between.get(source * mostFlows + destination) ?? []
  }

  #rehash(least: number = this.#slots.length * 2): void {
    let size = least
    while (this.flows.length * 2 > size) size *= 2
    const slots = new Int32Array(size).fill(-1)
    const mask = slots.length - 1
    for (const flow of this.flows) {
      const srcQp = flow.service === Service.UD ? flow.srcQp : -1
      let slot = flowHash(flow.source, flow.destination, flow.destQp, flow.service, srcQp) & mask
      while (slots[slot]! >= 0) slot = (slot + 1) & mask
      slots[slot] = flow.index
    }
    this.#slots = slots
  }
}

function flowHash(source: number, destination: number, destQp: number, service: number, srcQp: number): number {
  return hash(source, destination, destQp | (service << 24), srcQp)
}

function matches(
  flow: Flow,
  source: number,
  destination: number,
  destQp: number,
  service: number,
  srcQp: number,
): boolean {
  return (
    flow.destQp === destQp &&
    flow.source === source &&
    flow.destination === destination &&
    flow.service === service &&
    // The sender of the other services may be found out later, but does not make another flow.
    (service !== Service.UD || flow.srcQp === srcQp)
  )
}
