/**
 * An rsocket that listens. It has the few methods of libuv's handles that `net.Server` calls, so that it can
 * replace one.
 */
import { AsyncResource } from 'node:async_hooks'
import type { RSocketLike } from '../../rsocket/index.ts'
import {
  Errno,
  F_SETFL,
  IPPROTO_IPV6,
  IPV6_V6ONLY,
  O_NONBLOCK,
  POLLIN,
  SO_REUSEADDR,
  SO_REUSEPORT,
  SOCK_STREAM,
  SOL_SOCKET,
} from '../../rsocket/names.ts'
import type { Watch } from '../../rsocket/runtime/index.ts'
import type { Context } from '../../verbs/index.ts'
import { addressError, errnoError, type SystemError } from './errors.ts'
import { nodeAddress, openSocket } from './transport.ts'

export interface ListenTarget {
  /** Address to listen on; null: all addresses. */
  address: string | null
  port: number
  family: number
  backlog: number
  ipv6Only?: boolean
  /** Number of the group of listeners that share the port, in other processes too; 0: the port is not shared. */
  reusePort?: number
  device?: string | Context | undefined
}

/** Errors after which a listener is gone. After other errors it goes on, as libuv's does. */
const final: ReadonlySet<number> = new Set([-Errno.EBADF, -Errno.EINVAL, -Errno.ENODEV])
/** Number of connections that are accepted before other work of the event loop has its turn. */
const acceptsPerTurn = 64

export interface ListenerEvents {
  connection(socket: RSocketLike): void
  /** Handles the end of the listener: nothing more can be accepted. */
  failed(error: SystemError): void
}

export class Listener {
  readonly #socket: RSocketLike
  readonly #events: ListenerEvents
  readonly #watch: Watch
  /** Context of `listen`, in which events of connections run. */
  readonly #resource = new AsyncResource('VERBENASERVER', { requireManualDestroy: true })
  #closed = false

  private constructor(socket: RSocketLike, events: ListenerEvents) {
    this.#socket = socket
    this.#events = events
    this.#watch = socket.watch(POLLIN, () => this.#resource.runInAsyncScope(this.#accept, this))
  }

  /** Opens a listener; returns the error if that fails. */
  static open(target: ListenTarget, events: ListenerEvents): Listener | SystemError {
    if (target.address !== null) return Listener.#open(target, target.address, events)
    // All addresses: those of IPv6, which include IPv4's; without IPv6 those of IPv4.
    const both = Listener.#open({ ...target, family: 6 }, '::', events)
    if (both instanceof Listener || both.code === 'EADDRINUSE') return both
    return Listener.#open({ ...target, family: 4 }, '0.0.0.0', events)
  }

  static #open(
    { port, family, backlog, ipv6Only, reusePort, device }: ListenTarget,
    address: string,
    events: ListenerEvents,
  ): Listener | SystemError {
    let socket: RSocketLike
    try {
      socket = openSocket(family, SOCK_STREAM, device === undefined ? {} : { device })
    } catch (error) {
      return error as SystemError
    }
    socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    if (reusePort) socket.setsockopt(SOL_SOCKET, SO_REUSEPORT, reusePort)
    if (ipv6Only) socket.setsockopt(IPPROTO_IPV6, IPV6_V6ONLY, 1)
    let result = socket.bind({ address, port })
    if (result >= 0) result = socket.listen(backlog || 511)
    if (result < 0) {
      const { reason } = socket
      socket.close()
      return addressError(result, 'listen', address, port, reason)
    }
    return new Listener(socket, events)
  }

  #accept(): void {
    for (let n = 0; n < acceptsPerTurn && !this.#closed; n++) {
      const accepted = this.#socket.accept()
      if (typeof accepted === 'number') {
        // A connection that ended while it waited does not affect the server.
        if (accepted === -Errno.ECONNABORTED) continue
        if (final.has(accepted)) this.#events.failed(errnoError(accepted, 'accept', this.#socket.reason))
        return
      }
      accepted.fcntl(F_SETFL, O_NONBLOCK)
      this.#events.connection(accepted)
    }
  }

  get port(): number {
    return nodeAddress(this.#socket.getsockname()).port ?? 0
  }

  getsockname(out: object): number {
    Object.assign(out, nodeAddress(this.#socket.getsockname()))
    return 0
  }

  ref(): void {
    this.#watch.ref()
  }

  unref(): void {
    this.#watch.unref()
  }

  close(done?: () => void): void {
    if (!this.#closed) {
      this.#closed = true
      this.#watch()
      this.#socket.close()
      this.#resource.emitDestroy()
    }
    if (done) process.nextTick(done)
  }

  getAsyncId(): number {
    return this.#resource.asyncId()
  }
}
