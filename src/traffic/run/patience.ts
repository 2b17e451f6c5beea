/**
 * Time after which a client gives up missing data. A flow of UC or UD is lost when its queue pair has been silent for a second longer than
 * its rate explains; a flow that takes long is not, as long as data of it comes. A WRITE on RC is not visible before its end, so the end of
 * a run waits for as long as the outstanding flows may take; meanwhile the server is probed. Times are nanoseconds from the start of the
 * loop.
 */
import type { Channel } from './channel.ts'
import type { FlowRing } from './flow-ring.ts'
import type { Link } from './link.ts'

/** Time after which missing data does not come any more, for UC and UD. */
const lossNs = 1e9
/** Time without any data after the last request, after which the loop ends. */
const graceNs = 3e9
/** Time of silence after which a server that owes data is probed, and interval of further probes. */
const probeNs = 1e9
/** Minimum share of the configured bandwidth that a device carries. */
const leastShare = 1 / 4
/** Maximum time by which the backlog of the servers delays the detection of a loss. */
const mostBacklogNs = 9e9
/** Time without a check after which the loop itself was away: data that may have come meanwhile is not missing yet. */
const awayNs = 200e6

export class Patience {
  readonly #links: readonly (Link | null)[]
  /** Nanoseconds of a byte at the minimum bandwidth. */
  readonly #byteNs: number
  /** Times since when queue pairs are silent, by number of the queue pair. */
  readonly #silent: Float64Array
  /** Times since when no data has been completed or has come, by server, and the progress at that time. */
  readonly #still: Float64Array
  readonly #signs: Float64Array
  readonly #live: boolean
  #lookNs = 0
  /** Time since when this loop checks regularly. */
  #presentNs = 0
  /** Maximum time that the outstanding flows take; −1 if that is not known yet. */
  #backlogNs = -1

  /** `live`: time passes by itself, so that the loop can miss some of it. */
  constructor(links: readonly (Link | null)[], stride: number, bandwidthBps: number, live: boolean) {
    this.#links = links
    this.#byteNs = 8e9 / (bandwidthBps * leastShare)
    this.#silent = new Float64Array(stride)
    this.#still = new Float64Array(links.length)
    this.#signs = new Float64Array(links.length)
    this.#live = live
  }

  /** Records data on this queue pair. */
  heard(index: number, now: number): void {
    this.#silent[index] = now
  }

  /** Prepares a check of the flows. */
  look(now: number): void {
    if (this.#live && now - this.#lookNs > awayNs) this.#presentNs = now
    this.#lookNs = now
    this.#backlogNs = -1
  }

  /** True if the awaited flow at the head of a channel of UC or UD is lost. */
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
   * True if it is time to probe a server. This end's own sends and fetches end when their retries do, and flows of UC and UD when they are
   * given up; but for the flows that a server sends on RC no request is outstanding here.
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

  /** Time for which no data may come at the end, while flows are outstanding. Flows of UC and UD are given up separately. */
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

/** Returns the time that the oldest flow takes at its rate. */
function headNs({ head, tail, mask, sizes, rates }: FlowRing): number {
  return head === tail ? 0 : durationNs(sizes[head & mask]!, rates[head & mask]!)
}

/** Returns the bytes of the flows that are not over, up to the one with this number. */
function bytesOf({ head, mask, sizes }: FlowRing, end: number): number {
  let bytes = 0
  for (let number = head; number < end; number++) bytes += sizes[number & mask]!
  return bytes
}
