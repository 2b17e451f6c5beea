/** What all verbs objects share: they are closed once, and used only before. */
import { VerbsError } from './errors.ts'
import { describe } from './work-request.ts'

export abstract class Handle implements Disposable {
  readonly #what: string
  #closed = false

  constructor(what: string) {
    this.#what = what
  }

  get closed(): boolean {
    return this.#closed
  }

  assertOpen(verb: string): void {
    if (this.#closed) throw new VerbsError('EBADF', verb, `this ${this.#what} is closed`)
  }

  protected markClosed(): void {
    this.#closed = true
  }

  abstract close(): void

  [Symbol.dispose](): void {
    if (!this.#closed) this.close()
  }
}

/** Throws EINVAL unless `value` is an object. */
export function checkObject(verb: string, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null)
    throw new VerbsError('EINVAL', verb, `${name} must be an object, not ${describe(value)}`)
}

/** Throws EINVAL unless `value` is an integer from `min` to `max`. */
export function checkInteger(verb: string, name: string, value: unknown, min: number, max: number): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw new VerbsError('EINVAL', verb, `${name} must be an integer from ${min} to ${max}, not ${describe(value)}`)
}
