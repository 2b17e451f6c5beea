/**
 * Layers of middleware around the link of a device, the first nearest to the program:
 *
 *     program ── send ──► layer 0 ──► layer 1 ──► toWire
 *     program ◄─ toProgram ◄─ layer 0 ◄─ layer 1 ◄── receive ── wire
 *
 * A device has one chain, in the one thread that drives it while it is wrapped.
 */
import { writeSync } from 'node:fs'
import type { Wrap } from '../../verbs/provider/index.ts'
import { type FaultCounter, FaultLayer } from './faults.ts'
import type { Layer, Next, Packet } from './packet.ts'
import { TapLayer } from './tap.ts'
import { TraceLayer } from './trace.ts'

export interface ChainEnds {
  /** Name of the device. */
  device: string
  count(name: FaultCounter): void
  toWire(packet: Packet): void
  toProgram(packet: Packet): void
}

export class Chain {
  readonly #layers: readonly Layer[]
  /** Successor of each layer, outbound and inbound. */
  readonly #out: readonly Next[]
  readonly #in: readonly Next[]

  constructor(wraps: readonly Wrap[], ends: ChainEnds) {
    this.#layers = wraps.map((wrap) => layerOf(wrap, ends))
    const layers = this.#layers
    // Built from the far end: each entry passes to the layer that follows, or to the end.
    const out: Next[] = [(packet) => ends.toWire(packet)]
    const inward: Next[] = [(packet) => ends.toProgram(packet)]
    for (let i = layers.length - 1; i >= 0; i--) {
      const next = out[0]!
      out.unshift((packet) => layers[i]!.pass(packet, next))
    }
    for (const layer of layers) {
      const next = inward[0]!
      inward.unshift((packet) => layer.pass(packet, next))
    }
    this.#out = out
    this.#in = inward
  }

  send(packet: Packet): void {
    this.#out[0]!(packet)
  }

  receive(packet: Packet): void {
    this.#in[0]!(packet)
  }

  advance(now: number): void {
    for (const layer of this.#layers) layer.advance(now)
  }

  get nextDeadlineNs(): number {
    let next = Number.POSITIVE_INFINITY
    for (const layer of this.#layers) next = Math.min(next, layer.nextDeadlineNs)
    return next
  }

  flush(): void {
    for (const layer of this.#layers) layer.flush()
  }

  close(): void {
    for (const layer of this.#layers) layer.close()
  }
}

function layerOf(wrap: Wrap, ends: ChainEnds): Layer {
  if (wrap.kind === 'faults') {
    let salt = 0
    for (const character of ends.device) salt = (Math.imul(salt, 31) + character.charCodeAt(0)) | 0
    return new FaultLayer(wrap, salt, ends.count)
  }
  if (wrap.kind === 'tap') return new TapLayer(wrap.path, ends.device)
  return new TraceLayer(wrap.onLine ?? ((line) => void writeSync(2, `${line}\n`)))
}
