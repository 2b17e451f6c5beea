/** Callbacks that the event loop runs while a socket is ready. */
import { withContext } from '../../memory/index.ts'
import { POLLERR, POLLHUP } from '../protocol/index.ts'

/** Ends a watch; `unref` lets the event loop end although it goes on, as with a timer. */
export interface Watch {
  (): void
  ref(): void
  unref(): void
}

interface One {
  events: number
  callback: (revents: number) => void
  ref: boolean
}

export class Watches {
  readonly #all = new Set<One>()
  readonly #changed: () => void
  /** What any of them asks for. */
  events = 0

  /** `changed` is called when the number of watches changes, or of those that keep the process alive. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get size(): number {
    return this.#all.size
  }

  /** Whether one of them keeps the process alive. */
  get held(): boolean {
    for (const { ref } of this.#all) if (ref) return true
    return false
  }

  /** `callback` runs in the asynchronous context that is the caller's now. */
  add(events: number, callback: (revents: number) => void): Watch {
    const one: One = { events, callback: withContext(callback), ref: true }
    this.#all.add(one)
    this.events |= events
    this.#changed()
    const stop = (): void => {
      if (!this.#all.delete(one)) return
      this.events = 0
      for (const { events } of this.#all) this.events |= events
      this.#changed()
    }
    const setRef = (ref: boolean): void => {
      if (one.ref === ref) return
      one.ref = ref
      if (this.#all.has(one)) this.#changed()
    }
    return Object.assign(stop, { ref: () => setRef(true), unref: () => setRef(false) })
  }

  clear(): void {
    this.#all.clear()
    this.events = 0
    this.#changed()
  }

  /** Calls those for which something of `revents` is true; whether there were any. */
  call(revents: number): boolean {
    let any = false
    for (const one of this.#all) {
      const mine = revents & (one.events | POLLERR | POLLHUP)
      if (mine === 0) continue
      any = true
      one.callback(mine)
    }
    return any
  }
}
