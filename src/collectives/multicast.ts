/**
 * Broadcasts by multicast, and their repair. The root sends each chunk once, by a UD SEND whose immediate data is the chunk's number among
 * all of the communicator; a rank requests the chunks that the network or a full receive queue dropped, and receives them on the lane (RC).
 *
 *     root                                     each other rank
 *     multicasts a window of chunks      →     copies the chunks that arrive to their place
 *                                        ←     report: the missing chunks (NAK), when the last has arrived or after a Query, before it sleeps
 *     each of these, in their order      →     (lane)
 *                                        ←     report: none is missing; then the next window
 *     Query: which chunks are missing?   →     (lane) once for each window, after a millisecond: the last chunks may be lost, too
 *
 * Each rank reports at most twice for a window, and takes all chunks that it has requested, also those that arrived meanwhile:
 * when a call is over, no message of it is left except Queries, which the lane handles itself. Chunks are repaired from the root's memory.
 */
import type { Lane } from './lane.ts'
import type { Mesh } from './mesh.ts'
import { Datagrams } from './multicast-datagrams.ts'
import { MulticastReceiver } from './multicast-receiver.ts'
import { MulticastRoot } from './multicast-root.ts'
import { type Broadcast, Window } from './multicast-window.ts'
import type { Device } from './opened.ts'

export class Multicast {
  readonly #rank: number
  readonly #datagrams: Datagrams
  readonly #window: Window
  readonly #root: MulticastRoot
  readonly #receiver: MulticastReceiver
  /** Role of this rank in the present call. */
  #part: MulticastRoot | MulticastReceiver

  constructor(
    device: Device,
    { lanes, slotBytes, channel }: Mesh,
    { rank, gidIndex }: { rank: number; gidIndex: number },
  ) {
    const { context, memory } = device
    this.#rank = rank
    this.#datagrams = new Datagrams(device, channel, gidIndex)
    // A chunk that is repaired is sent in a slot.
    this.#window = new Window(Math.min(context.queryPort(1).activeMtu, slotBytes))
    this.#root = new MulticastRoot(this.#datagrams, this.#window, memory, lanes)
    this.#receiver = new MulticastReceiver(this.#datagrams, this.#window, memory, lanes)
    this.#part = this.#root
  }

  /** Address of this rank for the other ranks. */
  get address(): Uint8Array {
    return this.#datagrams.addressFor(this.#window.chunkBytes)
  }

  /** Joins the group of rank 0. When every rank has done so, any rank may send. */
  connect(addresses: readonly Uint8Array[]): void {
    this.#window.chunkBytes = this.#datagrams.connect(addresses)
  }

  /** Number of arrived chunks and reports, which shows the progress of a call. */
  get moves(): number {
    return this.#window.moves
  }

  begin(broadcast: Broadcast): void {
    this.#window.begin(broadcast)
    this.#part = broadcast.root === this.#rank ? this.#root : this.#receiver
    this.#open()
  }

  #open(): void {
    this.#part.open()
    this.#datagrams.takeEarly(this.#window, this.#part)
  }

  /** Does all that is possible now. Returns true when the call is over. */
  step(): boolean {
    while (this.#part.step()) {
      if (!this.#window.advance()) return true
      this.#open()
    }
    return false
  }

  /** Returns true if a rank waits for reports of a multicast that this rank has not begun. */
  begunBy(lane: Lane): boolean {
    return lane.asked === this.#window.next
  }

  /** Ranks for which this one waits. */
  get whom(): number[] {
    return this.awaited.map(({ rank }) => rank)
  }

  /** Lanes of these ranks. */
  get awaited(): Lane[] {
    return this.#part === this.#root ? this.#root.awaited : [this.#receiver.lane]
  }

  /**
   * Checks the time (`now`, nanoseconds): the root requests missing reports, and the other ranks answer. Returns the milliseconds after
   * which to call it again if nothing arrives.
   */
  urge(now: number): number {
    return this.#part.urge(now)
  }

  /** Prepares for a wait: requests events for everything that this call waits for. Otherwise as `urge`. */
  arm(now: number): number {
    this.#datagrams.arm()
    return this.#part.arm(now)
  }
}
