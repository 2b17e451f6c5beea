/**
 * The gateway as it runs: nodes and paths of a configuration, in threads.
 *
 *     parsed ── start ──> started ── stop, or all sources have ended ──> stopping ──> stopped
 *
 * It stops in order: first the groups whose sources are real ones, then those that read what the others have written to a node of
 * this gateway (a loopback), when that has been read to its end.
 */
import { type GatewayConfig, GatewayError, type PlaceOf, pathText } from '../index.ts'
import { makePool, type OwnedPool } from '../nodes/index.ts'
import { epochNs } from './clock.ts'
import { GroupHost } from './group-host.ts'
import type { GroupMessage, LogLevel } from './messages.ts'
import { makePlan, type Plan } from './plan.ts'

export type GatewayState = 'parsed' | 'starting' | 'started' | 'stopping' | 'stopped'

export interface SuperNodeOptions {
  /** Where settings stand in a file. */
  placeOf?: PlaceOf
  /** What an operator should know. `owner`: the node, or whatever it is about. */
  log?(level: LogLevel, owner: string, line: string): void
}

/** A node that could not go on. */
export interface Failure {
  /** Empty if no node is to blame. */
  readonly node: string
  readonly message: string
}

export interface NodeStatus {
  readonly name: string
  readonly uuid: string
  readonly type: string
  /** As VILLASnode calls them; 'parsed' for one that no path uses. */
  readonly state: string
  /** Samples: read, written, lost and so on; and what the node counts by itself. */
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

export class SuperNode {
  readonly config: GatewayConfig
  readonly #plan: Plan
  readonly #log: NonNullable<SuperNodeOptions['log']>
  readonly #failures: Failure[] = []
  #groups: GroupHost[] = []
  #state: GatewayState = 'parsed'
  #ticker: NodeJS.Timeout | undefined
  #stopping = false
  #pool: OwnedPool | null = null
  /** Samples that nobody held when everything had stopped. */
  #available: number | undefined
  readonly #done: Promise<void>
  #isDone = (): void => {}

  private constructor(plan: Plan, options: SuperNodeOptions) {
    this.config = plan.config
    this.#plan = plan
    this.#log = options.log ?? (() => {})
    this.#done = new Promise((resolve) => {
      this.#isDone = resolve
    })
  }

  /** Checks a configuration to the end. Throws a `GatewayError` that says what is wrong, and where. */
  static async parse(config: GatewayConfig, options: SuperNodeOptions = {}): Promise<SuperNode> {
    return new SuperNode(await makePlan(config, options.placeOf), options)
  }

  get state(): GatewayState {
    return this.#state
  }

  /** Nodes that could not start or go on. */
  get failures(): readonly Failure[] {
    return this.#failures
  }

  /** Fulfilled when everything has stopped: by `stop`, or because all sources have ended. */
  get done(): Promise<void> {
    return this.#done
  }

  /** Starts all nodes, and then all paths. Throws a `GatewayError` that names the node that cannot start, with everything stopped. */
  async start(): Promise<void> {
    if (this.#state !== 'parsed') throw new Error(`the gateway is ${this.#state}: it can be started once`)
    this.#state = 'starting'
    const { poolSize, values, nodes, groups, device } = this.#plan
    const pool = await makePool(poolSize, values, device).catch((error: unknown) => {
      this.#finish()
      throw error
    })
    this.#pool = pool
    const shared = new Map([...nodes].map(([name, { parsed }]) => [name, parsed.share?.()]))
    const epoch = epochNs()
    this.#groups = groups.map((plan) => {
      const host: GroupHost = new GroupHost(plan, {
        pool: pool.share,
        epochNs: epoch,
        shared: (name) => shared.get(name),
        onMessage: (message) => this.#hear(message),
      })
      void host.done.then(() => this.#proceed())
      return host
    })
    const ready = await Promise.all(this.#groups.map((group) => group.ready))
    if (ready.includes(false)) {
      await this.stop()
      const [{ node, message } = { node: '', message: 'a thread has ended' }] = this.#failures
      throw new GatewayError('ERR_GATEWAY_NODE', node === '' ? message : `node ${node} cannot start: ${message}`)
    }
    this.#state = 'started'
    for (const group of this.#groups) group.run()
    const { statsHz } = this.config
    if (statsHz > 0) this.#ticker = setInterval(() => this.#tick(), 1000 / statsHz)
    this.#proceed()
  }

  /** Stops in order; everything is written then. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return
    if (this.#state === 'parsed') {
      this.#finish()
      return
    }
    this.#stopping = true
    this.#state = 'stopping'
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

  /** Samples of the pool that nobody holds; all of them, when everything has stopped. */
  get pool(): { capacity: number; available: number } {
    return {
      capacity: this.#plan.poolSize,
      available: this.#available ?? this.#pool?.pool.available ?? this.#plan.poolSize,
    }
  }

  #finish(): void {
    clearInterval(this.#ticker)
    this.#state = 'stopped'
    this.#available ??= this.#pool?.pool.available
    this.#pool?.close()
    this.#pool = null
    this.#isDone()
  }

  #hear(message: GroupMessage): void {
    if (message.kind === 'log') this.#log(message.level, message.node, message.line)
    else if (message.kind === 'failed') {
      const { node, message: text } = message
      this.#failures.push({ node, message: text })
      if (this.#state !== 'starting') this.#log('error', node, `cannot go on: ${text}`)
    } else if (message.kind === 'ended') this.#proceed()
  }

  #tick(): void {
    for (const group of this.#groups) if (!group.stopped) group.tick()
  }

  /** Stops groups that have nothing to do any more, and sees whether all have stopped. */
  #proceed(): void {
    if (this.#state === 'starting') return
    const running = this.#groups.filter(({ stopped }) => !stopped)
    if (running.length === 0) {
      this.#finish()
      return
    }
    // Of groups that feed each other in a circle none can be first, so all are.
    const free = running.filter((group) => !running.some((other) => other !== group && feeds(other, group)))
    const first = free.length > 0 ? free : running
    for (const group of first) if (this.#stopping || group.ended) group.stop()
  }
}

/** Whether one group writes to a node that mirrors, and the other reads that. */
function feeds(from: GroupHost, to: GroupHost): boolean {
  return from.plan.nodes.some(
    ({ config, directions, mirrors }) =>
      mirrors &&
      directions.out &&
      to.plan.nodes.some((other) => other.config.name === config.name && other.directions.in),
  )
}
