/**
 * Services that several agents have registered together, as the workers of a cluster do that listen on one port: the choice of the agent
 * that gets a request.
 *
 *     a repetition     the agent that has the request, so that it is not answered twice
 *     any other        the agents in turn, but one with the fewest messages that it has not read yet: a thread that
 *                      computes, or is stopped, gets no more until it has read what waits for it. Dead ones are passed over
 */
import type { Host } from './host.ts'
import { Cq, maxAgents, maxRecentRequests, Qp, RecentRequest, Service } from './layout.ts'

export class Sharers {
  readonly #host: Host
  /** First words of the queue pairs of the agents. */
  readonly #agents = new Int32Array(maxAgents)
  /** The record of the first one's service, which keeps whose turn it is. */
  #service = 0

  constructor(host: Host) {
    this.#host = host
  }

  put(i: number, q: number, service: number): void {
    if (i === 0) this.#service = service
    this.#agents[i] = q
  }

  /** Returns the first of `count` agents that were put here; −1 without any. */
  first(count: number): number {
    return count > 0 ? this.#agents[0]! : -1
  }

  /** Returns the one of `count` agents that were put here that gets the request with this key. */
  choose(count: number, key: number): number {
    const { i32, at } = this.#host
    const recent = at.recentRequests + (key & (maxRecentRequests - 1)) * RecentRequest.words
    if (i32[recent + RecentRequest.key] === key) {
      const number = i32[recent + RecentRequest.qpNum]!
      for (let i = 0; i < count; i++) if (i32[this.#agents[i]! + Qp.number] === number) return this.#agents[i]!
    }
    const chosen = this.#next(count)
    // Torn between two threads, an entry is of no request, and at worst a repetition goes to another agent.
    i32[recent + RecentRequest.key] = key
    i32[recent + RecentRequest.qpNum] = i32[chosen + Qp.number]!
    return chosen
  }

  #next(count: number): number {
    const { i32, segment } = this.#host
    const turn = (i32[this.#service + Service.turn]! >>> 0) % count
    let chosen = turn
    let fewest = Number.POSITIVE_INFINITY
    for (let k = 0; k < count && fewest > 0; k++) {
      const i = (turn + k) % count
      const q = this.#agents[i]!
      const unread = unreadBy(this.#host, q)
      if (unread >= fewest || !segment.attachmentAlive(i32[q + Qp.owner]!)) continue
      chosen = i
      fewest = unread
    }
    i32[this.#service + Service.turn] = chosen + 1
    return this.#agents[chosen]!
  }
}

/** Messages that wait in the completion queue of an agent; in the middle of a change it may be a wrong number. */
export function unreadBy(host: Host, q: number): number {
  const { i32 } = host
  const cq = host.cqWord(i32[q + Qp.recvCq]!)
  return (i32[cq + Cq.head]! - i32[cq + Cq.tail]!) >>> 0
}
