/** Tokens that whoever calls a server must know. */
import { createHash, timingSafeEqual } from 'node:crypto'

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
