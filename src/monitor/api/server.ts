/**
 * The monitor's live page over HTTP or HTTPS, and its WebSocket.
 *
 *     GET /        the page, which has nothing of the monitor in it
 *     GET /live    WebSocket, with the token as ?token= if there is one: an update for each window; questions and their answers.
 *                  Without an upgrade, why there would be none, since scripts of pages are not told: 401, 403, 503, else 426
 *
 * Pages of other sites are rejected by their Origin, and names that only point here by the Host (Guard).
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { Connections, Guard, originOf, pageDocument, pageScript, refuse, serverLimits } from '../../web/index.ts'
import type { LiveView } from '../view/index.ts'
import { pageBody } from './body.ts'
import { pageStyle } from './style.ts'
import { Texts } from './texts.ts'
import { Turns } from './turns.ts'
import { type Shared, Viewer } from './viewer.ts'

export interface PageOptions {
  live: LiveView
  host: string
  /** 0: any that is free. */
  port: number
  /** Null: every user of this host may look, and so may whatever else reaches the address. */
  token: string | null
  /** PEM; without them, plain HTTP. */
  tls?: { key: string; cert: string }
}

const mostViewers = 32
const mostQuestionBytes = 4096
/** Windows that end faster share an update. */
const leastMs = 50
const pingMs = 15_000
/** How often it is looked who is there: agents vanish where no window comes. */
const agentsMs = 1000

const headers = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "frame-ancestors 'none'",
}

export class PageServer {
  readonly #options: PageOptions
  readonly #guard: Guard
  readonly #server: Server
  readonly #connections: Connections
  readonly #shared: Shared
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: mostQuestionBytes })
  readonly #viewers = new Set<Viewer>()
  readonly #page: string
  readonly #repeated: NodeJS.Timeout[]
  #agents = ''
  #timer: NodeJS.Timeout | undefined
  #lastMs = Number.NEGATIVE_INFINITY

  private constructor(options: PageOptions) {
    this.#options = options
    const { token, tls } = options
    this.#guard = new Guard(token)
    this.#page = pageDocument({
      ...{ title: 'RDMA monitor', style: pageStyle, body: pageBody, script: pageScript('monitor-page.js') },
      // The script makes elements and texts only: nothing that it is sent can become markup.
      permits: ["connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"],
    })
    const listener: RequestListener = (request, response) => this.#serve(request, response)
    this.#server =
      tls === undefined
        ? createServer(serverLimits, listener)
        : createSecureServer({ ...serverLimits, ...tls }, listener)
    this.#connections = new Connections(this.#server)
    this.#shared = { texts: new Texts(options.live), turns: new Turns() }
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#repeated = [setInterval(() => this.#ping(), pingMs), setInterval(() => this.#look(), agentsMs)]
    for (const timer of this.#repeated) timer.unref()
  }

  /** Throws the error of the system if it cannot listen. */
  static async start(options: PageOptions): Promise<PageServer> {
    const page = new PageServer(options)
    try {
      page.#server.listen(options.port, options.host)
      await once(page.#server, 'listening')
    } catch (error) {
      await page.close()
      throw error
    }
    return page
  }

  get url(): string {
    const { host, tls } = this.#options
    return originOf(this.#server, host, tls !== undefined)
  }

  /** Something is new: a window, or the end of them. */
  update(): void {
    this.#shared.texts.renew()
    if (this.#timer !== undefined || this.#viewers.size === 0) return
    const waitMs = Math.max(0, leastMs - (performance.now() - this.#lastMs))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#lastMs = performance.now()
      for (const viewer of this.#viewers) viewer.update()
    }, waitMs)
  }

  async close(): Promise<void> {
    for (const timer of this.#repeated) clearInterval(timer)
    clearTimeout(this.#timer)
    for (const viewer of this.#viewers) viewer.leave('the monitor has ended')
    this.#shared.turns.end()
    this.#sockets.close()
    await this.#connections.close()
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { ...headers, 'Content-Type': `${type}; charset=utf-8` })
      response.end(request.method === 'HEAD' ? '' : text)
    }
    const error = (status: number, message: string): void =>
      answer(status, 'application/json', `${JSON.stringify({ error: message })}\n`)
    const { host, origin } = request.headers
    const rejection = this.#guard.checkOrigin({ host, origin })
    if (rejection !== null) {
      error(rejection.status, rejection.message)
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      error(405, 'there is a page to GET, nothing else')
      return
    }
    if (pathOf(request) === '/') {
      answer(200, 'text/html', this.#page)
      return
    }
    const { status, message } = this.#whyNot(request) ?? { status: 426, message: 'this is for WebSockets' }
    if (status === 426) response.setHeader('Upgrade', 'websocket')
    error(status, message)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A client that goes away at once.
    socket.on('error', () => socket.destroy())
    const rejection = this.#whyNot(request)
    if (rejection !== null) {
      refuse(socket, rejection.status, rejection.message)
      return
    }
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      const viewer = new Viewer(client, this.#shared)
      this.#viewers.add(viewer)
      client.on('close', () => this.#viewers.delete(viewer))
      // All points of time so far.
      this.#shared.turns.add(viewer, () => viewer.update())
    })
  }

  /** Why a request cannot become a WebSocket. */
  #whyNot(request: IncomingMessage): { status: number; message: string } | null {
    const { host, origin, authorization } = request.headers
    const token = new URLSearchParams((request.url ?? '').split('?')[1] ?? '').get('token') ?? undefined
    const rejection = this.#guard.check({ host, origin, authorization, token })
    if (rejection !== null) return rejection
    if (pathOf(request) !== '/live') return { status: 404, message: 'there is nothing here' }
    if (this.#viewers.size >= mostViewers) return { status: 503, message: `there are ${mostViewers} viewers already` }
    return null
  }

  #look(): void {
    if (this.#viewers.size === 0) return
    const { agents } = this.#options.live
    const states = JSON.stringify(agents.map(({ name, state, aheadSeconds }) => [name, state, aheadSeconds]))
    if (states === this.#agents) return
    this.#agents = states
    this.update()
  }

  /** Who does not answer until the next time is gone. */
  #ping(): void {
    for (const viewer of this.#viewers) viewer.ping()
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0]!
}
