/** One rank of a run: it opens the devices, takes part in the sets of the plan, and sends its results to rank 0. */
import type { Group } from '../../collectives/launch/index.ts'
import type { Context } from '../../index.ts'
import type { Plan, PlannedSet } from '../bench-kit/index.ts'
import { openAsked } from '../kit/index.ts'
import { deviceNames, placeRanks, ranksHere, tell } from '../rank-kit/index.ts'
import { End, probe, worst } from './end.ts'
import { type DeviceFacts, planCollective } from './plan.ts'
import type { SetRun, Tally } from './scenario.ts'
import { receivePosts, sendPosts } from './scenario-1.ts'
import { answer, sendToAll } from './scenario-2.ts'
import { readFromAll, readFromOne, readTimes } from './scenario-read.ts'
import { type CollectiveSettings, isScenario1, type ParsedLists } from './settings.ts'
import { Waiter } from './waiting.ts'

export interface RankOptions {
  lists: ParsedLists
  /** Number of repetitions before those that are recorded. */
  warmUp: number
  lostMs: number
  stallMs: number
  pin: boolean
}

/** Results of a set, at rank 0. */
export interface Found {
  /** Nanoseconds of each repetition; NaN where a message was lost. */
  values: Float64Array
  sent: number
  received: number
  /** True if a rank was requested to stop: this set is the last. */
  stop: boolean
}

export class Rank {
  readonly #group: Group
  readonly #options: RankOptions
  readonly #waiter: Waiter
  readonly #contexts: ReadonlyMap<string, Context>
  readonly plan: Plan<CollectiveSettings>
  #end: End | null = null
  #device = ''
  #before = 0

  private constructor(
    group: Group,
    options: RankOptions,
    waiter: Waiter,
    contexts: ReadonlyMap<string, Context>,
    plan: Plan<CollectiveSettings>,
  ) {
    this.#group = group
    this.#options = options
    this.#waiter = waiter
    this.#contexts = contexts
    this.plan = plan
  }

  /** Returns the maximum number of ranks of this host that take part in a step: they poll at the same time. */
  get pollingHere(): number {
    const last = Math.max(0, ...this.plan.sets.map(({ settings }) => settings.processes))
    return ranksHere(this.#group).filter((rank) => rank <= last).length
  }

  /** Opens the devices; a collective call of all ranks. Throws the same UsageError at all ranks if nothing can be measured. */
  static async open(group: Group, options: RankOptions): Promise<Rank> {
    const crowded = await placeRanks(group, options.pin)
    const contexts = new Map<string, Context>()
    try {
      const names = await deviceNames(group, options.lists.device, 'bench-collective')
      for (const name of names) contexts.set(name, openAsked('--device', name.replaceAll('%r', String(group.rank + 1))))
      const all = await tell(group, Object.fromEntries([...contexts].map(([name, context]) => [name, probe(context)])))
      const facts = new Map(names.map((name): [string, DeviceFacts] => [name, worst(all.map((each) => each[name]!))]))
      const plan = planCollective(options.lists, group.size, facts)
      return new Rank(group, options, new Waiter(crowded, group.signal, options.stallMs), contexts, plan)
    } catch (error) {
      for (const context of contexts.values()) context.close()
      throw error
    }
  }

  /**
   * Warms up each kind of set; a collective call of all ranks before the first set. The first thousands of calls run slower, because the
   * code is not compiled yet: without this, the set measured first would look slower than the rest.
   */
  async prime(): Promise<void> {
    const kinds = new Map<string, CollectiveSettings>()
    for (const { settings } of this.plan.sets) {
      const { device, transport, mode, measure, processes } = settings
      const kind = [device, transport, mode, isScenario1(measure)].join()
      // Includes the parts of READ that start by a multicast, if they are measured.
      const known = kinds.get(kind)
      if (!known || processes > known.processes || (startsByMulticast(settings) && !startsByMulticast(known)))
        kinds.set(kind, { ...settings, processes: Math.max(processes, known?.processes ?? 1), repetitions: 0 })
    }
    for (let round = 0; round < primingRounds; round++)
      for (const settings of kinds.values()) {
        await this.#step(settings, this.#options.warmUp * primingFactor)
        // No rank may close a queue pair that another rank still reads through.
        await this.#group.barrier({ timeoutMs: 0 })
      }
  }

  /** Measures a set; a collective call of all ranks. `stop`: whether this rank was requested to end the run. The values are rank 0's. */
  async measure({ settings }: PlannedSet<CollectiveSettings>, stop: () => boolean): Promise<Found> {
    const tally = await this.#step(settings, this.#options.warmUp)
    return await this.#collect(settings, tally, stop())
  }

  async #step(settings: CollectiveSettings, warmUp: number): Promise<Tally> {
    const end = await this.#endOn(settings.device)
    await end.use(settings.transport, startsByMulticast(settings))
    end.lanes.prepare(settings.mode, settings.size, end.remote)
    const before = this.#before
    this.#before += warmUp + settings.repetitions
    // A rank that takes no part sleeps meanwhile.
    if (this.#group.rank > settings.processes) return nothing
    return await this.#part({
      ...{ end, waiter: this.#waiter, settings, warmUp },
      ...{ before, lostNs: this.#options.lostMs * 1e6 },
    })
  }

  #part(run: SetRun): Promise<Tally> {
    const first = this.#group.rank === 0
    if (isScenario1(run.settings.measure)) return first ? sendPosts(run) : receivePosts(run)
    if (run.settings.mode === 'READ') return first ? readFromAll(run) : readFromOne(run)
    return first ? sendToAll(run) : answer(run)
  }

  /** Gathers the results at rank 0. A message is a head of three numbers, then the values. */
  async #collect(settings: CollectiveSettings, { values, sent, received }: Tally, stop: boolean): Promise<Found> {
    const own = new Float64Array(3 + values.length)
    own.set([sent, received, stop ? 1 : 0])
    own.set(values, 3)
    const waits = { timeoutMs: 0 }
    const all = (await this.#group.allgather(new Uint8Array(own.buffer), waits)).map(
      (bytes) => new Float64Array(Uint8Array.from(bytes).buffer),
    )
    const sum = (at: number): number => all.reduce((total, each) => total + each[at]!, 0)
    const stops = sum(2) > 0
    if (this.#group.rank !== 0) return { values: new Float64Array(0), sent: 0, received: 0, stop: stops }
    const measured = all.map((each) => each.subarray(3)).filter((each) => each.length > 0)
    const { mode, measure, processes } = settings
    const times =
      mode === 'READ' && !isScenario1(measure)
        ? readTimes(measure, processes, measured[0]!, measured.slice(1))
        : measured[0]!
    return { values: times, sent: sum(0), received: sum(1), stop: stops }
  }

  async #endOn(device: string): Promise<End> {
    if (this.#end === null || this.#device !== device) {
      this.#end?.close()
      this.#end = null
      const { sets } = this.plan
      const here = sets.filter(({ settings }) => settings.device === device)
      this.#end = await End.open({
        ...{ group: this.#group, context: this.#contexts.get(device)!, waiter: this.#waiter },
        memSize: Math.max(...here.map(({ settings }) => settings.size)),
        depth: Math.max(1, ...here.map(({ settings }) => settings.posts ?? 1)),
      })
      this.#device = device
    }
    return this.#end
  }

  /** Closes the devices; after a failure as far as that is possible. */
  close(): void {
    this.#end?.close()
    this.#end = null
    for (const context of this.#contexts.values()) context.close()
  }
}

const primingRounds = 2
/** Factor by which the warm-up of a set is repeated while priming. */
const primingFactor = 25

/** True if the other ranks start their READs at a multicast; the multicast lanes are made only where that part is measured. */
function startsByMulticast({ mode, measure }: CollectiveSettings): boolean {
  return mode === 'READ' && measure !== 'RDMART_1N' && !isScenario1(measure)
}

const nothing: Tally = { values: new Float64Array(0), sent: 0, received: 0 }
