/** The end of all objects: they are closed once, and used only before. */
import { VerbsError } from '../provider/errors.ts'
import type { VerbsObject } from './objects.ts'

export abstract class Handle implements VerbsObject {
  readonly #what: string
  #closed = false

  constructor(what: string) {
    this.#what = what
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Throws EBADF if the object is closed, here or by the thread that made it. */
  assertOpen(verb: string): void {
    if (this.#closed || this.gone()) throw this.closedError(verb)
  }

  /** Returns true if an import refers to an object that no longer exists: its owner closed it, or ended. */
  protected gone(): boolean {
    return false
  }

  protected closedError(verb: string): VerbsError {
    const why = this.#closed ? 'is closed' : 'was destroyed by the thread that created it, or with that thread'
    return new VerbsError('EBADF', verb, `this ${this.#what} ${why}`)
  }

  /** Closes an import, and only the import, even if the object is gone already; returns true if it did. */
  protected endsImport(owned: boolean): boolean {
    if (owned || this.#closed) return false
    this.markClosed()
    return true
  }

  protected markClosed(): void {
    this.#closed = true
  }

  abstract close(): void

  [Symbol.dispose](): void {
    if (!this.#closed) this.close()
  }
}
