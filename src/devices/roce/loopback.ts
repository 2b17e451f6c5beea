/**
 * Packets between queue pairs of one adapter, of one or several processes: they stay in memory, as real adapters loop back inside. The
 * thread that sends them receives them, too, in the same turn. One object for each device and thread; the packets that it holds when its
 * thread is killed are lost like any packet.
 */
import type { Path } from './paths.ts'

/** Room for packets in bytes: little more than fits into a processor's cache with the memory that they are copied from and to. */
export const loopbackBytes: number = 128 * 1024
/** Maximum number of packets that wait at the same time. */
const mostPackets = 1024
const wordsEach = 4

export class Loopback {
  readonly #at: number
  /** Words of each packet: its first byte, the byte after it, traffic class, hop limit. */
  readonly #packets = new Int32Array(mostPackets * wordsEach)
  readonly #paths: (Path | null)[] = new Array(mostPackets).fill(null)
  #used = 0
  #head = 0
  #tail = 0
  /** True if a packet found no room since the last one was delivered. */
  full = false

  /** Constructs a queue; `at` is the first of `loopbackBytes` bytes of the segment. */
  constructor(at: number) {
    this.#at = at
  }

  /** True if packets wait. */
  get waiting(): boolean {
    return this.#head !== this.#tail
  }

  /** Returns room for a packet of `lengthBytes`; −1 if the packets that wait must be delivered first. */
  open(lengthBytes: number): number {
    if (this.#tail === mostPackets || this.#used + lengthBytes > loopbackBytes) {
      this.full = true
      return -1
    }
    return this.#at + this.#used
  }

  /** Queues the packet that was written to the room that `open` returned. */
  close(lengthBytes: number, path: Path, trafficClass: number, hopLimit: number): void {
    const at = this.#at + this.#used
    const word = this.#tail * wordsEach
    this.#packets[word] = at
    this.#packets[word + 1] = at + lengthBytes
    this.#packets[word + 2] = trafficClass
    this.#packets[word + 3] = hopLimit
    this.#paths[this.#tail++] = path
    this.#used += (lengthBytes + 7) & ~7
  }

  /**
   * Returns the path of the packet to deliver next, whose properties are in `at`, `end`, `trafficClass` and `hopLimit`; null if none
   * waits.
   */
  next(): Path | null {
    if (this.#head === this.#tail) {
      this.#head = 0
      this.#tail = 0
      this.#used = 0
      this.full = false
      return null
    }
    const word = this.#head * wordsEach
    this.at = this.#packets[word]!
    this.end = this.#packets[word + 1]!
    this.trafficClass = this.#packets[word + 2]!
    this.hopLimit = this.#packets[word + 3]!
    return this.#paths[this.#head++]!
  }

  at = 0
  end = 0
  trafficClass = 0
  hopLimit = 0

  /** Drops all packets that wait. */
  clear(): void {
    this.#head = 0
    this.#tail = 0
    this.#used = 0
    this.full = false
    this.#paths.fill(null)
  }
}
