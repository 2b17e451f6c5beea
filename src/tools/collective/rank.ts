/**
 * One rank: it opens a communicator for each algorithm and times their calls in turns, so that a temporary disturbance of the machine
 * affects all of them.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { type Communicator, createCommunicator, type DecisionTable } from '../../collectives/index.ts'
import type { Context } from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
import { Random } from '../bench-kit/index.ts'
import { Calls } from './calls.ts'
import type { FirstRanks } from './first-ranks.ts'
import type { Step } from './settings.ts'

/** Number of turns of the algorithms in a step. */
export const rounds = 20
/** Number of calls at the start of each turn that are not recorded. */
const warmUps = 3
/** Number of calls before all measurements: the first calls run slower, because the code is not compiled yet. */
const primingCalls = 200

interface Variant {
  comm: Communicator
  calls: Calls
}

/** Returns the table of variant i: the i-th algorithm of each collective that is measured, or the last. */
function tableOf(i: number, steps: readonly Step[]): DecisionTable {
  const rules = steps.map((step) => {
    const { collective, algorithm } = step[Math.min(i, step.length - 1)]!.settings
    return { collective, algorithm }
  })
  return { version: 1, rules }
}

export class MeasuringRank {
  readonly #ranks: FirstRanks
  /** Communicator of the barriers before calls: in one of the variants they would change how its calls find their lanes. */
  readonly #start: Communicator
  readonly #variants: Variant[] = []

  private constructor(ranks: FirstRanks, start: Communicator) {
    this.#ranks = ranks
    this.#start = start
  }

  /** Opens communicators for these steps; a collective call of all ranks. */
  static async open(
    ranks: FirstRanks,
    context: Context,
    steps: readonly Step[],
    timeoutMs: number,
  ): Promise<MeasuringRank> {
    const most = Math.max(...steps.map((step) => step.length))
    const mostBytes = Math.max(...steps.map(([set]) => set!.settings.size))
    const rank = new MeasuringRank(
      ranks,
      await createCommunicator(ranks, { context, timeoutMs, table: { version: 1, rules: [] } }),
    )
    try {
      for (let i = 0; i < most; i++) {
        const comm = await createCommunicator(ranks, { context, timeoutMs, table: tableOf(i, steps) })
        rank.#variants.push({ comm, calls: new Calls(comm, mostBytes) })
      }
      rank.#prime(steps)
      return rank
    } catch (error) {
      rank.close()
      throw error
    }
  }

  #prime(steps: readonly Step[]): void {
    const first = new Map(steps.map((step) => [step[0]!.settings.collective, step] as const).toReversed())
    for (const [collective, step] of first)
      for (const { calls } of this.#variants) {
        const call = calls.of(collective, step[0]!.settings.size)
        for (let i = 0; i < primingCalls; i++) call()
      }
  }

  /** Returns the nanoseconds of each repetition, by set of the step: for each call, the longest time at any rank. */
  async measure(step: Step): Promise<Float64Array[]> {
    const { collective, size, repetitions } = step[0]!.settings
    const calls = step.map((_, i) => this.#variants[i]!.calls.of(collective, size))
    const times = step.map(() => new Float64Array(repetitions))
    const block = Math.ceil(repetitions / rounds)
    const random = new Random(Number(step[0]!.id))
    for (let from = 0; from < repetitions; from += block) {
      const count = Math.min(block, repetitions - from)
      // The order is the same at all ranks, and a new one each time: the contents of the caches do not always favour the same algorithm.
      for (const which of random.shuffle(step.map((_, i) => i)))
        this.#time(calls[which]!, times[which]!.subarray(from, from + count))
      // The event loop runs, so that this rank detects the end of another.
      await turn()
      this.#ranks.signal.throwIfAborted()
    }
    return await this.#longest(times)
  }

  #time(call: () => void, times: Float64Array): void {
    for (let i = -warmUps; i < times.length; i++) {
      this.#start.barrier()
      const begin = nowNs()
      call()
      if (i >= 0) times[i] = nowNs() - begin
    }
  }

  async #longest(times: readonly Float64Array[]): Promise<Float64Array[]> {
    const { length } = times[0]!
    const mine = new Float64Array(times.length * length)
    for (const [which, each] of times.entries()) mine.set(each, which * length)
    const all = (await this.#ranks.allgather(new Uint8Array(mine.buffer))).map(
      (bytes) => new Float64Array(Uint8Array.from(bytes).buffer),
    )
    return times.map((_, which) =>
      Float64Array.from({ length }, (_, i) => Math.max(...all.map((each) => each[which * length + i]!))),
    )
  }

  /** Ends the communicators; a collective call of all ranks. */
  async end(): Promise<void> {
    for (const { comm } of this.#variants) await comm.end()
    await this.#start.end()
  }

  /** Closes the communicators after an error. */
  close(): void {
    for (const { comm } of this.#variants) comm.close()
    this.#start.close()
  }
}
