/**
 * Who may call a server: whoever knows its token. Loopback protects nothing: every user of the host, and every container in its network,
 * reaches it. A server whose user wants it without a token still rejects pages of other sites, which could call it through the
 * browser of somebody on this host: their requests have another Origin, and, if the site's name points to 127.0.0.1 (DNS
 * rebinding), another Host.
 */
import type { Duplex } from 'node:stream'
import { Token } from './token.ts'

export interface GuardedRequest {
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
  /** A token that is in the address, as browsers need it for WebSockets. */
  readonly token: string | undefined
}

/** Why a request is rejected; null if it may pass. */
export interface Rejection {
  readonly status: 401 | 403
  readonly message: string
}

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

export class Guard {
  readonly #token: Token | null

  constructor(token: string | null) {
    this.#token = token === null ? null : new Token(token)
  }

  check({ host, origin, authorization, token }: GuardedRequest): Rejection | null {
    // No browser adds it by itself: a page of another origin that has it, such as VILLASweb, was given it.
    if (this.#token !== null && token !== undefined && this.#token.is(token)) return null
    const foreign = this.checkOrigin({ host, origin })
    if (foreign !== null || this.#token === null) return foreign
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? token
    if (given === undefined) return { status: 401, message: 'a token is required: Authorization: Bearer …' }
    return this.#token.is(given) ? null : { status: 401, message: 'this is not the token' }
  }

  /** What everybody may see, whoever comes from here. */
  checkOrigin({ host, origin }: Pick<GuardedRequest, 'host' | 'origin'>): Rejection | null {
    if (this.#token === null && !loopbackHost.test(host ?? ''))
      return { status: 403, message: `'${host ?? ''}' is no name of this host; call localhost or 127.0.0.1` }
    if (origin !== undefined && hostOf(origin) !== host?.toLowerCase())
      return { status: 403, message: `a page of ${origin} may not call this server` }
    return null
  }
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

/** The response to a request to become a WebSocket that may not. The server no longer knows such a socket: it is closed here, whatever its peer does. */
export function refuse(socket: Duplex, status: number, message: string): void {
  socket.once('finish', () => socket.destroy())
  const body = `${JSON.stringify({ error: message })}\n`
  socket.end(
    `HTTP/1.1 ${status} Rejected\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
