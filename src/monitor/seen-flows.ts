/**
 * Flows and hosts of a window, on their way to the sketches that count them. A packet whose flow is not known, as each of a scan is, brings
 * a flow and two hosts: those that were seen shortly before are left out, and the rest are added many at a time.
 */
import { Service } from '../trace/index.ts'
import { Word } from './key.ts'
import { flowKeyBytes, hostKeyBytes, type Window } from './window.ts'
import type { Witness } from './witness.ts'

const most = 256
const addressBytes = 16
/** Layout of a flow that was seen: the words of its key, the kind of its addresses, and the window. */
const Entry = { words: flowKeyBytes / 4, kind: 10, window: 11, length: 12 } as const
const entries = 256

export class SeenFlows {
  readonly #flows = new Uint8Array(most * flowKeyBytes)
  /** Hosts, two of each flow. */
  readonly #hosts = new Uint8Array(2 * most * hostKeyBytes)
  readonly #witness: Witness | undefined
  readonly #known = new Int32Array(entries * Entry.length)
  readonly #entry = new Int32Array(Entry.length)
  #count = 0
  #window = 1

  constructor(witness: Witness | undefined) {
    this.#witness = witness
  }

  /** Adds a flow of the window. */
  add(key: Int32Array, window: Window): void {
    const [entry, known] = [this.#entry, this.#known]
    for (let i = 0; i < Entry.words; i++) entry[i] = key[i]!
    // The source QP of a flow may become known later: it is not a part of the flow.
    if (key[Word.sourceQp]! >>> 24 !== Service.UD) entry[Word.sourceQp]! &= 0xff << 24
    entry[Word.destinationQp]! &= 0xffffff
    entry[Entry.kind] = key[Word.rest]! >>> 30
    entry[Entry.window] = this.#window
    let hash = 0
    for (let i = 0; i < Entry.words; i++) hash = Math.imul(hash ^ entry[i]!, 0x9e3779b1)
    const at = ((hash >>> 16) % entries) * Entry.length
    let differs = 0
    for (let i = 0; i < Entry.length; i++) {
      differs |= known[at + i]! ^ entry[i]!
      known[at + i] = entry[i]!
    }
    if (differs !== 0) this.#put(window)
  }

  /** Ends the window. */
  end(window: Window): void {
    this.#flush(window)
    this.#window = (this.#window + 1) | 0
  }

  #put(window: Window): void {
    const [flows, hosts, entry] = [this.#flows, this.#hosts, this.#entry]
    const flow = this.#count * flowKeyBytes
    for (let i = 0; i < flowKeyBytes; i++) flows[flow + i] = entry[i >> 2]! >>> (8 * (i & 3))
    for (let end = 0; end < 2; end++) {
      const host = (2 * this.#count + end) * hostKeyBytes
      for (let i = 0; i < addressBytes; i++) hosts[host + i] = flows[flow + end * addressBytes + i]!
      hosts[host + addressBytes] = entry[Entry.kind]!
    }
    if (++this.#count === most) this.#flush(window)
  }

  #flush({ sketches }: Window): void {
    const flows = this.#flows.subarray(0, this.#count * flowKeyBytes)
    const hosts = this.#hosts.subarray(0, 2 * this.#count * hostKeyBytes)
    this.#count = 0
    sketches.flows.updateMany(flows)
    sketches.hosts.updateMany(hosts)
    if (this.#witness === undefined) return
    for (let at = 0; at < flows.length; at += flowKeyBytes)
      this.#witness.seen('flows', flows.subarray(at, at + flowKeyBytes))
    for (let at = 0; at < hosts.length; at += hostKeyBytes)
      this.#witness.seen('hosts', hosts.subarray(at, at + hostKeyBytes))
  }
}
