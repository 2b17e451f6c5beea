/** Packets of this host's interfaces, as they pass. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type BpfInstruction,
  errnos,
  interfaceIndex,
  NativeError,
  nativeAvailable,
  nativeReason,
  PacketRing,
  type RingPacket,
  waitReadable,
} from '../memory/index.ts'
import { withoutEchoes } from './filter-program.ts'
import { RingSegments } from './ring-segments.ts'

export interface LiveInterface {
  readonly name: string
  /** What the kernel says of frames that passed the filter: how many there were, and for how many the ring had no room. */
  readonly received: number
  readonly dropped: number
  /** How often the interface went down meanwhile. */
  readonly downs: number
}

export interface LiveOptions {
  /** Names of interfaces. */
  readonly interfaces: readonly string[]
  readonly filter: readonly BpfInstruction[]
  /** Of each ring. */
  readonly ringBytes: number
  readonly promiscuous: boolean
  /** The filter lets RoCE pass only, on these UDP ports: what the kernel hands over as one frame is taken apart, where the kernel says how. */
  readonly udpPorts?: readonly number[]
}

/** `id` is the place of the interface in the list. False ends the capture. */
export type LiveHandler = (bytes: Uint8Array, packet: RingPacket, id: number) => boolean

/** A MiB each: after so many of each interface the event loop gets its turn. */
const blocksAtOnce = 4
const waitMs = 50

export class LiveCapture {
  readonly #names: readonly string[]
  readonly #rings: PacketRing[] = []
  readonly #downs: number[] = []
  readonly #udpPorts: readonly number[]
  #ended = false

  /** Captures from now on. Throws NativeError: no permission, no such interface, no koffi. */
  constructor({ interfaces, filter, ringBytes, promiscuous, udpPorts = [] }: LiveOptions) {
    this.#names = interfaces
    this.#udpPorts = udpPorts
    const segments = udpPorts.length > 0
    if (!nativeAvailable)
      throw new NativeError('EOPNOTSUPP', errnos.EOPNOTSUPP, 'socket', `packets cannot be captured: ${nativeReason}`)
    const program = withoutEchoes(filter)
    try {
      for (const name of interfaces)
        this.#rings.push(
          PacketRing.open({ interfaceIndex: interfaceIndex(name), filter: program, ringBytes, promiscuous, segments }),
        )
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Hands over what comes until the signal is aborted, or the handler says false. `onTurn` is called at least every 50 ms; what
   * it returns is waited for.
   */
  async run(onPacket: LiveHandler, signal: AbortSignal, onTurn: () => boolean): Promise<void> {
    const rings = this.#rings
    const fds = Int32Array.from(rings, ({ fd }) => fd)
    const segments = new RingSegments(this.#udpPorts)
    const handlers = rings.map(({ bytes }, id) => (packet: RingPacket): void => {
      if (this.#ended) return
      if (packet.segmentBytes === 0) this.#ended = !onPacket(bytes, packet, id)
      else this.#ended = !segments.each(bytes, packet, (own, one) => onPacket(own, one, id))
    })
    while (!this.#ended && !signal.aborted && onTurn()) {
      const count = drainInOrder(rings, handlers, blocksAtOnce * rings.length)
      if (count === 0 && waitReadable([], fds, fds.length, waitMs) > 0) this.#look()
      await nextTurn()
    }
    // What came before the end, and is in blocks that were not full. What comes meanwhile may be more than can be drained.
    if (!this.#ended) {
      waitReadable([], fds, fds.length, waitMs)
      drainInOrder(
        rings,
        handlers,
        rings.reduce((sum, { waiting }) => sum + waiting, 0),
      )
    }
  }

  /** A descriptor is readable for frames, or because its interface went down. */
  #look(): void {
    for (const [id, ring] of this.#rings.entries()) if (ring.takeDown()) this.#downs[id] = (this.#downs[id] ?? 0) + 1
  }

  /** The share of the fullest ring that waits, 0 to 1: at 1 the kernel drops what comes. */
  get fill(): number {
    return this.#rings.reduce((most, ring) => Math.max(most, ring.fill), 0)
  }

  statistics(): LiveInterface[] {
    return this.#rings.map((ring, i) => ({ name: this.#names[i]!, ...ring.statistics(), downs: this.#downs[i] ?? 0 }))
  }

  close(): void {
    for (const ring of this.#rings) ring.close()
  }
}

/**
 * Drains blocks of several rings in the order of their time, so that after a delay what one of them has is not seconds before what
 * another one has. Returns how many frames they had.
 */
export function drainInOrder(
  rings: readonly Pick<PacketRing, 'nextMs' | 'drain'>[],
  handlers: readonly ((packet: RingPacket) => void)[],
  mostBlocks: number,
): number {
  let count = 0
  for (let n = 0; n < mostBlocks; n++) {
    let first = 0
    let firstMs = Number.POSITIVE_INFINITY
    for (let id = 0; id < rings.length; id++) {
      const { nextMs } = rings[id]!
      if (nextMs >= firstMs) continue
      first = id
      firstMs = nextMs
    }
    if (firstMs === Number.POSITIVE_INFINITY) break
    count += rings[first]!.drain(handlers[first]!, 1)
  }
  return count
}
