/**
 * The gateway as it runs: nodes and paths of a configuration, in threads.
 *
 *     parsed ── start ──> started ── stop, or all sources have ended ──> stopping ──> stopped
 *
 * It stops in order: first the groups whose sources are real ones, then those that read from a node of this gateway (a loopback) what the
 * first ones have written to it, when that has been read to its end.
 */
import { type GatewayConfig, GatewayError, type PlaceOf, pathText, Samples, Secrets, type Signal } from '../index.ts'
import { makePool, type OwnedPool, secretSettings } from '../nodes/index.ts'
import { epochNs } from './clock.ts'
import { GroupHost } from './group-host.ts'
import type { GroupMessage, LogLevel } from './messages.ts'
import { newNodeStatistics } from './node-statistics.ts'
import { makePlan, type Plan, type PlannedGroup, usualValues } from './plan.ts'
import type { Watch } from './watch.ts'

export type GatewayState = 'parsed' | 'starting' | 'started' | 'stopping' | 'stopped'

export interface SuperNodeOptions {
  /** Places of settings in a file. */
  placeOf?: PlaceOf
  /** Logs a line for the operator. `owner`: the node, or other part that it is about. */
  log?(level: LogLevel, owner: string, line: string): void
  /** True if viewers may look at samples (`watch`); no work is done for it otherwise. */
  watched?: boolean
  /** Names of nodes: threads that read one of them start their nodes, and read nothing until `release`. */
  held?: readonly string[]
}

/** Failure of a node that could not continue. */
export interface Failure {
  /** Name of the node; empty if no node is to blame. */
  readonly node: string
  readonly message: string
}

export interface NodeStatus {
  readonly name: string
  readonly uuid: string
  readonly type: string
  /** State, as VILLASnode calls it; 'parsed' for one that no path uses. */
  readonly state: string
  /** Numbers of samples read, written, lost and so on; and the counts that the node keeps by itself. */
  readonly counts: Readonly<Record<string, number>>
}

export interface PathStatus {
  readonly uuid: string
  readonly text: string
  readonly in: readonly string[]
  readonly out: readonly string[]
  readonly state: 'initialized' | 'started' | 'stopped'
  readonly counts: Readonly<Record<string, number>>
}

const secrets = new Secrets(secretSettings)

/** Maximum memory of all samples together: that of typed arrays. The system allocates it when it is written. */
const mostPoolBytes = 2 ** 32 - 1
/** Limit up to which a pool has room for changes to come. */
const roomyPoolBytes = 2 ** 28

export class SuperNode {
  #plan: Plan
  /** Removes passwords and tokens of the plan from the texts of nodes. */
  #scrub: (text: string) => string
  readonly #watched: boolean
  #held: ReadonlySet<string>
  readonly #log: NonNullable<SuperNodeOptions['log']>
  readonly #failures: Failure[] = []
  #groups: GroupHost[] = []
  #state: GatewayState = 'parsed'
  #ticker: NodeJS.Timeout | undefined
  #stopping = false
  /** True if nothing runs, and that has been logged. */
  #isIdle = false
  #changing = false
  /** Promise that is fulfilled when the last change is done. */
  #changed: Promise<void> = Promise.resolve()
  readonly #epochNs: number = epochNs()
  readonly #statistics = new Map<string, SharedArrayBuffer>()
  readonly #shared = new Map<string, { key: string; value: unknown }>()
  #pool: OwnedPool | null = null
  /** Device in whose memory that is. */
  #device: string | undefined
  #capacity = 0
  /** Samples without a holder when everything had stopped. */
  #available: number | undefined
  readonly #done: Promise<void>
  #isDone = (): void => {}

  private constructor(plan: Plan, options: SuperNodeOptions) {
    this.#plan = plan
    this.#scrub = secrets.scrubber(plan.config.settings)
    this.#capacity = plan.poolSize
    this.#watched = options.watched === true
    this.#held = new Set(options.held)
    this.#log = options.log ?? (() => {})
    this.#done = new Promise((resolve) => {
      this.#isDone = resolve
    })
  }

  /** Checks a configuration to the end. Throws a `GatewayError` that describes what is wrong, with its place. */
  static async parse(config: GatewayConfig, options: SuperNodeOptions = {}): Promise<SuperNode> {
    const plan = await makePlan(config, options.placeOf)
    sizeOfPool(plan, false)
    return new SuperNode(plan, options)
  }

  get config(): GatewayConfig {
    return this.#plan.config
  }

  get state(): GatewayState {
    return this.#state
  }

  /** Nodes that could not start or continue. */
  get failures(): readonly Failure[] {
    return this.#failures
  }

  /** Returns a promise that is fulfilled when everything has stopped: by `stop`, or because all sources have ended. */
  get done(): Promise<void> {
    return this.#done
  }

  /** Starts all nodes, and then all paths. Throws a `GatewayError` that names the node that cannot start, with everything stopped. */
  async start(): Promise<void> {
    if (this.#state !== 'parsed') throw new Error(`the gateway is ${this.#state}: it can be started once`)
    this.#state = 'starting'
    try {
      this.#usePool(await this.#makePool(this.#plan), this.#plan)
      await this.#startGroups(this.#plan.groups)
    } catch (error) {
      if (this.#pool === null) this.#finish()
      else {
        this.#state = 'stopping'
        await this.stop()
      }
      throw error
    }
    this.#state = this.#stopping ? 'stopping' : 'started'
    const { statsHz } = this.config
    if (statsHz > 0) this.#ticker = setInterval(() => this.ask(), 1000 / statsHz)
    this.#proceed()
  }

  /** Makes threads that were held begin to read. */
  release(): void {
    this.#held = new Set()
    for (const group of this.#groups) if (!group.stopped) group.run()
  }

  /** Requests reports of all nodes, as happens `stats` times a second; `nodes` has them a moment later. */
  ask(): void {
    for (const group of this.#groups) if (!group.stopped) group.tick()
  }

  /**
   * Continues with another configuration. Threads in which nothing changes go on undisturbed, unless they have a node of `again`; the
   * others stop in order, with everything written, and new ones start. If there is not enough memory, nothing stops. If a node cannot
   * start, the parts of the former configuration that can run do so again. A `GatewayError` has the reason, and what does not run.
   */
  change(config: GatewayConfig, { placeOf, again = [] }: ChangeOptions = {}): Promise<void> {
    const changed = this.#changed.then(async () => {
      const plan = await makePlan(config, placeOf)
      const pool = await this.#poolFor(plan)
      if (this.#state !== 'started') {
        pool?.close()
        throw new GatewayError('ERR_GATEWAY_NODE', `the gateway is ${this.#state}`)
      }
      const before = this.#plan
      const failures = this.#failures.length
      this.#changing = true
      try {
        await this.#become(plan, again, pool)
      } catch (error) {
        this.#forgetFailures(failures)
        const failed = await this.#goBack(before)
        if (failed.length === 0 || !(error instanceof GatewayError)) throw error
        const why = `${error.message}; then not all of what ran before could start again: ${failed.join('; ')}`
        throw new GatewayError(error.code, why)
      } finally {
        this.#changing = false
        // One that has nothing to do for now does not end for that.
        if (this.#stopping || this.#groups.some(({ stopped }) => !stopped)) this.#proceed()
      }
    })
    this.#changed = changed.catch(() => {})
    return changed
  }

  /** Returns the watch of a node, and its signals; undefined if no thread has the node, or the gateway is not `watched`. */
  watch(name: string): { watch: Watch; signals: readonly Signal[] } | undefined {
    // A group that reads the node sees more than one that writes it.
    const groups = this.#groups.filter(({ stopped }) => !stopped).map((group) => group.seen(name))
    const found = groups.filter((each) => each !== undefined)
    return found.find(({ reads }) => reads) ?? found[0]
  }

  /** Returns the UNIX socket of a node for WebSockets that came to the port of the API; undefined if it takes none, or does not run. */
  door(name: string): string | undefined {
    const isRunning = this.#groups.some(
      ({ stopped, plan }) => !stopped && plan.nodes.some(({ config }) => config.name === name),
    )
    return isRunning ? this.#plan.nodes.get(name)?.parsed.door?.(this.#share(name)) : undefined
  }

  /** Stops in order; everything is written then. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return
    if (this.#state === 'parsed') {
      this.#finish()
      return
    }
    this.#stopping = true
    for (const group of this.#groups) group.hurry()
    // Nodes that are starting have started before they stop.
    if (this.#state !== 'starting') this.#state = 'stopping'
    this.#proceed()
    await this.#done
  }

  nodes(): NodeStatus[] {
    return [...this.#plan.nodes.values()].map(({ config: { name, uuid, type } }) => {
      const groups = this.#groups.filter(({ plan }) => plan.nodes.some(({ config }) => config.name === name))
      const found = groups.map((group) => group.node(name))
      const counts: Record<string, number> = {}
      for (const { counts: each, report } of found)
        for (const [key, value] of Object.entries({ ...each, ...report?.counters }))
          counts[key] = (counts[key] ?? 0) + value
      const states = found.flatMap(({ report }) => report?.state ?? [])
      return { name, uuid, type, state: states[0] ?? 'parsed', counts }
    })
  }

  paths(): PathStatus[] {
    return this.#groups.flatMap((group) =>
      group.plan.paths.map(({ config }, i) => ({
        uuid: config.uuid,
        text: pathText(config),
        in: [...new Set(config.in.map(({ node }) => node))],
        out: config.out,
        state: group.stopped ? 'stopped' : this.#state === 'starting' ? 'initialized' : 'started',
        counts: group.path(i),
      })),
    )
  }

  /** Numbers of samples in the pool and of those without a holder: all of them, when everything has stopped. */
  get pool(): { capacity: number; available: number } {
    return {
      capacity: this.#capacity,
      available: this.#available ?? this.#pool?.pool.available ?? this.#capacity,
    }
  }

  /** Applies a plan. `pool`: another one, if the plan does not fit in the present one. */
  async #become(plan: Plan, again: readonly string[], pool: OwnedPool | undefined): Promise<void> {
    const wanted = new Map(plan.groups.map((group) => [keyOf(group), group]))
    const keeps = ({ plan: group, stopped }: GroupHost) =>
      pool === undefined &&
      !stopped &&
      wanted.has(keyOf(group)) &&
      !group.nodes.some(({ config }) => again.includes(config.name))
    const kept = this.#groups.filter(keeps)
    await stopInOrder(this.#groups.filter((group) => !kept.includes(group)))
    this.#groups = kept
    this.#plan = plan
    this.#scrub = secrets.scrubber(plan.config.settings)
    if (pool !== undefined) this.#usePool(pool, plan)
    for (const group of kept) wanted.delete(keyOf(group.plan))
    await this.#startGroups([...wanted.values()])
  }

  /** Forgets failures of nodes that do not run: those of a change that was not made. */
  #forgetFailures(from: number): void {
    const runs = (name: string) => this.#groups.some((group) => !group.stopped && hasNode(group, name))
    this.#failures.push(...this.#failures.splice(from).filter(({ node }) => runs(node)))
  }

  /** Runs the former plan again, thread by thread. Returns the errors of threads that cannot. */
  async #goBack(plan: Plan): Promise<string[]> {
    this.#plan = plan
    this.#scrub = secrets.scrubber(plan.config.settings)
    const wanted = new Map(plan.groups.map((group) => [keyOf(group), group]))
    const kept = this.#groups.filter(({ plan: group, stopped }) => !stopped && wanted.has(keyOf(group)))
    await stopInOrder(this.#groups.filter((group) => !kept.includes(group)))
    this.#groups = kept
    for (const group of kept) wanted.delete(keyOf(group.plan))
    const failed: string[] = []
    try {
      const pool = await this.#poolFor(plan)
      if (pool !== undefined) this.#usePool(pool, plan)
    } catch (error) {
      return [(error as Error).message]
    }
    for (const group of wanted.values())
      await this.#startGroups([group]).catch((error: Error) => {
        failed.push(error.message)
        this.#log('error', '', `not all of what ran before a change could start again: ${error.message}`)
      })
    return failed
  }

  /** Returns another pool, if a plan does not fit in the present one; it has no effect before it is used. */
  async #poolFor(plan: Plan): Promise<OwnedPool | undefined> {
    const pool = this.#pool?.pool
    const isRoomy = pool !== undefined && plan.poolSize <= pool.capacity && plan.values <= pool.samples.values
    return isRoomy && plan.device === this.#device ? undefined : await this.#makePool(plan)
  }

  /** Makes a pool. Throws a `GatewayError` if there is not enough memory. */
  async #makePool(plan: Plan): Promise<OwnedPool> {
    const { samples, values } = sizeOfPool(plan, this.#watched)
    try {
      return await makePool(samples, values, plan.device)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      const mib = Math.ceil(Samples.bytesOf(samples, values) / 2 ** 20)
      throw new GatewayError('ERR_GATEWAY_NODE', `there is no memory of ${mib} MiB for ${samples} samples`)
    }
  }

  /** Replaces the pool, when all threads have stopped. */
  #usePool(pool: OwnedPool, { device }: Plan): void {
    this.#pool?.close()
    this.#shared.clear()
    this.#pool = pool
    this.#device = device
    this.#capacity = pool.pool.capacity
  }

  /** Starts threads, and runs them when all of their nodes have started. Throws, with them stopped, if one cannot. */
  async #startGroups(plans: readonly PlannedGroup[]): Promise<void> {
    const pool = this.#pool!
    const failures = this.#failures.length
    const hosts = plans.map((plan) => {
      const host: GroupHost = new GroupHost(plan, {
        pool: pool.share,
        epochNs: this.#epochNs,
        statistics: this.#nodeStatistics(),
        shared: (name) => this.#share(name),
        watched: this.#watched,
        onMessage: (message) => this.#takeMessage(message),
      })
      void host.done.then(() => this.#proceed())
      return host
    })
    this.#groups = [...this.#groups, ...hosts]
    if (this.#stopping) for (const group of hosts) group.hurry()
    const ready = await Promise.all(hosts.map((group) => group.ready))
    if (ready.includes(false)) {
      await stopInOrder(hosts)
      const { node, message } = this.#failures[failures] ?? { node: '', message: 'a thread has ended' }
      throw new GatewayError('ERR_GATEWAY_NODE', node === '' ? message : `node ${node} cannot start: ${message}`)
    }
    for (const group of hosts) if (!this.#holds(group)) group.run()
  }

  #holds({ plan }: GroupHost): boolean {
    return plan.nodes.some(({ config, directions }) => directions.in && this.#held.has(config.name))
  }

  /** Returns the data that the threads of a node share: the same as long as its settings are. */
  #share(name: string): unknown {
    const { config, parsed } = this.#plan.nodes.get(name)!
    const key = JSON.stringify(config)
    const found = this.#shared.get(name)
    if (found?.key === key) return found.value
    const value = parsed.share?.()
    this.#shared.set(name, { key, value })
    return value
  }

  /** Returns the statistics of all nodes; those of a node stay as long as the gateway, whatever threads it is in. */
  #nodeStatistics(): Readonly<Record<string, SharedArrayBuffer>> {
    for (const name of this.#plan.nodes.keys())
      if (!this.#statistics.has(name)) this.#statistics.set(name, newNodeStatistics())
    return Object.fromEntries(this.#statistics)
  }

  #finish(): void {
    clearInterval(this.#ticker)
    this.#state = 'stopped'
    this.#available ??= this.#pool?.pool.available
    this.#pool?.close()
    this.#pool = null
    this.#isDone()
  }

  #takeMessage(message: GroupMessage): void {
    if (message.kind === 'log') this.#log(message.level, message.node, this.#scrub(message.line))
    else if (message.kind === 'failed') {
      const { node } = message
      const text = this.#scrub(message.message)
      this.#failures.push({ node, message: text })
      if (this.#state !== 'starting') this.#log('error', node, `cannot go on: ${text}`)
    } else if (message.kind === 'finished') void this.stop()
    else if (message.kind === 'ended') this.#proceed()
  }

  /** Stops groups that have nothing to do any more, and checks whether all have stopped. */
  #proceed(): void {
    if (this.#state === 'starting' || this.#changing) return
    const running = this.#groups.filter(({ stopped }) => !stopped)
    if (running.length === 0) {
      // Without an API, no user can mend what has failed.
      const isOver = this.config.idleStop || (this.#failures.length > 0 && !this.#watched)
      if (this.#stopping || isOver) this.#finish()
      else if (!this.#isIdle) this.#log('info', '', 'no path runs; the gateway waits (with idle_stop = true it ends)')
      this.#isIdle = true
      return
    }
    this.#isIdle = false
    for (const group of firstOf(running)) if (this.#stopping || group.ended) group.stop()
  }
}

export interface ChangeOptions {
  /** Places of settings in a file. */
  placeOf?: PlaceOf
  /** Names of nodes that start anew, although none of their settings changes. */
  again?: readonly string[]
}

/** Returns the number of samples of the pool of a plan, and of values of each. Throws a `GatewayError` if they are too many. */
function sizeOfPool({ poolSize, values }: Plan, roomy: boolean): { samples: number; values: number } {
  const bytes = Samples.bytesOf(poolSize, values)
  if (bytes > mostPoolBytes) {
    const what = `${poolSize} samples of ${values} values need ${Math.ceil(bytes / 2 ** 20)} MiB`
    const how = 'Set shorter queues (queuelen) of paths and loopbacks, or fewer values'
    throw new GatewayError(
      'ERR_GATEWAY_SETTING',
      `${what}; a gateway has at most ${Math.floor(mostPoolBytes / 2 ** 20)}. ${how}`,
    )
  }
  const room = Math.max(values, usualValues)
  // A change for which there is no room starts everything anew.
  for (const [factor, each] of roomy
    ? ([
        [4, room],
        [1, room],
      ] as const)
    : [])
    if (Samples.bytesOf(factor * poolSize, each) <= roomyPoolBytes) return { samples: factor * poolSize, values: each }
  return { samples: poolSize, values }
}

function hasNode({ plan }: GroupHost, name: string): boolean {
  return plan.nodes.some(({ config }) => config.name === name)
}

/** Returns a key, the same for groups that would do the same. */
function keyOf({ nodes, paths, affinity }: PlannedGroup): string {
  return JSON.stringify({ nodes, paths, affinity })
}

/** Stops groups, those that feed others first; fulfilled when everything is written. */
async function stopInOrder(groups: readonly GroupHost[]): Promise<void> {
  for (let rest = groups; ; ) {
    rest = rest.filter(({ stopped }) => !stopped)
    if (rest.length === 0) return
    const first = firstOf(rest)
    for (const group of first) group.stop()
    await Promise.all(first.map(({ done }) => done))
  }
}

/** Returns the groups that no other one feeds. Of groups that feed each other in a circle none can be first, so all are. */
function firstOf(groups: readonly GroupHost[]): readonly GroupHost[] {
  const free = groups.filter((group) => !groups.some((other) => other !== group && feeds(other, group)))
  return free.length > 0 ? free : groups
}

/** True if one group writes to a node that mirrors, and the other reads that. */
function feeds(from: GroupHost, to: GroupHost): boolean {
  return from.plan.nodes.some(
    ({ config, directions, mirrors }) =>
      mirrors &&
      directions.out &&
      to.plan.nodes.some((other) => other.config.name === config.name && other.directions.in),
  )
}
