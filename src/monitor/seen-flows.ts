/** Flows and hosts of a window, on their way to the sketches that count them. */
import { Service } from '../trace/index.ts'
import { Word } from './key.ts'
import { flowKeyBytes, hostKeyBytes, type Window } from './window.ts'
import type { Witness } from './witness.ts'

export class SeenFlows {
  readonly #flow = new Uint8Array(flowKeyBytes)
  readonly #host = new Uint8Array(hostKeyBytes)
  readonly #witness: Witness | undefined

  constructor(witness: Witness | undefined) {
    this.#witness = witness
  }

  /** A flow that is seen for the first time in the window. */
  add(key: Int32Array, { sketches }: Window): void {
    const flow = this.#flow
    for (let i = 0; i < flowKeyBytes; i++) flow[i] = key[i >> 2]! >>> (8 * (i & 3))
    // The source QP of a flow may become known later: it is a flow without it.
    if (key[Word.sourceQp]! >>> 24 !== Service.UD) flow.fill(0, 32, 35)
    flow[39] = 0
    sketches.flows.update(flow)
    this.#witness?.seen('flows', flow)
    const host = this.#host
    host[16] = key[Word.rest]! >>> 30
    for (const from of [0, 16]) {
      for (let i = 0; i < 16; i++) host[i] = flow[from + i]!
      sketches.hosts.update(host)
      this.#witness?.seen('hosts', host)
    }
  }
}
