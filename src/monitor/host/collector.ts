/**
 * Collector over HTTP or HTTPS. All requests need the token.
 *
 *     GET /v1/plan properties that windows must have: version, length, memory and seed of the sketches
 *     POST /v1/windows   gzip of a window; 200 when it is taken, or was before; 409 if it cannot be merged; 400 if it is not a window
 *     GET /v1/agents agents that send, that lag, that have vanished
 *     GET  /metrics      for Prometheus, if there are some
 *
 * A window is saved before it is acknowledged, so that none is lost or counted twice when the collector is started again.
 */
import { metricsType } from '../../counters/index.ts'
import { Guard } from '../../web/index.ts'
import type { App, Served } from '../../web/serve/index.ts'
import {
  type AgentState,
  Agents,
  decodeWindow,
  describeWindow,
  MonitorError,
  mostWindowBytes,
  type Window,
  type WindowPlan,
} from '../index.ts'
import { planDocument } from './agent.ts'
import { unpackWindow, WindowStore } from './store.ts'

export interface CollectorOptions {
  plan: WindowPlan
  token: string
  host: string
  /** Port; 0: any free one. */
  port: number
  /** Key and certificate in PEM; without them, plain HTTP. */
  tls?: { key: string; cert: string }
  /** File in which windows are saved. */
  file?: string
  vanishMs?: number
  /** Receives merged windows, in the order of their time, and late ones. */
  onWindow(window: Window): void
  /** Returns the text of GET /metrics. */
  metrics?(agents: readonly AgentState[]): string
  /** Receives a message for the user. */
  onNote(text: string): void
}

const tickMs = 1000
/** Maximum number of connections of agents, each of which has one. */
const mostConnections = 8192

export class Collector {
  readonly #options: CollectorOptions
  readonly #agents: Agents
  readonly #store: WindowStore | undefined
  readonly #timer: NodeJS.Timeout
  #served: Served | undefined
  #states = new Map<string, string>()

  private constructor(options: CollectorOptions) {
    this.#options = options
    const { plan, onWindow, vanishMs, file } = options
    this.#agents = new Agents({ plan, onWindow, ...(vanishMs !== undefined && { vanishMs }) })
    if (file !== undefined) this.#store = new WindowStore(file, (part) => this.#agents.restore(part))
    this.#timer = setInterval(() => this.#tick(), tickMs)
  }

  /** Starts the collector. Throws the error of the system if it cannot listen, or cannot write the file. */
  static async start(options: CollectorOptions): Promise<Collector> {
    const { host, port, tls, plan, token } = options
    const { serve } = await import('../../web/serve/index.ts')
    const collector = new Collector(options)
    try {
      collector.#served = await serve({
        ...{ host, port, ...(tls && { tls }), mostConnections, mostBody: mostWindowBytes(plan) },
        guard: new Guard(token, 'the token is missing or wrong (--token-file)'),
        routes: (app) => collector.#addRoutes(app),
      })
      return collector
    } catch (error) {
      await collector.close()
      throw error
    }
  }

  get url(): string {
    return this.#served!.url
  }

  agents(): AgentState[] {
    return this.#agents.states().map(({ run: _, ...state }) => state)
  }

  /** Hands on the windows that wait, including those that are acknowledged while it ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#served?.close()
    this.#agents.flush()
    this.#store?.close()
  }

  #tick(): void {
    this.#agents.tick(performance.now())
    const states = this.#agents.states()
    const known = this.#states
    this.#states = new Map(states.map(({ run, state }) => [run, state]))
    for (const { name, run, state } of states) {
      const before = known.get(run)
      if (before === undefined ? state === 'here' : before === state) continue
      this.#options.onNote(`agent ${name} ${{ here: 'is here again', lags: 'lags', vanished: 'has vanished' }[state]}`)
    }
  }

  #addRoutes(app: App): void {
    const { plan, metrics, onNote } = this.#options
    app.onError((error, c) => {
      if (error instanceof MonitorError)
        return c.json({ error: error.message }, error.code === 'ERR_MONITOR_MISMATCH' ? 409 : 400)
      onNote(`a window could not be taken: ${error.message}`)
      return c.json({ error: `the collector cannot take it: ${error.message}` }, 500)
    })
    app.get('/v1/plan', (c) => c.json(planDocument(plan)))
    app.get('/v1/agents', (c) => c.json(this.agents()))
    app.post('/v1/windows', async (c) => c.json({ taken: this.#take(new Uint8Array(await c.req.arrayBuffer())) }))
    app.all('/v1/windows', (c) => c.json({ error: 'windows are sent by POST' }, 405))
    if (metrics !== undefined)
      app.get('/metrics', (c) => c.body(metrics(this.agents()), 200, { 'Content-Type': metricsType }))
  }

  #take(packed: Uint8Array): boolean {
    const bytes = unpackWindow(packed, this.#options.plan)
    const described = describeWindow(bytes)
    this.#agents.check(described)
    const window = decodeWindow(bytes)
    // A window that is not taken is not saved.
    if (this.#agents.isNew(described.parts[0]!)) this.#store?.add(packed)
    return this.#agents.add(window, Date.now(), performance.now())
  }
}
