/**
 * The event channels of connection management in this thread, one for each device that sockets were opened for. Who has
 * ids on one gives it time: in blocking calls, by `pump`, and in the event loop while somebody listens or connects.
 */
import { type CmEvent, createEventChannel, type EventChannel } from '../../cm/index.ts'
import { inRootContext } from '../../memory/index.ts'
import type { Context } from '../../verbs/index.ts'
import type { Route } from './sharing.ts'

/** What an id's `context` is. */
export interface CmOwner {
  cmEvent(event: CmEvent): void
}

/** An unused channel is kept so long: programs often open the next socket soon, and last messages need somebody. */
const keepMs = 250
/** How often an owner that does not keep the process alive is looked after. */
const unheldMs = 10
/**
 * How often a channel is looked at while there are sockets and nobody follows it. Nothing else would give it time: a peer
 * gets no answer from a listener that the program does not watch, and none when it disconnects. To follow the channel
 * instead would keep the process alive, since what waits for events there does (`CompletionChannel.whenEvent`).
 */
const idleMs = 50

const hubs = new Map<string | Context, Hub>()

export class Hub {
  readonly channel: EventChannel
  /** Trunks, and addresses whose end shares nothing. */
  readonly routes: Map<string, Route> = new Map()
  readonly alone: Set<string> = new Set()
  readonly #key: string | Context
  #uses = 0
  /** Of these, users to whom connection management tells nothing. */
  #quiet = 0
  #follows = 0
  #unheld = 0
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #closing: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(key: string | Context) {
    this.#key = key
    this.channel = inRootContext(() => createEventChannel({ device: key }))
  }

  /** The channel for a device; each call wants one `release`. A `quiet` user awaits no events. */
  static acquire(device: string | Context | undefined, quiet = false): Hub {
    const key = device ?? (process.env.VERBENA_DEVICE || 'roce')
    let hub = hubs.get(key)
    if (hub === undefined) {
      hub = new Hub(key)
      hubs.set(key, hub)
    }
    hub.#uses++
    if (quiet) hub.#quiet++
    clearTimeout(hub.#closing)
    hub.#update()
    return hub
  }

  release(quiet = false): void {
    if (quiet) this.#quiet--
    if (--this.#uses > 0) {
      this.#update()
      return
    }
    this.#closing = inRootContext(() => setTimeout(() => this.#close(), keepMs).unref())
  }

  #close(): void {
    hubs.delete(this.#key)
    this.#stop?.()
    clearInterval(this.#timer)
    clearInterval(this.#idle)
    this.channel.close()
  }

  /** Serves all events that have come; whether there were any. */
  pump(): boolean {
    let any = false
    for (let event = this.channel.tryGetEvent(); event !== undefined; event = this.channel.tryGetEvent()) {
      this.#dispatch(event)
      any = true
    }
    return any
  }

  /** Blocks until an event has come, at most so long. */
  sleep(ms: number): void {
    const event = this.channel.getEvent(ms)
    if (event === undefined) return
    this.#dispatch(event)
    this.pump()
  }

  #dispatch(event: CmEvent): void {
    const owner = (event.listenId ?? event.id).context as CmOwner | undefined
    if (owner !== undefined) owner.cmEvent(event)
    else event.id.close()
  }

  /** From now on events are served in the event loop; with `ref` that keeps the process alive. */
  follow(ref: boolean): void {
    if (ref) this.#follows++
    else this.#unheld++
    this.#update()
  }

  unfollow(ref: boolean): void {
    if (ref) this.#follows--
    else this.#unheld--
    this.#update()
  }

  #update(): void {
    inRootContext(this.#updateHere)
  }

  readonly #updateHere = (): void => {
    if (this.#follows > 0 && this.#stop === undefined) this.#stop = this.channel.onReadable(() => this.pump())
    if (this.#follows === 0 && this.#stop !== undefined) {
      this.#stop()
      this.#stop = undefined
    }
    const polls = this.#follows === 0 && this.#unheld > 0
    if (polls && this.#timer === undefined) this.#timer = setInterval(() => this.pump(), unheldMs).unref()
    if (!polls && this.#timer !== undefined) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    // Whoever follows is told.
    const idles = this.#follows === 0 && this.#uses > this.#quiet
    if (idles && this.#idle === undefined) this.#idle = setInterval(() => this.pump(), idleMs).unref()
    if (!idles && this.#idle !== undefined) {
      clearInterval(this.#idle)
      this.#idle = undefined
    }
  }
}
