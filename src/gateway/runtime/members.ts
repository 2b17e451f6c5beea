/** Members of a group in its thread: its nodes, started, and its paths, connected to them. */

import { loadHookTypes } from '../host/index.ts'
import {
  commonOfNode,
  type HookChain,
  hooksOf,
  type NodeContext,
  type PathConfig,
  type Pool,
  pathText,
  type RunningNode,
  resolveMapping,
  type Samples,
  type Signal,
  type Statistics,
  settingsOfNode,
} from '../index.ts'
import { attachPool, loadNodeType, makeTimer, type OwnedPool, Pace, type Timer } from '../nodes/index.ts'
import { SystemClock } from './clock.ts'
import { Counts } from './counts.ts'
import type { GroupParts } from './group.ts'
import { type HookOwner, hookContext } from './hook-context.ts'
import type { GroupData, GroupNode, GroupPath, LogLevel, NodeReport } from './messages.ts'
import { readNodeStatistic, writeNodeStatistics } from './node-statistics.ts'
import { Path } from './path.ts'
import { hooksIn } from './plan.ts'
import { Reader } from './reader.ts'
import { Remap } from './remap.ts'
import { Repeater } from './repeater.ts'
import { Watch } from './watch.ts'
import { Writer } from './writer.ts'

/** Reports of the members to their thread. */
export interface MembersOptions {
  log(level: LogLevel, node: string, line: string): void
  /** Reports that a node cannot continue; its paths have stopped. */
  failed(node: string, error: Error): void
  /** Reports that a node has done what the gateway was started for. */
  finished(node: string): void
  /** True if the gateway is to stop. */
  isStopping(): boolean
  /** Makes the loop look at its sources. */
  wake(): void
}

/** Error of a node that could not start. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly node: string

  constructor(node: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause))
    this.node = node
  }
}

type HookTypes = Awaited<ReturnType<typeof loadHookTypes>>

interface Member {
  readonly plan: GroupNode
  readonly running: RunningNode
  readonly reader: Reader | null
  readonly writer: Writer | null
  readonly arrivals: readonly Signal[]
}

export class Members implements Omit<GroupParts, 'ended'> {
  readonly readers: Reader[] = []
  readonly writers: Writer[] = []
  readonly paths: Path[] = []
  readonly repeaters: Repeater[] = []
  /** Statistics of what is read from nodes with a hook stats. */
  readonly #statistics = new Map<string, Statistics>()
  readonly #data: GroupData
  readonly #options: MembersOptions
  readonly #owned: OwnedPool
  readonly #hookTypes: HookTypes
  readonly #pool: Pool
  readonly #clock: SystemClock
  readonly #counts: Counts
  readonly #members = new Map<string, Member>()
  readonly #chains: HookChain[] = []
  /** Statistics of hooks, and the memory in which other threads see them. */
  readonly #published: (readonly [Float64Array, Statistics])[] = []
  /** Paths of each node, by its name. */
  readonly #pathsOf = new Map<string, Path[]>()
  #timer: Timer | null = null

  private constructor(data: GroupData, options: MembersOptions, owned: OwnedPool, hookTypes: HookTypes) {
    this.#hookTypes = hookTypes
    this.#data = data
    this.#options = options
    this.#owned = owned
    this.#pool = owned.pool
    this.#clock = new SystemClock(this.#pool.samples, data.epochNs)
    this.#counts = new Counts(data.nodes.length + data.paths.length, data.counts)
  }

  /** Starts all nodes, destinations first. Throws a `StartError` with everything stopped again. */
  static async start(data: GroupData, options: MembersOptions): Promise<Members> {
    const configs = { nodes: data.nodes.map(({ config }) => config), paths: data.paths.map(({ config }) => config) }
    const types = await loadHookTypes(hooksIn(configs))
    const members = new Members(data, options, await attachPool(data.pool), types)
    try {
      for (const [set, node] of data.nodes.entries()) await members.#startNode(node, set)
      for (const [i, path] of data.paths.entries()) members.#connect(path, data.nodes.length + i)
      for (const chain of members.#chains) chain.restart()
    } catch (error) {
      await members.stop()
      throw error
    }
    return members
  }

  get needsTurns(): boolean {
    return [...this.#members.values()].some(({ running }) => running.synchronous !== true)
  }

  /** Makes hooks do their periodic work. */
  periodic(): void {
    for (const chain of this.#chains) chain.periodic()
    for (const [figures, statistics] of this.#published) writeNodeStatistics(figures, statistics)
  }

  reports(): NodeReport[] {
    return [...this.#members.values()].map(({ plan, running }) => ({
      name: plan.config.name,
      state: running.state,
      counters: running.counters(),
    }))
  }

  /** Stops the nodes and hooks, and gives back all samples. Returns the last reports of the nodes. */
  async stop(): Promise<NodeReport[]> {
    for (const chain of this.#chains) this.#attempt('hooks', () => chain.stop())
    for (const writer of this.writers) writer.giveBack()
    for (const [name, { running }] of [...this.#members].reverse())
      try {
        await running.stop()
      } catch (error) {
        // The other nodes stop in any case.
        this.#options.failed(name, error as Error)
      }
    for (const reader of this.readers) reader.close()
    for (const path of this.paths) path.close()
    this.#timer?.close()
    const reports = this.reports()
    this.#owned.close()
    return reports
  }

  async #startNode(plan: GroupNode, set: number): Promise<void> {
    const { config, directions, signals, shared, mirrors, isWritten } = plan
    const { name } = config
    const pool = this.#pool
    const counts = this.#counts
    let reader: Reader | null = null
    const context: NodeContext = {
      name,
      pool,
      clock: this.#clock,
      signals,
      isWritten,
      isStopping: () => this.#options.isStopping(),
      readable: () => {
        if (reader === null) return
        reader.ready = true
        this.#options.wake()
      },
      log: (level, line) => this.#options.log(level, name, line),
      fail: (error) => this.#fail(name, error),
      finish: () => this.#options.finished(name),
      statistics: (node) => {
        const figures = this.#figuresOf(node)
        return figures && ((metric, type) => readNodeStatistic(figures, metric, type))
      },
    }
    let running: RunningNode
    try {
      const parsed = (await loadNodeType(config.type)).parse(settingsOfNode(config), commonOfNode(config))
      running = await parsed.start(context, directions, shared)
    } catch (error) {
      throw new StartError(name, error)
    }
    // The code below may throw, and stop() then has to know of the node.
    const member = { plan, running, reader: null, writer: null, arrivals: signals.in }
    this.#members.set(name, member)
    const chains: HookChain[] = []
    const again = (own: number) => (): void => {
      for (const [i, other] of chains.entries()) if (i !== own) other.restart()
    }
    const chain = (direction: 'in' | 'out', arriving: readonly Signal[]): HookChain => {
      const made = this.#hooks(`node ${name}`, config[direction].hooks, arriving, {
        place: direction,
        publish: (statistics) => {
          if (direction === 'in') this.#statistics.set(name, statistics)
          this.#published.push([this.#figuresOf(name)!, statistics])
        },
        initialSequence: config.initialSequence,
        builtin: direction === 'in' && config.in.builtin,
        restart: again(chains.length),
      })
      chains.push(made)
      return made
    }
    const { source, destination } = running
    let writer: Writer | null = null
    const watch = plan.watch === null ? null : new Watch(plan.seen.length, plan.watch)
    let arrivals = signals.in
    if (directions.in && source !== null) {
      const hooks = chain('in', signals.in)
      arrivals = hooks.signals
      reader = new Reader(name, source, { mirrors, hooks, pool, counts, set, vectorize: config.in.vectorize })
      reader.watch = watch
      this.readers.push(reader)
    }
    if (directions.out && destination !== null) {
      const hooks = chain('out', plan.arriving)
      writer = new Writer(name, destination, { hooks, pool, counts, set, vectorize: config.out.vectorize })
      // For a node that is read in this thread, the watch sees what is read.
      if (reader === null) writer.watch = watch
      this.writers.push(writer)
    }
    this.#members.set(name, { ...member, reader, writer, arrivals })
  }

  #connect({ config, signals }: GroupPath, set: number): void {
    const sources = [...new Set(config.in.map(({ node }) => node))]
    const path = new Path({
      pool: this.#pool,
      signals,
      hooks: this.#hooks(`path ${pathText(config)}`, config.hooks, signals, { place: 'path', builtin: false }),
      writers: config.out.map((name) => this.#members.get(name)!.writer!),
      counts: this.#counts,
      set,
      remaps: this.#remaps(config, sources),
      all: config.mode === 'all',
      counting: sources.map((name) => config.mask === null || config.mask.includes(name)),
      originalSequence: config.originalSequence ?? sources.length === 1,
    })
    this.paths.push(path)
    sources.forEach((name, place) => {
      this.#members.get(name)!.reader!.connect(path, place)
    })
    for (const name of [...sources, ...config.out]) this.#pathsOf.set(name, [...(this.#pathsOf.get(name) ?? []), path])
    if (config.rateHz > 0) {
      this.#timer ??= makeTimer('hybrid')
      this.repeaters.push(new Repeater(path, new Pace(config.rateHz, this.#clock, this.#timer)))
    }
  }

  /** Returns the mapping of the values of each source; null if samples pass as they are. */
  #remaps(config: PathConfig, sources: readonly string[]): Remap[] | null {
    const [first] = config.in
    if (config.in.length === 1 && first!.what === 'data' && first!.range === null && config.rateHz === 0) return null
    const remaps = sources.map(() => new Remap())
    let to = 0
    for (const mapping of config.in) {
      const values = resolveMapping(mapping, this.#members.get(mapping.node)!.arrivals)
      remaps[sources.indexOf(mapping.node)]!.add(
        mapping,
        values,
        to,
        (metric, type) => this.#statistics.get(mapping.node)?.get(metric, type) ?? Number.NaN,
      )
      to += values.signals.length
    }
    return remaps
  }

  #hooks(
    owner: string,
    hooks: PathConfig['hooks'],
    signals: readonly Signal[],
    { builtin, ...where }: { builtin: boolean } & Pick<HookOwner, 'place' | 'initialSequence' | 'restart' | 'publish'>,
  ): HookChain {
    const { samples } = this.#pool
    // Samples of a hook's own have a clock of their own.
    const clocks = new Map<Samples, SystemClock>()
    const stamp = (into: Samples, word: number): void => {
      const clock = into === samples ? this.#clock : (clocks.get(into) ?? new SystemClock(into, this.#data.epochNs))
      if (into !== samples) clocks.set(into, clock)
      clock.stamp(word)
    }
    const log = (level: LogLevel, line: string): void => this.#options.log(level, owner, line)
    const nowNs = (): number => this.#clock.nowNs()
    const context = hookContext({ owner, signals, values: samples.values, stamp, nowNs, log, ...where })
    const chain = hooksOf(hooks, context, { builtin, types: this.#hookTypes })
    this.#chains.push(chain)
    return chain
  }

  #figuresOf(node: string): Float64Array | undefined {
    const { statistics } = this.#data
    return Object.hasOwn(statistics, node) ? new Float64Array(statistics[node]!) : undefined
  }

  #fail(name: string, error: Error): void {
    const member = this.#members.get(name)
    if (member?.writer) member.writer.failed = true
    for (const path of this.#pathsOf.get(name) ?? []) path.stopped = true
    this.#options.failed(name, error)
    this.#options.wake()
  }

  #attempt(what: string, action: () => void): void {
    try {
      action()
    } catch (error) {
      this.#options.log('error', what, (error as Error).message)
    }
  }
}
