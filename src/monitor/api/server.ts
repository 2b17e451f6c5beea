/**
 * Live page of the monitor over HTTP or HTTPS, and its WebSocket.
 *
 *     GET /        the page, which has nothing of the monitor in it
 *     GET /live    WebSocket, with the token as ?token= if there is one: an update for each window; questions and their answers.
 *                  Without an upgrade, the reason why it would fail, which scripts of pages do not get: 401, 403, 503, else 426
 *
 * Pages of other sites are rejected by their Origin, and names that only point here by the Host (Guard).
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { Guard, pageDocument, pageScript } from '../../web/index.ts'
import type { App, Refusal, Served } from '../../web/serve/index.ts'
import type { LiveView } from '../view/index.ts'
import { pageBody } from './body.ts'
import { pageStyle } from './style.ts'
import { Texts } from './texts.ts'
import { Turns } from './turns.ts'
import { type Shared, Viewer } from './viewer.ts'

export interface PageOptions {
  live: LiveView
  host: string
  /** Port; 0: any free one. */
  port: number
  /** Token of the page; null: every user of this host has access, and so has any process that reaches the address. */
  token: string | null
  /** Key and certificate in PEM; without them, plain HTTP. */
  tls?: { key: string; cert: string }
}

const mostViewers = 32
const mostQuestionBytes = 4096
/** Minimum interval of updates: windows that end faster share one. */
const leastMs = 50
const pingMs = 15_000
/** Interval at which the states of agents are checked: agents vanish when no window comes. */
const agentsMs = 1000

export class PageServer {
  readonly #live: LiveView
  readonly #shared: Shared
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: mostQuestionBytes })
  readonly #viewers = new Set<Viewer>()
  readonly #page: string
  readonly #repeated: NodeJS.Timeout[]
  #served: Served | undefined
  #agents = ''
  #timer: NodeJS.Timeout | undefined
  #lastMs = Number.NEGATIVE_INFINITY

  private constructor({ live }: PageOptions) {
    this.#live = live
    this.#page = pageDocument({
      ...{ title: 'RDMA monitor', style: pageStyle, body: pageBody, script: pageScript('monitor-page.js') },
      // The script makes elements and texts only: no data that it receives can become markup.
      permits: ["connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"],
    })
    this.#shared = { texts: new Texts(live), turns: new Turns() }
    this.#repeated = [setInterval(() => this.#ping(), pingMs), setInterval(() => this.#look(), agentsMs)]
    for (const timer of this.#repeated) timer.unref()
  }

  /** Starts the server. Throws the error of the system if it cannot listen. */
  static async start(options: PageOptions): Promise<PageServer> {
    const { host, port, tls, token } = options
    const { serve } = await import('../../web/serve/index.ts')
    const page = new PageServer(options)
    try {
      page.#served = await serve({
        ...{ host, port, ...(tls && { tls }), guard: new Guard(token), open: ['/'], tokenInAddress: true },
        headers: { 'Content-Security-Policy': "frame-ancestors 'none'" },
        routes: (app) => page.#addRoutes(app),
        upgrade: (request, socket, head) => page.#upgrade(request, socket, head),
      })
    } catch (error) {
      await page.close()
      throw error
    }
    return page
  }

  get url(): string {
    return this.#served!.url
  }

  /** Notifies the pages of a new window, or of the end of the windows. */
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
    await this.#served?.close()
  }

  #addRoutes(app: App): void {
    app.get('/', (c) => c.html(this.#page))
    app.get('/live', (c) => {
      const { status, message } = this.#whyNot('/live') ?? { status: 426, message: 'this is for WebSockets' }
      return c.json({ error: message }, status, status === 426 ? { Upgrade: 'websocket' } : {})
    })
    app.notFound((c) =>
      ['GET', 'HEAD'].includes(c.req.method)
        ? c.json({ error: 'there is nothing here' }, 404)
        : c.json({ error: 'there is a page to GET, nothing else' }, 405),
    )
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Refusal | null {
    const refusal = this.#whyNot(request.url!.split('?')[0]!)
    if (refusal !== null) return refusal
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      const viewer = new Viewer(client, this.#shared)
      this.#viewers.add(viewer)
      client.on('close', () => this.#viewers.delete(viewer))
      // The first update has all points of time so far.
      this.#shared.turns.add(viewer, () => viewer.update())
    })
    return null
  }

  /** Returns the reason why a request cannot become a WebSocket; null if it can. */
  #whyNot(path: string): Refusal | null {
    if (path !== '/live') return { status: 404, message: 'there is nothing here' }
    if (this.#viewers.size >= mostViewers) return { status: 503, message: `there are ${mostViewers} viewers already` }
    return null
  }

  #look(): void {
    if (this.#viewers.size === 0) return
    const { agents } = this.#live
    const states = JSON.stringify(agents.map(({ name, state, aheadSeconds }) => [name, state, aheadSeconds]))
    if (states === this.#agents) return
    this.#agents = states
    this.update()
  }

  /** Pings each viewer; one that has not answered the last ping is disconnected. */
  #ping(): void {
    for (const viewer of this.#viewers) viewer.ping()
  }
}
