/** The first ranks of a group work together while the remaining ranks wait. */
import type { Ranks } from '../../collectives/index.ts'
import type { Group } from '../../collectives/launch/index.ts'

/**
 * First byte of a rank's message in an exchange: it waits, it takes part, or the work is over. The second: 1 if it was requested to end.
 */
const waits = 0
const takesPart = 1
const over = 2

export class FirstRanks implements Ranks {
  readonly rank: number
  readonly size: number
  readonly members: Group['members']
  readonly signal: AbortSignal
  /** True if any rank of the group had been requested to end at the last exchange: the same at all ranks that take part. */
  stopped = false
  readonly #group: Group
  readonly #stop: () => boolean

  constructor(group: Group, size: number, stop: () => boolean) {
    this.#group = group
    this.#stop = stop
    this.rank = group.rank
    this.size = size
    this.members = group.members.slice(0, size)
    this.signal = group.signal
  }

  /**
   * Runs `work` on the first `size` ranks, with exchanges in the same order, while the other ranks wait; a collective call of all ranks
   * of the group. Returns true when one of them was requested to end (`stop`).
   */
  static async work(
    group: Group,
    size: number,
    stop: () => boolean,
    work: (ranks: FirstRanks) => Promise<void>,
  ): Promise<boolean> {
    const ranks = new FirstRanks(group, size, stop)
    if (group.rank >= size) {
      for (;;) {
        const [first] = await ranks.#exchange(waits, new Uint8Array(0))
        if (first![0] === over) return ranks.stopped
      }
    }
    await work(ranks)
    await ranks.#exchange(over, new Uint8Array(0))
    return ranks.stopped
  }

  async allgather(bytes: Uint8Array): Promise<Uint8Array[]> {
    const all = await this.#exchange(takesPart, bytes)
    return all.slice(0, this.size).map((each) => each.subarray(2))
  }

  async barrier(): Promise<void> {
    await this.#exchange(takesPart, new Uint8Array(0))
  }

  async #exchange(kind: number, bytes: Uint8Array): Promise<Uint8Array[]> {
    const mine = new Uint8Array(2 + bytes.length)
    mine[0] = kind
    mine[1] = this.#stop() ? 1 : 0
    mine.set(bytes, 2)
    const all = await this.#group.allgather(mine, { timeoutMs: 0 })
    this.stopped ||= all.some((each) => each[1] === 1)
    return all
  }
}
