/** The first ranks of a group work together while the others wait. */
import type { Ranks } from '../../collectives/index.ts'
import type { Group } from '../../collectives/launch/index.ts'

/** First byte of what a rank gives to an exchange: it waits, it takes part, or the work is over. The second: whether it shall end. */
const waits = 0
const takesPart = 1
const over = 2

export class FirstRanks implements Ranks {
  readonly rank: number
  readonly size: number
  readonly members: Group['members']
  readonly signal: AbortSignal
  /** Whether any rank of the group was asked to end, as of the last exchange: the same at all that take part. */
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
   * All ranks of the group together: the first `size` do `work`, with exchanges in the same order, the others wait. True when one of
   * them was asked to end (`stop`).
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
