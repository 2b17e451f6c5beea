/**
 * When a client gives up what does not come. A flow of UC or UD is lost when its queue pair has been silent for a second longer than
 * its rate explains; a flow that takes long is not, as long as something of it comes. Of a WRITE on RC nothing shows
 * before its end, so the end of a run waits for as long as what is outstanding may take; meanwhile the server is asked whether
 * it is still there. Times are nanoseconds from the start of the loop.
 */
import type { Channel } from './channel.ts'
import type { FlowRing } from './flow-ring.ts'
import type { Link } from './link.ts'

/** UC and UD: what has not come for so long does not come any more. */
const lossNs = 1e9
/** After the last request, the loop ends when nothing has come for so long. */
const graceNs = 3e9
/** A server that owes something and has been silent for so long is asked, and again as long after. */
const probeNs = 1e9
/** A device carries at least this share of the bandwidth that was configured. */
const leastShare = 1 / 4
/** A loss is found after so much more at last, whatever else the servers have to send. */
const mostBacklogNs = 9e9
/** A loop that has not looked for so long was away itself: what may have come meanwhile is not missing yet. */
const awayNs = 200e6

export class Patience {
  readonly #links: readonly (Link | null)[]
  /** Nanoseconds of a byte at the least bandwidth. */
  readonly #byteNs: number
  /** By number of a queue pair: since when it is silent. */
  readonly #silent: Float64Array
  /** By server: since when nothing has been completed or has come, and what had come by then. */
  readonly #still: Float64Array
  readonly #signs: Float64Array
  readonly #live: boolean
  #lookNs = 0
  /** Since when this loop looks regularly. */
  #presentNs = 0
  /** What the outstanding flows take at most; −1 if that is not known yet. */
  #backlogNs = -1

  /** `live`: time goes on by itself, so that the loop can miss some of it. */
  constructor(links: readonly (Link | null)[], stride: number, bandwidthBps: number, live: boolean) {
    this.#links = links
    this.#byteNs = 8e9 / (bandwidthBps * leastShare)
    this.#silent = new Float64Array(stride)
    this.#still = new Float64Array(links.length)
    this.#signs = new Float64Array(links.length)
    this.#live = live
  }

  /** Something has come on this queue pair. */
  heard(index: number, now: number): void {
    this.#silent[index] = now
  }

  /** Before flows are looked at. */
  look(now: number): void {
    if (this.#live && now - this.#lookNs > awayNs) this.#presentNs = now
    this.#lookNs = now
    this.#backlogNs = -1
  }

  /** Whether the awaited flow at the head of a channel of UC or UD is lost. */
  isOver(channel: Channel, now: number): boolean {
    const { awaited, index, marks } = channel
    const at = awaited.head & awaited.mask
    const [size, rate] = [awaited.sizes[at]!, awaited.rates[at]!]
    const sinceNs = Math.max(this.#silent[index]!, awaited.begins[at]!, this.#presentNs)
    const excessNs = now - sinceNs - lossNs - channel.messageNs(size, rate)
    if (excessNs < 0 || excessNs < Math.min(mostBacklogNs, this.#backlog())) return false
    if (marks?.moved()) {
      this.#silent[index] = now
      return false
    }
    // The server may be sending it for so long, before those that follow.
    this.#silent[index] = sinceNs + durationNs(size, rate)
    return true
  }

  /**
   * Whether it is time to ask a server if it is there. What this end sends or fetches ends by itself when its retries do, what UC and UD
   * owe when it is given up; but of what a server sends on RC nothing is outstanding here.
   */
  doubts(server: number, now: number): boolean {
    let [sign, owed] = [0, 0]
    for (const { awaited, arrived, unreliable } of this.#links[server]!.channels) {
      if (unreliable) continue
      sign += awaited.head + awaited.next + arrived
      owed += awaited.next - awaited.head
    }
    const silent = owed > 0 && sign === this.#signs[server]!
    this.#signs[server] = sign
    if (silent && now - this.#still[server]! < probeNs) return false
    this.#still[server] = now
    return silent
  }

  /** How long nothing may come at the end, while something is outstanding. What UC and UD owe is given up by itself. */
  get graceNs(): number {
    let longestNs = 0
    for (const link of this.#links)
      if (link !== null && link.failure === '')
        for (const { awaited, flows, unreliable } of link.channels) {
          if (unreliable && awaited.head < awaited.next) return Number.POSITIVE_INFINITY
          longestNs = Math.max(longestNs, headNs(awaited), headNs(flows))
        }
    return graceNs + longestNs + this.#backlog()
  }

  #backlog(): number {
    if (this.#backlogNs >= 0) return this.#backlogNs
    let bytes = 0
    for (const link of this.#links)
      if (link !== null && link.failure === '')
        for (const { awaited, flows, begun } of link.channels)
          bytes += bytesOf(awaited, awaited.next) + bytesOf(flows, begun)
    this.#backlogNs = bytes * this.#byteNs
    return this.#backlogNs
  }
}

function durationNs(size: number, rateBps: number): number {
  return rateBps > 0 ? (size * 8e9) / rateBps : 0
}

/** What the oldest flow takes at its rate. */
function headNs({ head, tail, mask, sizes, rates }: FlowRing): number {
  return head === tail ? 0 : durationNs(sizes[head & mask]!, rates[head & mask]!)
}

/** Of flows that are not over, up to the one with this number. */
function bytesOf({ head, mask, sizes }: FlowRing, end: number): number {
  let bytes = 0
  for (let number = head; number < end; number++) bytes += sizes[number & mask]!
  return bytes
}
