/**
 * Connection management of this thread's sockets: an event channel for each device that sockets were opened for. Its users
 * drive it: in blocking calls, by `pump`, and in the event loop while a socket listens or connects.
 */
import { type CmEvent, createEventChannel, type EventChannel } from '../../cm/index.ts'
import { inRootContext } from '../../memory/index.ts'
import type { Context } from '../../verbs/index.ts'
import { IoContext, keepMs, processHeld, whenReleased } from './io-context.ts'
import type { Route } from './sharing.ts'

/** Type of the `context` of an id. */
export interface CmOwner {
  cmEvent(event: CmEvent): void
}

/** Interval at which the channel is served for users that do not keep the process alive. */
const unheldMs = 10
/**
 * Interval at which a channel is served while there are sockets and no user follows it. Nothing else would serve it: a peer would get no
 * answer from a listener that the program does not watch, and none to its disconnect. Following the channel instead would keep the process
 * alive, since waiting for its events does (`CompletionChannel.whenEvent`). So it is followed only while the process is kept alive anyway.
 */
const idleMs = 50
/** Number of times the channel is served at that interval before it is followed: HTTP clients let the process end after each request. */
const idleTimes = 4

const services = new Map<string | Context, CmService>()

export class CmService {
  readonly channel: EventChannel
  /** Trunks by the address that they lead to, and addresses whose peers do not share. */
  readonly routes: Map<string, Route> = new Map()
  readonly alone: Set<string> = new Set()
  readonly #key: string | Context
  #uses = 0
  /** Number of these users that await no events. */
  #quiet = 0
  #follows = 0
  #unheld = 0
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #closing: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #idled = 0
  /** Function that stops following the channel; set while the channel is followed because the process is kept alive anyway. */
  #along: (() => void) | undefined

  constructor(key: string | Context) {
    this.#key = key
    this.channel = inRootContext(() => createEventChannel({ device: key }))
  }

  /** Returns the channel for a device; each call is paired with a `release`. A `quiet` user awaits no events. */
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
    this.#along?.()
    IoContext.closeUnused()
    this.channel.close()
  }

  /** Dispatches all events that have arrived; returns true if there were any. */
  pump(): boolean {
    let any = false
    for (let event = this.channel.tryGetEvent(); event !== undefined; event = this.channel.tryGetEvent()) {
      this.#dispatch(event)
      any = true
    }
    return any
  }

  /** Blocks until an event has arrived, at most `ms`. */
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
    const idle = this.#follows === 0 && this.#uses > this.#quiet
    if (!idle && this.#along !== undefined) {
      this.#along()
      this.#along = undefined
    }
    const follows = this.#follows > 0 || this.#along !== undefined
    if (follows && this.#stop === undefined) this.#stop = this.channel.onReadable(() => this.pump())
    if (!follows && this.#stop !== undefined) {
      this.#stop()
      this.#stop = undefined
    }
    const polls = !follows && this.#unheld > 0
    if (polls && this.#timer === undefined) this.#timer = setInterval(() => this.pump(), unheldMs).unref()
    if (!polls && this.#timer !== undefined) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    // A follower gets events as they come.
    const idles = idle && !follows
    if (idles && this.#idle === undefined) {
      this.#idled = 0
      this.#idle = setInterval(this.#serveIdle, idleMs).unref()
    }
    if (!idles && this.#idle !== undefined) {
      clearInterval(this.#idle)
      this.#idle = undefined
    }
  }

  readonly #serveIdle = (): void => {
    this.pump()
    if (!processHeld()) this.#idled = 0
    else if (++this.#idled >= idleTimes && this.#idle !== undefined) {
      const stop = whenReleased(() => {
        stop()
        this.#along = undefined
        this.#update()
      })
      this.#along = stop
      this.#update()
    }
  }
}
