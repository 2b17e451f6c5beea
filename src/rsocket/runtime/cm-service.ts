/**
 * Connection management of this thread's sockets: an event channel for each device that sockets were opened for. Its users
 * drive it: in blocking calls, by `pump`, and in the event loop while a socket listens or connects.
 */
import { type CmEvent, createEventChannel, type EventChannel } from '../../cm/index.ts'
import { inRootContext } from '../../memory/index.ts'
import type { Context } from '../../verbs/index.ts'
import { IoContext, keepMs } from './io-context.ts'
import type { Route } from './sharing.ts'

/** What an id's `context` is. */
export interface CmOwner {
  cmEvent(event: CmEvent): void
}

/** How often the channel is served for users that do not keep the process alive. */
const unheldMs = 10
/**
 * How often a channel is served while there are sockets and none follows it. Nothing else would serve it: a peer
 * gets no answer from a listener that the program does not watch, and none when it disconnects. Following the channel
 * instead would keep the process alive, since waiting for its events does (`CompletionChannel.whenEvent`).
 */
const idleMs = 50

const services = new Map<string | Context, CmService>()

export class CmService {
  readonly channel: EventChannel
  /** Trunks by the address that they lead to, and addresses whose peers do not share. */
  readonly routes: Map<string, Route> = new Map()
  readonly alone: Set<string> = new Set()
  readonly #key: string | Context
  #uses = 0
  /** Of these, users that await no events. */
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

  /** The channel for a device; each call is paired with a `release`. A `quiet` user awaits no events. */
  static acquire(device: string | Context | undefined, quiet = false): CmService {
    const key = device ?? (process.env.VERBENA_DEVICE || 'roce')
    let cm = services.get(key)
    if (cm === undefined) {
      cm = new CmService(key)
      services.set(key, cm)
    }
    cm.#uses++
    if (quiet) cm.#quiet++
    clearTimeout(cm.#closing)
    cm.#update()
    return cm
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
    services.delete(this.#key)
    this.#stop?.()
    clearInterval(this.#timer)
    clearInterval(this.#idle)
    IoContext.closeUnused()
    this.channel.close()
  }

  /** Dispatches all events that have come; whether there were any. */
  pump(): boolean {
    let any = false
    for (let event = this.channel.tryGetEvent(); event !== undefined; event = this.channel.tryGetEvent()) {
      this.#dispatch(event)
      any = true
    }
    return any
  }

  /** Blocks until an event has come, at most `ms`. */
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

  /** Serves events in the event loop until `unfollow`; with `ref` that keeps the process alive. */
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
    // A follower gets events as they come.
    const idles = this.#follows === 0 && this.#uses > this.#quiet
    if (idles && this.#idle === undefined) this.#idle = setInterval(() => this.pump(), idleMs).unref()
    if (!idles && this.#idle !== undefined) {
      clearInterval(this.#idle)
      this.#idle = undefined
    }
  }
}
