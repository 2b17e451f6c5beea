/**
 * Broadcasts by multicast, and what repairs them. The root sends each chunk once, by a UD SEND whose immediate is the chunk's number among
 * all of the communicator; what the network or a full receive queue drops is asked for, and comes on the lane (RC).
 *
 *     root                                     each other rank
 *     multicasts a window of chunks      →     copies what comes to its place
 *                                        ←     report: the chunks that it lacks (NAK), when the last has come or it was asked, before it sleeps
 *     each of these, in their order      →     (lane)
 *                                        ←     report: none is missing; then the next window
 *     Query: what is missing?            →     (lane) once for each window, after a millisecond: the last chunks may be lost, too
 *
 * Each rank reports at most twice for a window, and takes all that it has asked for, also what arrived meanwhile:
 * when a call is over, none of its messages is left but Queries, which the lane keeps to itself. The root's memory is what chunks are
 * repaired from.
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
  /** What this rank is in the present call. */
  #part: MulticastRoot | MulticastReceiver

  constructor(
    device: Device,
    { lanes, slotBytes, channel }: Mesh,
    { rank, gidIndex }: { rank: number; gidIndex: number },
  ) {
    const { context, memory } = device
    this.#rank = rank
    this.#datagrams = new Datagrams(device, channel, gidIndex)
    // A chunk that is repaired goes into a slot.
    this.#window = new Window(Math.min(context.queryPort(1).activeMtu, slotBytes))
    this.#root = new MulticastRoot(this.#datagrams, this.#window, memory, lanes)
    this.#receiver = new MulticastReceiver(this.#datagrams, this.#window, memory, lanes)
    this.#part = this.#root
  }

  /** What the other ranks must know. */
  get address(): Uint8Array {
    return this.#datagrams.addressFor(this.#window.chunkBytes)
  }

  /** Joins the group of rank 0. When every rank has done so, anybody may send. */
  connect(addresses: readonly Uint8Array[]): void {
    this.#window.chunkBytes = this.#datagrams.connect(addresses)
  }

  /** Counts chunks that came, and reports: what tells that a call gets further. */
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

  /** Does what can be done now. True when the call is over. */
  step(): boolean {
    while (this.#part.step()) {
      if (!this.#window.advance()) return true
      this.#open()
    }
    return false
  }

  /** Whether a rank waits for reports of a multicast that this rank has not begun. */
  begunBy(lane: Lane): boolean {
    return lane.asked === this.#window.next
  }

  /** The ranks that this one waits for. */
  get whom(): number[] {
    return this.awaited.map(({ rank }) => rank)
  }

  /** Their lanes. */
  get awaited(): Lane[] {
    return this.#part === this.#root ? this.#root.awaited : [this.#receiver.lane]
  }

  /**
   * A look at the time (`now`, nanoseconds): the root asks for the reports that it has not got, and the others answer. Returns after how
   * many milliseconds to come again, if nothing comes.
   */
  urge(now: number): number {
    return this.#part.urge(now)
  }

  /** Before a wait: asks for events of what this call waits for. Else as `urge`. */
  arm(now: number): number {
    this.#datagrams.arm()
    return this.#part.arm(now)
  }
}
