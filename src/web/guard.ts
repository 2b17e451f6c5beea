/**
 * Access to a server: a caller must know its token. Loopback protects nothing: every user of the host, and every container in its network,
 * reaches it. A server whose user wants it without a token still rejects pages of other sites, which could call it through a browser on
 * this host: their requests have another Origin, and, if the site's name points to 127.0.0.1 (DNS rebinding), another Host.
 */
import { Token } from './token.ts'

export interface GuardedRequest {
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
  /** Token in the address, as browsers need it for WebSockets. */
  readonly token: string | undefined
}

/** Reason for which a request is rejected; null if it may pass. */
export interface Rejection {
  readonly status: 401 | 403
  readonly message: string
}

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

export class Guard {
  readonly #token: Token | null
  readonly #unknown: string | undefined

  /** Makes a guard. `unknown`: message about a token that is missing, or another one. */
  constructor(token: string | null, unknown?: string) {
    this.#token = token === null ? null : new Token(token)
    this.#unknown = unknown
  }

  check({ host, origin, authorization, token }: GuardedRequest): Rejection | null {
    // No browser adds it by itself: a page of another origin that has it, such as VILLASweb, was given it.
    if (this.#token !== null && token !== undefined && this.#token.is(token)) return null
    const foreign = this.checkOrigin({ host, origin })
    if (foreign !== null || this.#token === null) return foreign
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? token
    if (given !== undefined && this.#token.is(given)) return null
    const usual = given === undefined ? 'a token is required: Authorization: Bearer …' : 'this is not the token'
    return { status: 401, message: this.#unknown ?? usual }
  }

  /** Checks a request for public content, which needs no token: rejects pages of other sites. */
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
