/** Tokens that the callers of a server must know. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Returns a token that cannot be guessed: 256 bits, of letters, digits, '-' and '_'. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Returns the address of a page that knows its token. The part after '#' stays in the browser: it is in no request, log or referrer, and
 * the page removes it from the address.
 */
export function pageUrl(origin: string, token: string): string {
  return `${origin}/#token=${encodeURIComponent(token)}`
}

export class Token {
  readonly #digest: Buffer

  constructor(token: string) {
    this.#digest = digestOf(token)
  }

  /** True if the token is the given one. The time of the comparison does not depend on the token. */
  is(given: string): boolean {
    return timingSafeEqual(digestOf(given), this.#digest)
  }

  /** True if the header of a request has the token. `authorization`: that header. */
  isBearer(authorization: string | undefined): boolean {
    return this.is(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '')
  }
}

/** Returns a digest, which always has the same length, so that the comparison reveals nothing about the token. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
