/**
 * The packets that a thread has made and not sent yet. It makes them with the device's lock, and sends them when it has given that back:
 * on one host the kernel executes the receiver in sendmsg(2), and wakes it, and may run it in the place of this thread.
 *
 * Packets of one destination and one size are a burst that the kernel cuts (UDP_SEGMENT): they lie one behind the other, and only the
 * last may be shorter.
 */
import { Icrc } from '../../wire/index.ts'
import type { Path } from './paths.ts'

/** TTL and hop limit that Linux gives packets unless told otherwise. */
export const usualHopLimit = 64

/** Bytes of one burst, and packets in it, at most. */
const burstBytes = 62 * 1024
const burstPackets = 64
/** Bursts of one turn, at most. */
const mostBursts = 64
/** Room for packets: little more than fits into a processor's cache with the memory that they are copied from. */
export const outboxBytes: number = 2 * burstBytes

/** Words of a burst. */
const Burst = { words: 8, from: 0, end: 1, segment: 2, packets: 3, trafficClass: 4, hopLimit: 5, numbered: 6 } as const

export class Outbox {
  readonly #u8: Uint8Array
  readonly #at: number
  readonly #bursts = new Int32Array(mostBursts * Burst.words)
  readonly #paths: (Path | null)[] = new Array(mostBursts).fill(null)
  /** Bursts that are complete, and the end of their bytes. */
  #count = 0
  #end = 0
  /** A packet found no room since the last `send`. */
  full = false
  /** What `send` could not send since `settled`: calls, packets and bytes. */
  failures = 0
  unsentPackets = 0
  unsentBytes = 0

  // The burst that is being collected.
  #path: Path | null = null
  #used = 0
  #segment = 0
  #packets = 0
  #last = false
  #trafficClass = 0
  #hopLimit = 0

  /** `at`: the first of `outboxBytes` bytes of the segment. */
  constructor(u8: Uint8Array, at: number) {
    this.#u8 = u8
    this.#at = at
  }

  get isEmpty(): boolean {
    return this.#count === 0 && this.#packets === 0
  }

  /** Room for a packet of `total` bytes with its ICRC, of which there is one for each path that is not null; −1 if others must be sent first. */
  open(path: Path | null, total: number, trafficClass: number, hopLimit: number): number {
    if (
      path !== this.#path ||
      trafficClass !== this.#trafficClass ||
      hopLimit !== this.#hopLimit ||
      this.#last ||
      (this.#packets > 0 && total > this.#segment) ||
      this.#packets === burstPackets ||
      this.#used + total > burstBytes
    ) {
      this.#complete()
      this.#path = path
      this.#trafficClass = trafficClass
      this.#hopLimit = hopLimit
    }
    if (this.#count === mostBursts || this.#end + this.#used + total > outboxBytes) {
      this.full = true
      return -1
    }
    return this.#at + this.#end + this.#used
  }

  /** The packet that `open` made room for stands there. */
  close(path: Path, lengthBytes: number): void {
    const total = lengthBytes + Icrc.length
    const at = this.#at + this.#end + this.#used
    // The kernel numbers the segments of one call 0, 1, 2, …; without segmentation each is a packet of its own.
    path.flow.write(this.#u8, at, at + lengthBytes, path.socket!.segmentation ? this.#packets : 0)
    if (this.#packets === 0) this.#segment = total
    else if (total < this.#segment) this.#last = true
    this.#packets++
    this.#used += total
  }

  #complete(): void {
    const packets = this.#packets
    if (packets === 0) return
    const word = this.#count * Burst.words
    const bursts = this.#bursts
    bursts[word + Burst.from] = this.#at + this.#end
    this.#end += this.#used
    bursts[word + Burst.end] = this.#at + this.#end
    bursts[word + Burst.segment] = this.#segment
    bursts[word + Burst.packets] = packets
    bursts[word + Burst.trafficClass] = this.#trafficClass
    // The usual value is the system's own: then nothing has to be said with each call.
    bursts[word + Burst.hopLimit] = this.#hopLimit === usualHopLimit ? 0 : this.#hopLimit
    bursts[word + Burst.numbered] = packets > 1 && this.#path!.socket!.segmentation ? 1 : 0
    this.#paths[this.#count++] = this.#path
    this.#used = 0
    this.#packets = 0
    this.#last = false
  }

  /** Sends all. What cannot be sent is lost, and counted. */
  send(): void {
    this.#complete()
    const count = this.#count
    try {
      for (let i = 0; i < count; i++) this.#sendBurst(this.#paths[i]!, i * Burst.words)
    } finally {
      this.clear()
    }
  }

  #sendBurst(path: Path, word: number): void {
    const bursts = this.#bursts
    const socket = path.socket!
    const from = bursts[word + Burst.from]!
    const end = bursts[word + Burst.end]!
    const segment = bursts[word + Burst.segment]!
    const packets = bursts[word + Burst.packets]!
    let numbered = bursts[word + Burst.numbered] === 1
    socket.setTrafficClass(bursts[word + Burst.trafficClass]!)
    socket.setHopLimit(bursts[word + Burst.hopLimit]!)
    for (let at = from; at < end; ) {
      if (numbered && !socket.segmentation) {
        this.#renumber(path, at, end, segment)
        numbered = false
      }
      const sent = socket.send(at, end - at, packets > 1 ? segment : 0, path.destination)
      if (sent < 0) {
        // The buffer is full, or the path does not take it: for the transport it is lost.
        this.failures++
        this.unsentPackets += packets - Math.floor((at - from) / segment)
        this.unsentBytes += end - at
        return
      }
      at += sent
    }
  }

  /** The kernel has just refused to segment: the rest goes as single packets, whose identification is 0. */
  #renumber(path: Path, from: number, end: number, segment: number): void {
    for (let at = from; at < end; at += segment)
      path.flow.write(this.#u8, at, Math.min(at + segment, end) - Icrc.length, 0)
  }

  /** What could not be sent is counted. */
  settled(): void {
    this.failures = 0
    this.unsentPackets = 0
    this.unsentBytes = 0
  }

  /** What waits is lost. */
  clear(): void {
    this.#paths.fill(null, 0, this.#count)
    this.#count = 0
    this.#end = 0
    this.#path = null
    this.#used = 0
    this.#packets = 0
    this.#last = false
    this.full = false
  }
}
