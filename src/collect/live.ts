/** Live packets of this host's interfaces. */
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
  /** Number of frames that passed the filter, and of those for which the ring had no room, as the kernel reports them. */
  readonly received: number
  readonly dropped: number
  /** Number of times the interface went down during the capture. */
  readonly downs: number
}

export interface LiveOptions {
  /** Names of interfaces. */
  readonly interfaces: readonly string[]
  readonly filter: readonly BpfInstruction[]
  /** Size of each ring. */
  readonly ringBytes: number
  readonly promiscuous: boolean
  /** UDP ports, if the filter passes only RoCE on them: a frame that holds several packets is split if the kernel reports their lengths. */
  readonly udpPorts?: readonly number[]
}

/** Function that receives each packet; `id` is the index of the interface in the list. Return false to end the capture. */
export type LiveHandler = (bytes: Uint8Array, packet: RingPacket, id: number) => boolean

/** Number of blocks, one MiB each, drained per interface before the event loop runs. */
const blocksAtOnce = 4
const waitMs = 50

export class LiveCapture {
  readonly #names: readonly string[]
  readonly #rings: PacketRing[] = []
  readonly #downs: number[] = []
  readonly #udpPorts: readonly number[]
  #ended = false

  /** Starts the capture. Throws NativeError: no permission, no such interface, no koffi. */
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
   * Passes packets on until the signal is aborted or the handler returns false. `onTurn` is called at least every 50 ms; the promise
   * that it returns is awaited.
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
    // Packets received before the end may be in blocks that are not full. Packets that arrive meanwhile may be more than can be drained.
    if (!this.#ended) {
      waitReadable([], fds, fds.length, waitMs)
      drainInOrder(
        rings,
        handlers,
        rings.reduce((sum, { waiting }) => sum + waiting, 0),
      )
    }
  }

  /** Counts the interfaces that went down: a descriptor is readable for frames, or for that reason. */
  #look(): void {
    for (const [id, ring] of this.#rings.entries()) if (ring.takeDown()) this.#downs[id] = (this.#downs[id] ?? 0) + 1
  }

  /** Fill level of the fullest ring, 0 to 1: at 1 the kernel drops packets. */
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
 * Drains blocks of several rings in the order of their time, so that after a delay the packets of one ring are not seconds ahead of
 * those of another. Returns the number of frames in them.
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
