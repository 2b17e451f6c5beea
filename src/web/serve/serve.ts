/**
 * A server over HTTP or HTTPS. The needs of every server are here, before any route: access, limits of size and time, the form of errors,
 * and an end. Routes are hono's.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { type Guard, type GuardedRequest, TlsError } from '../index.ts'
import { bodyOf, discardRest } from './body.ts'
import { Connections, serverLimits } from './connections.ts'

export type App = Hono
export type { Context }

/** Reason for a refusal: an HTTP status, and a sentence. */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 413 | 500 | 503
  readonly message: string
}

export interface ServeOptions {
  host: string
  /** Port; 0: any that is free. */
  port: number
  /** Key and certificate in PEM; without them, plain HTTP. */
  tls?: { key: string | Buffer; cert: string | Buffer }
  /** Guard; null: every client has access. */
  guard: Guard | null
  /** Paths that need no token. Pages of other sites are rejected there, too. */
  open?: readonly string[]
  /** Flag: the token of any request may be in its address, not only that of one to become a WebSocket. */
  tokenInAddress?: boolean
  /** Headers of every response. */
  headers?: Readonly<Record<string, string>>
  /** Form of errors: `{"error":"…"}`, or a line. JSON by default. */
  errors?: ErrorForm
  /** Maximum number of bytes of the body of a request, all of which its routes then have. Undefined: bodies are not read. */
  mostBody?: number
  /** Maximum number of connections, besides WebSockets. */
  mostConnections?: number
  routes(app: App): void
  /**
   * Accepts a connection that requests a WebSocket, after the guard, for which the token may be in the address, as browsers need it; or
   * returns the reason for a refusal. Throws if the address is not valid.
   */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): Refusal | null
}

export interface Served {
  /** URL of the server: `http://127.0.0.1:9880`. */
  readonly url: string
  /** Closes the server. Answers that are being made, and WebSockets, have a second; all else ends at once. */
  close(): Promise<void>
}

type ErrorForm = 'json' | 'text'

/** Headers by which no response is taken for another type than its own, or kept. */
const allHeaders = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }

/** Returns an app that has no routes yet. */
export function makeApp(form: ErrorForm = 'json'): App {
  const app = new Hono()
  app.onError((error) => responseOf({ status: 500, message: error.message }, form))
  app.notFound(() => responseOf({ status: 404, message: 'there is nothing here' }, form))
  return app
}

function secureServer(tls: NonNullable<ServeOptions['tls']>, listener: RequestListener): Server {
  try {
    return createSecureServer({ ...serverLimits, ...tls }, listener)
  } catch (error) {
    throw new TlsError(error as Error)
  }
}

/** Starts a server. Throws the error of the system if it cannot listen, and a TlsError for a key or a certificate that is not valid. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { host, port, tls, guard, open = [], tokenInAddress, headers, errors = 'json', mostBody, upgrade } = options
  const app = makeApp(errors)
  options.routes(app)

  /** Checks a request. `asked`: the data for the guard. */
  const whyNot = async (request: IncomingMessage, asked: Asked): Promise<Refusal | null> => {
    const known = tokenInAddress ? asked : { ...asked, token: undefined }
    const rejection = (open.includes(asked.path) ? guard?.checkOrigin(known) : guard?.check(known)) ?? null
    if (rejection !== null || mostBody === undefined) return rejection
    const rawBody = await bodyOf(request, mostBody)
    if (rawBody === undefined) return { status: 413, message: `a body has at most ${mostBody} bytes` }
    // This is where hono's adapter looks for a body that was read before.
    Object.assign(request, { rawBody })
    return null
  }
  const listener: RequestListener = (request, response) => {
    for (const [name, value] of Object.entries({ ...allHeaders, ...headers })) response.setHeader(name, value)
    response.once('finish', () => discardRest(request))
    // The adapter makes an address of this and the host, or answers itself; not all that comes is one.
    request.url = request
      .url!.replace(/^https?:\/\/[^/?]+/i, '')
      .replace(/^(?!\/)/, '/')
      .replaceAll('\\', '%5C')
    const asked = askedOf(request)
    request.headers.host = 'localhost'
    const answer = async (forRoutes: Request): Promise<Response> => {
      const refusal = await whyNot(request, asked)
      return refusal === null ? await app.fetch(forRoutes) : responseOf(refusal, errors)
    }
    // Other code of this process uses its global classes, too.
    void getRequestListener(answer, { overrideGlobalObjects: false, autoCleanupIncoming: false })(request, response)
  }

  const server = tls ? secureServer(tls, listener) : createServer(serverLimits, listener)
  const connections = new Connections(server, upgrade !== undefined, options.mostConnections)
  if (upgrade !== undefined)
    server.on('upgrade', (request, socket, head) => {
      // A client that goes away at once.
      socket.on('error', () => socket.destroy())
      try {
        const refusal = guard?.check(askedOf(request)) ?? upgrade(request, socket, head)
        if (refusal !== null) refuse(socket, refusal)
      } catch {
        refuse(socket, { status: 400, message: 'this is no address' })
      }
    })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () => connections.close(),
  }
}

interface Asked extends GuardedRequest {
  /** Path as it came: not all of it is an address. */
  readonly path: string
}

function askedOf({ url = '/', headers: { host, origin, authorization } }: IncomingMessage): Asked {
  const [path = '', query] = url.split('?')
  return { host, origin, authorization, path, token: new URLSearchParams(query).get('token') ?? undefined }
}

function responseOf({ status, message }: Refusal, form: ErrorForm): Response {
  const init = { status, headers: status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {} }
  return form === 'json' ? Response.json({ error: message }, init) : new Response(`${message}\n`, init)
}

/**
 * Sends the response to a rejected request for a WebSocket. The server no longer knows its socket: it is closed here, whatever its peer
 * does.
 */
function refuse(socket: Duplex, { status, message }: Refusal): void {
  socket.once('finish', () => socket.destroy())
  const body = JSON.stringify({ error: message })
  socket.end(
    `HTTP/1.1 ${status} Rejected\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
