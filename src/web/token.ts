/** Tokens that whoever calls a server must know. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** One that nobody can guess: 256 bits, of letters, digits, '-' and '_'. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The address of a page that knows its token. The part behind '#' stays in the browser: it is in no request, log or referrer, and the
 * page takes it out of the address.
 */
export function pageUrl(origin: string, token: string): string {
  return `${origin}/#token=${encodeURIComponent(token)}`
}

export class Token {
  readonly #digest: Buffer

  constructor(token: string) {
    this.#digest = digestOf(token)
  }

  /** How long it takes says nothing of the token. */
  is(given: string): boolean {
    return timingSafeEqual(digestOf(given), this.#digest)
  }

  /** `authorization`: the header of a request. */
  isBearer(authorization: string | undefined): boolean {
    return this.is(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '')
  }
}

/** Of one length, so that comparing them says nothing of the token. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
