/** `joinGroup`: the ranks of a job meet. */
import { GroupError } from './error.ts'
import type { Exchanged, ExchangeKind, Port } from './exchange.ts'
import {
  defaultTimeoutMs,
  type Group,
  type GroupOptions,
  introduce,
  limitOf,
  type Member,
  mostGathered,
  type WaitOptions,
} from './group.ts'
import { Hub } from './hub.ts'
import { groupKey } from './key.ts'
import { Kind, mostBeforeProof } from './link.ts'
import { endWithParent } from './local.ts'
import { Spoke } from './member.ts'
import { placeOf } from './place.ts'

/**
 * Joins the group of this process and waits for the other ranks. Rank, size and the address of rank 0 come from the options or from the
 * variables of a launcher (`placeOf`); the key comes from `groupKey`. From this call on, a process that `runRanks` has started ends with
 * its parent. Throws a GroupError within the timeout, which names the ranks that are missing, present twice or different.
 */
export async function joinGroup(options: GroupOptions = {}): Promise<Group> {
  endWithParent()
  const place = placeOf(options)
  const { rank, size, launcher, job } = place
  const timeoutMs = limitOf(options.timeoutMs ?? defaultTimeoutMs)
  const self = introduce(rank, size, options.settings)
  const saidBytes = Buffer.byteLength(JSON.stringify(self))
  if (saidBytes > mostBeforeProof - 256)
    throw new GroupError(
      'ERR_GROUP_DIFFERS',
      `the settings take ${saidBytes} bytes in a message, of which ${mostBeforeProof - 256} are the most`,
    )
  const secret = { key: size === 1 ? Buffer.alloc(32) : groupKey(options.environment), job }
  const port = rank === 0 ? new Hub(self, secret, timeoutMs) : new Spoke(self, secret, timeoutMs)
  const members = await port.meet(place, options.signal)
  return new RankGroup(rank, launcher, members, port, timeoutMs)
}

class RankGroup implements Group {
  readonly rank: number
  readonly launcher: string
  readonly members: readonly Member[]
  readonly #port: Port
  readonly #timeoutMs: number
  readonly #controller = new AbortController()
  readonly #failed: Promise<never>
  #stop: (error: GroupError) => void = () => {}
  /** End of the last exchange. Exchanges are executed in order, including those that no caller awaits. */
  #last: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | null = null

  constructor(rank: number, launcher: string, members: readonly Member[], port: Port, timeoutMs: number) {
    this.rank = rank
    this.launcher = launcher
    this.members = members
    this.#port = port
    this.#timeoutMs = timeoutMs
    this.#failed = new Promise((_, reject) => {
      this.#stop = reject
      port.onFailure = (error) => {
        reject(error)
        this.#controller.abort(error)
      }
    })
    this.#failed.catch(() => {})
    if (port.failure !== null) port.onFailure(port.failure)
  }

  get size(): number {
    return this.members.length
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  async barrier(options?: WaitOptions): Promise<void> {
    await this.#exchange(Kind.Barrier, new Uint8Array(0), options)
  }

  async allgather(bytes: Uint8Array, options?: WaitOptions): Promise<Uint8Array[]> {
    if (bytes.length > mostGathered)
      throw new RangeError(`an allgather takes at most ${mostGathered} bytes of a rank, not ${bytes.length}`)
    return [...(await this.#exchange(Kind.Gather, Uint8Array.from(bytes), options))]
  }

  fail(why: string): void {
    this.#port.fail(new GroupError('ERR_GROUP_FAILED', this.rank === 0 ? `rank 0 gave up: ${why}` : why, this.rank))
  }

  close(): Promise<void> {
    // Calls that wait for the other ranks end now.
    this.#stop(left(this.rank))
    this.#closed ??= this.#port.close()
    return this.#closed
  }

  #exchange(
    kind: ExchangeKind,
    bytes: Uint8Array,
    { timeoutMs = this.#timeoutMs }: WaitOptions = {},
  ): Promise<Exchanged> {
    const limitMs = limitOf(timeoutMs)
    const next = this.#last.then(() => {
      if (this.#closed !== null) throw left(this.rank)
      return Promise.race([this.#port.exchange(kind, bytes, limitMs), this.#failed])
    })
    this.#last = next.catch(() => {})
    return next
  }
}

function left(rank: number): GroupError {
  return new GroupError('ERR_GROUP_CLOSED', 'this rank has left the group', rank)
}
