/** What all verbs objects share: they are closed once, and used only before. */
import { VerbsError } from '../provider/errors.ts'
import { describe } from '../provider/work-request.ts'

export abstract class Handle implements Disposable {
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

  /** Whether an import stands for an object that does not exist any more: its owner closed it, or ended. */
  protected gone(): boolean {
    return false
  }

  protected closedError(verb: string): VerbsError {
    const why = this.#closed ? 'is closed' : 'was destroyed by the thread that created it, or with that thread'
    return new VerbsError('EBADF', verb, `this ${this.#what} ${why}`)
  }

  /** Of an import, `close` ends only the import, also if the object is gone already: true if it did. */
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

/** "1 entry", "2 entries". */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
