/** Callbacks that the event loop runs while a socket is ready. */
import { withContext } from '../../memory/index.ts'
import { POLLERR, POLLHUP } from '../protocol/index.ts'

/** A watch; `unref` lets the event loop end while the watch goes on, as with a timer. */
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
  /** Union of the events of all watches. */
  events = 0

  /** `changed` is called when the number of watches changes, or of those that keep the process alive. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get size(): number {
    return this.#all.size
  }

  /** True if one of them keeps the process alive. */
  get held(): boolean {
    for (const { ref } of this.#all) if (ref) return true
    return false
  }

  /** Adds a watch, whose `callback` runs in the asynchronous context of the caller. */
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

  /** Calls the watches for which any of `revents` is true; returns true if there were any. */
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
