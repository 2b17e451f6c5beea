/**
 * The collector over HTTP or HTTPS. All requests need the token.
 *
 *     GET  /v1/plan      what windows must be: version, length, memory and seed of the sketches
 *     POST /v1/windows   gzip of a window; 200 when it is taken, or was before; 409 if it cannot be merged; 400 if it is none
 *     GET  /v1/agents    who sends, who lags, who has vanished
 *     GET  /metrics      for Prometheus, if there are some
 *
 * A window is saved before it is acknowledged, so that none is lost or counted twice when the collector is started again.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { metricsType } from '../../counters/index.ts'
import { Connections, originOf, serverLimits, Token } from '../../web/index.ts'
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
  /** 0: any that is free. */
  port: number
  /** PEM; without them, plain HTTP. */
  tls?: { key: string; cert: string }
  /** Where windows are saved. */
  file?: string
  vanishMs?: number
  /** Merged windows, in the order of their time, and late ones. */
  onWindow(window: Window): void
  /** The text of GET /metrics. */
  metrics?(agents: readonly AgentState[]): string
  /** What a person should know. */
  onNote(text: string): void
}

/** How long the rest of a request that was refused is read: a peer that sends it does not see the answer before. */
const restMs = 10_000
const tickMs = 1000
/** Of agents, each of which has one. */
const mostConnections = 8192

export class Collector {
  readonly #options: CollectorOptions
  readonly #agents: Agents
  readonly #server: Server
  readonly #connections: Connections
  readonly #store: WindowStore | undefined
  readonly #token: Token
  readonly #timer: NodeJS.Timeout
  #states = new Map<string, string>()

  private constructor(options: CollectorOptions) {
    this.#options = options
    const { plan, onWindow, vanishMs, file, tls, token } = options
    this.#agents = new Agents({ plan, onWindow, ...(vanishMs !== undefined && { vanishMs }) })
    this.#token = new Token(token)
    if (file !== undefined) this.#store = new WindowStore(file, (part) => this.#agents.restore(part))
    const listener: RequestListener = (request, response) => void this.#serve(request, response)
    this.#server =
      tls === undefined
        ? createServer(serverLimits, listener)
        : createSecureServer({ ...serverLimits, ...tls }, listener)
    this.#connections = new Connections(this.#server, mostConnections)
    this.#timer = setInterval(() => this.#tick(), tickMs)
  }

  /** Throws the error of the system if it cannot listen, or cannot write the file. */
  static async start(options: CollectorOptions): Promise<Collector> {
    const collector = new Collector(options)
    try {
      collector.#server.listen(options.port, options.host)
      await once(collector.#server, 'listening')
    } catch (error) {
      await collector.close()
      throw error
    }
    return collector
  }

  get url(): string {
    const { host, tls } = this.#options
    return originOf(this.#server, host, tls !== undefined)
  }

  agents(): AgentState[] {
    return this.#agents.states().map(({ run: _, ...state }) => state)
  }

  /** Hands on what waits, and ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#agents.flush()
    await this.#connections.close()
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, document: unknown): void => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(document))
      if (!request.complete) discard(request)
    }
    try {
      if (!this.#token.isBearer(request.headers.authorization))
        return answer(401, { error: 'the token is missing or wrong (--token-file)' })
      // Whatever was asked for: not all of it is an address.
      const [pathname] = (request.url ?? '/').split('?', 1)
      if (pathname === '/v1/plan' && request.method === 'GET') return answer(200, planDocument(this.#options.plan))
      if (pathname === '/v1/agents' && request.method === 'GET') return answer(200, this.agents())
      const { metrics } = this.#options
      if (pathname === '/metrics' && request.method === 'GET' && metrics !== undefined) {
        response.writeHead(200, { 'Content-Type': metricsType }).end(metrics(this.agents()))
        return
      }
      if (pathname !== '/v1/windows') return answer(404, { error: 'there is nothing here' })
      if (request.method !== 'POST') return answer(405, { error: 'windows are sent by POST' })
      const most = mostWindowBytes(this.#options.plan)
      const packed = await bodyOf(request, most)
      if (packed === undefined) return answer(413, { error: `a window has at most ${most} bytes` })
      answer(200, { taken: this.#take(packed) })
    } catch (error) {
      if (!(error instanceof MonitorError)) {
        answer(500, { error: `the collector cannot take it: ${(error as Error).message}` })
        this.#options.onNote(`a window could not be taken: ${(error as Error).message}`)
      } else answer(error.code === 'ERR_MONITOR_MISMATCH' ? 409 : 400, { error: error.message })
    }
  }

  #take(packed: Uint8Array): boolean {
    const bytes = unpackWindow(packed, this.#options.plan)
    const described = describeWindow(bytes)
    this.#agents.check(described)
    const window = decodeWindow(bytes)
    // What is not taken is not saved.
    if (this.#agents.isNew(described.parts[0]!)) this.#store?.add(packed)
    return this.#agents.add(window, Date.now(), performance.now())
  }
}

/** Undefined if it is longer than that: then the rest is not read. */
function bodyOf(request: IncomingMessage, most: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    request.on('data', (chunk: Uint8Array) => {
      length += chunk.length
      if (length <= most) chunks.push(chunk)
      else {
        chunks.length = 0
        resolve(undefined)
      }
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

/** Reads what is left of a request and forgets it, for a while. */
function discard(request: IncomingMessage): void {
  const end = setTimeout(() => request.destroy(), restMs).unref()
  request.once('close', () => clearTimeout(end))
  request.on('error', () => {})
  request.resume()
}
