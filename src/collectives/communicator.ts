/** Collective operations between the ranks of a group, on verbs. */
import { nowNs, openDevice } from '../index.ts'
import { nativeAvailable, yieldProcessor } from '../memory/index.ts'
import { Caller, nameOf } from './caller.ts'
import { Chooser } from './choose.ts'
import type { Operation } from './combine.ts'
import { areCrowded, coresBytes, withCores } from './cores.ts'
import { drain } from './drain.ts'
import { CollectiveError } from './error.ts'
import { type AnyArray, type ElementArray, Memory } from './memory.ts'
import { Mesh } from './mesh.ts'
import { Multicast } from './multicast.ts'
import { Opened } from './opened.ts'
import type { CommunicatorOptions, Ranks } from './options.ts'
import { Runner } from './runner.ts'
import { agree, checkCalls } from './same-calls.ts'
import type { Collective } from './schedule/index.ts'
import { tableOfEnvironment } from './table-file.ts'

/** Milliseconds of a wait in the kernel between two checks that the peers that this rank waits for are alive. */
const probeMs = 500

/** Milliseconds for which `end` waits for acknowledgements by default. */
const endMs = 10_000

/** State of a call that waits. */
interface Patience {
  moves: number
  /** Time of the last progress, and of the last probe of the peers. */
  sinceNs: number
  probedNs: number
}

/**
 * Collective operations of one rank. All ranks call the same collectives in the same order, with the same counts, types, roots and
 * operations; the errors of the other ranks name a rank that does not, if they can identify it. A call ends when this rank's part is done:
 * other ranks may still be executing theirs. Calls block the thread, or (`…Async`) leave it free until the promise resolves; calls that are
 * not awaited are executed one after the other.
 *
 * Arrays of `alloc` are used in place; the contents of other arrays are copied from and to memory that the device can reach.
 *
 * After an error other than EINVAL the communicator can only be closed.
 */
export class Communicator {
  readonly rank: number
  readonly size: number
  readonly #ranks: Ranks
  readonly #opened: Opened
  readonly #memory: Memory
  readonly #mesh: Mesh
  readonly #multicast: Multicast | null
  readonly #runner: Runner
  readonly #chooser: Chooser
  readonly #caller: Caller
  readonly #timeoutMs: number
  /** Microseconds of polling that the user requested; null: chosen by the number of cores of this host. */
  readonly #spinUs: number | null
  readonly #directBytes: number | null
  #spinNs = 0
  /** True if this host has more ranks than cores that they share: a rank that polls then yields its core to other ranks. */
  #crowded = false
  readonly #aborted = (): void => this.#abort()
  /** Number of `…Async` calls that are executing or queued, and the end of the last of them. */
  #deferred = 0
  #tail: Promise<unknown> = Promise.resolve()
  #closed = false

  /** Constructor for `createCommunicator` only. */
  constructor(ranks: Ranks, options: CommunicatorOptions) {
    const { rank, size } = ranks
    this.rank = rank
    this.size = size
    this.#ranks = ranks
    this.#chooser = new Chooser(size, options.table ?? tableOfEnvironment())
    this.#timeoutMs = options.timeoutMs ?? 0
    this.#spinUs = options.spinUs ?? null
    this.#directBytes = options.directBytes ?? null
    const opened = new Opened()
    this.#opened = opened
    const { gidIndex = 0 } = options
    try {
      const context = options.context ?? opened.add(openDevice(options.device!))
      const pd = opened.add(context.allocPd())
      const memory = opened.add(new Memory(context, pd))
      const device = { context, pd, memory, opened }
      const mesh = new Mesh(device, { rank, size, gidIndex, mark: this.#chooser.mark })
      this.#memory = memory
      this.#mesh = mesh
      this.#multicast = this.#chooser.multicasts ? new Multicast(device, mesh, { rank, gidIndex }) : null
      this.#runner = new Runner(mesh, memory, this.#multicast)
      this.#caller = new Caller(this.#runner, memory, this.#chooser, ranks)
    } catch (error) {
      opened.close()
      throw error
    }
    ranks.signal?.addEventListener('abort', this.#aborted)
    if (ranks.signal?.aborted) this.#abort()
  }

  #abort(): void {
    const reason: unknown = this.#ranks.signal?.reason
    const text = reason instanceof Error ? reason.message : 'the group has failed'
    if (!this.#closed) this.#mesh.fail(new CollectiveError('EPEER', text, -1, { cause: reason }))
  }

  /**
   * Connects a queue pair to each rank, for `createCommunicator`. Rejects with the reason of the ranks' signal as soon as that is aborted.
   */
  async connect(): Promise<void> {
    const { signal } = this.#ranks
    let stop = (): void => {}
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(signal?.reason)
    })
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) stop()
    try {
      await Promise.race([this.#meet(), stopped])
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  async #meet(): Promise<void> {
    const told = await this.#ranks.allgather(withCores(this.#mesh.address))
    const addresses = told.map((bytes) => bytes.subarray(0, -coresBytes))
    this.#mesh.connect(addresses)
    this.#settle(told.map((bytes) => bytes.subarray(-coresBytes)))
    this.#mesh.share(addresses, await this.#ranks.allgather(this.#mesh.found(addresses)))
    if (this.#multicast !== null) this.#multicast.connect(await this.#ranks.allgather(this.#multicast.address))
    await this.#ranks.barrier()
  }

  /** Sets what depends on the cores that the ranks have reported. */
  #settle(cores: readonly Uint8Array[]): void {
    const { members } = this.#ranks
    const host = members?.[this.rank]?.host
    this.#crowded = areCrowded(cores.filter((_, rank) => members?.[rank]?.host === host))
    // A rank that cannot yield its core (no system calls) sleeps after a short time if other ranks wait for the core.
    this.#spinNs = (this.#spinUs ?? (this.#crowded && !nativeAvailable ? 5 : 1000)) * 1000
    this.#runner.directBytes = this.#directBytes ?? (this.#crowded ? Number.POSITIVE_INFINITY : 2048)
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  /** Allocates an array of zeros that collectives use without a copy. `Type`: `Float64Array`, `Uint8Array`, … */
  alloc<T extends AnyArray>(
    Type: { new (buffer: ArrayBufferLike, byteOffset: number, length: number): T; BYTES_PER_ELEMENT: number },
    length: number,
  ): T {
    this.#assertOpen()
    return this.#memory.array(Type, length)
  }

  /** Frees an array of `alloc`. */
  free(array: AnyArray): void {
    if (this.#deferred > 0) throw new CollectiveError('EINVAL', 'free: a call is under way, which may use the array')
    this.#memory.freeArray(array)
    this.#caller.forget()
  }

  // --- collectives -------------------------------------------------------------------------------------------------

  /** Returns when all ranks have called it. */
  barrier(): void {
    this.#block('barrier', 0, null, null)
  }
  barrierAsync(): Promise<void> {
    return this.#defer('barrier', 0, null, null)
  }

  /** Copies `data` of the root to `data` of all other ranks. */
  broadcast(data: AnyArray, root = 0): void {
    this.#block('broadcast', root, null, data)
  }
  broadcastAsync(data: AnyArray, root = 0): Promise<void> {
    return this.#defer('broadcast', root, null, data)
  }

  /** Copies part i of the root's `input` to the `output` of rank i. The `input` of other ranks is ignored. */
  scatter(input: AnyArray | null, output: AnyArray, root = 0): void {
    this.#block('scatter', root, input, output)
  }
  scatterAsync(input: AnyArray | null, output: AnyArray, root = 0): Promise<void> {
    return this.#defer('scatter', root, input, output)
  }

  /** Copies the `input` of rank i to part i of the root's `output`. The `output` of other ranks is ignored. */
  gather(input: AnyArray, output: AnyArray | null, root = 0): void {
    this.#block('gather', root, input, output)
  }
  gatherAsync(input: AnyArray, output: AnyArray | null, root = 0): Promise<void> {
    return this.#defer('gather', root, input, output)
  }

  /** Copies the `input` of rank i to part i of the `output` of all ranks. */
  allgather(input: AnyArray, output: AnyArray): void {
    this.#block('allgather', 0, input, output)
  }
  allgatherAsync(input: AnyArray, output: AnyArray): Promise<void> {
    return this.#defer('allgather', 0, input, output)
  }

  /** Copies part j of the `input` of rank i to part i of the `output` of rank j. */
  alltoall(input: AnyArray, output: AnyArray): void {
    this.#block('alltoall', 0, input, output)
  }
  alltoallAsync(input: AnyArray, output: AnyArray): Promise<void> {
    return this.#defer('alltoall', 0, input, output)
  }

  /**
   * Writes the combination of all inputs, element by element, to the root's `output`. Sums of floating-point numbers are the same in each
   * repetition, but may differ for another number of ranks or another algorithm. `input` and `output` may be the same array.
   */
  reduce<T extends ElementArray>(input: T, output: T | null, operation: Operation, root = 0): void {
    this.#block('reduce', root, input, output, operation)
  }
  reduceAsync<T extends ElementArray>(input: T, output: T | null, operation: Operation, root = 0): Promise<void> {
    return this.#defer('reduce', root, input, output, operation)
  }

  /** Writes the combination of all inputs to the `output` of all ranks, identical to the bit at all ranks. */
  allreduce<T extends ElementArray>(input: T, output: T, operation: Operation): void {
    this.#block('allreduce', 0, input, output, operation)
  }
  allreduceAsync<T extends ElementArray>(input: T, output: T, operation: Operation): Promise<void> {
    return this.#defer('allreduce', 0, input, output, operation)
  }

  /**
   * Returns the algorithm of a collective for a number of bytes: all bytes of a broadcast or a reduction, otherwise the bytes that one rank
   * gives one other rank.
   */
  algorithmFor(collective: Collective, bytes: number): string {
    return this.#chooser.choose(collective, bytes)
  }

  // --- carrying out ------------------------------------------------------------------------------------------------

  #block(
    collective: Collective,
    root: number,
    input: AnyArray | null,
    output: AnyArray | null,
    operation: Operation | null = null,
  ): void {
    this.#assertOpen()
    if (this.#deferred > 0)
      throw new CollectiveError('EINVAL', `${collective}: a call is under way: await it, or call ${collective}Async`)
    try {
      this.#caller.begin(collective, root, input, output, operation)
      if (!this.#runner.step()) this.#wait()
      this.#caller.finish()
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #defer(
    collective: Collective,
    root: number,
    input: AnyArray | null,
    output: AnyArray | null,
    operation: Operation | null = null,
  ): Promise<void> {
    return this.#inTurn(async () => {
      this.#caller.begin(collective, root, input, output, operation)
      if (!this.#runner.step()) await this.#waitAsync()
      this.#caller.finish()
    })
  }

  /** Executes `work` after the earlier calls, then `last`, whatever the outcome. */
  #inTurn(work: () => Promise<void>, last?: () => void): Promise<void> {
    const before = this.#tail
    this.#deferred++
    const mine = (async () => {
      try {
        await before
        this.#assertOpen()
        await work()
      } catch (error) {
        throw this.#failed(error)
      } finally {
        this.#deferred--
        last?.()
      }
    })()
    // The next call waits for this one, however it ends.
    this.#tail = mine.catch(() => undefined)
    return mine
  }

  /** Polls for a limited time; returns true if the call has ended. */
  #spin(): boolean {
    let turns = 0
    let untilNs = 0
    while (!this.#runner.step()) {
      if (this.#crowded && (turns & 7) === 7) yieldProcessor()
      if ((++turns & 31) !== 0) continue
      if (this.#mesh.failure !== null) throw this.#mesh.failure
      const now = nowNs()
      this.#runner.urge(now)
      if (untilNs === 0) untilNs = now + this.#spinNs
      else if (now >= untilNs) return false
    }
    return true
  }

  #wait(): void {
    const { channel } = this.#mesh
    const patience = this.#patience()
    while (!this.#spin()) {
      const waitMs = Math.min(probeMs, this.#runner.arm(nowNs()))
      // A message that arrived before the arming generates no event.
      if (this.#runner.step()) return
      channel.getEvent(waitMs)?.ackEvents(1)
      this.#check(patience)
    }
  }

  async #waitAsync(): Promise<void> {
    const patience = this.#patience()
    // This call may wait for other work of this thread, so nothing polls here.
    while (!this.#runner.step()) {
      const waitMs = Math.min(probeMs, this.#runner.arm(nowNs()))
      if (this.#runner.step()) return
      await this.#mesh.event(waitMs)
      this.#check(patience)
    }
  }

  #patience(): Patience {
    const now = nowNs()
    return { moves: this.#runner.moves, sinceNs: now, probedNs: now }
  }

  /**
   * Checks the progress after an event, or after `probeMs` without one. An event alone is not progress: only a transfer that advanced is.
   */
  #check(patience: Patience): void {
    if (this.#mesh.failure !== null) throw this.#mesh.failure
    const now = nowNs()
    if (this.#runner.moves !== patience.moves) {
      patience.moves = this.#runner.moves
      patience.sinceNs = patience.probedNs = now
      return
    }
    if (now - patience.probedNs < probeMs * 1e6) return
    patience.probedNs = now
    const waitedMs = (now - patience.sinceNs) / 1e6
    if (this.#timeoutMs > 0 && waitedMs >= this.#timeoutMs) {
      const { what, whom } = this.#runner
      const message = `${what}: nothing came from ${whom} for ${(waitedMs / 1000).toFixed(1)} s`
      throw new CollectiveError('ETIMEDOUT', message)
    }
    this.#runner.probe()
  }

  /**
   * Returns the error of a call. A call with invalid arguments has sent nothing; after any other error the ranks are no longer at the same
   * point.
   */
  #failed(error: unknown): unknown {
    if (error instanceof CollectiveError) {
      if (error.code === 'EINVAL' || error.code === 'ECLOSED') return error
      this.#runner.drop()
      return this.#mesh.fail(error)
    }
    this.#runner.drop()
    const text = error instanceof Error ? error.message : String(error)
    return this.#mesh.fail(new CollectiveError('EPEER', text, -1, { cause: error }))
  }

  #assertOpen(): void {
    if (this.#closed) throw new CollectiveError('ECLOSED', 'the communicator is closed')
    if (this.#mesh.failure !== null) throw this.#mesh.failure
  }

  /**
   * Ends the communicator in order; all ranks call it. Waits for calls that are not complete, until all sends of this rank are acknowledged
   * (`timeoutMs`, 0: no limit), and until all ranks have called it; then closes, whatever the outcome. Rejects with a CollectiveError: also
   * if the ranks did not make the same calls (EMISMATCH), which may not have shown before.
   */
  end({ timeoutMs = endMs }: { timeoutMs?: number } = {}): Promise<void> {
    const work = async (): Promise<void> => {
      await drain(this.#mesh, timeoutMs)
      // Ranks may end hours apart; one that dies is noticed by its connection.
      await this.#whileSame(this.#ranks.barrier({ timeoutMs: 0 }))
      await agree(this.#ranks, this.#caller.history, nameOf)
    }
    return this.#inTurn(work, () => this.close())
  }

  /**
   * Returns the result of `promise`, unless a rank waits for this one in another call: a call with another root, for example, never ends.
   */
  async #whileSame<T>(promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const other = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        try {
          checkCalls(this.#mesh.lanes, this.#caller.history, nameOf)
        } catch (error) {
          reject(error)
        }
      }, probeMs)
    })
    try {
      return await Promise.race([promise, other])
    } finally {
      clearInterval(timer)
    }
  }

  /**
   * Closes at once: frees all resources of the device, also messages that have not arrived. Ranks that are still in a call with this rank
   * fail; `end` is for communicators that have not failed.
   */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#ranks.signal?.removeEventListener('abort', this.#aborted)
    this.#mesh.fail(new CollectiveError('ECLOSED', 'the communicator is closed'))
    this.#opened.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ? Promise.resolve() : this.end()
  }
}
