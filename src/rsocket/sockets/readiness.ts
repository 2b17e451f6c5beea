/**
 * Readiness of a stream socket, and the choice of what drives it in the event loop. `StreamSocket` is built in steps, each of which knows
 * those before it: this, establishing.ts, sharing-socket.ts, socket.ts.
 */
import type { CmId } from '../../cm/index.ts'
import {
  type Mappings,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  type RSocketCounters,
  SOCK_STREAM,
  SocketOptions,
  type StreamLink,
  type Trunk,
} from '../protocol/index.ts'
import {
  activate,
  type BoundLink,
  CmService,
  everySeconds,
  hasConnected,
  type IoContext,
  type Leaver,
  type Member,
  type SocketAddress,
  SpinWaiter,
  type Stream,
  type Watch,
  Watches,
} from '../runtime/index.ts'
import { errnoOf } from './errors.ts'
import type { RSocketOptions } from './types.ts'

export type State = 'idle' | 'bound' | 'listening' | 'connecting' | 'connected' | 'failed' | 'closing' | 'closed'

export abstract class Ready implements Member, Leaver {
  readonly family: number
  readonly type: number = SOCK_STREAM
  protected readonly device: RSocketOptions['device']
  protected options: SocketOptions = new SocketOptions()
  protected state: State = 'idle'
  protected nonBlocking = false
  protected descriptorFlags = 0
  protected cm: CmService | undefined
  protected id: CmId | undefined
  protected pendingError = 0
  protected why = ''
  protected readonly watches: Watches = new Watches(() => this.hold())
  protected heldBy: CmService | IoContext | null = null
  protected heldRef = false
  protected deadline: NodeJS.Timeout | undefined
  protected stopKeepAlive: (() => void) | undefined
  protected mappings: Mappings | undefined
  protected lastCounters: RSocketCounters | undefined
  /** Connection with a queue pair of its own; null for a stream of a trunk. */
  protected own: Stream | null = null
  /** Trunk of a socket that carries others, and trunk on which this socket is opening a stream. */
  trunk: Trunk | null = null
  protected opening: Trunk | null = null
  onSettled: ((errno: number) => void) | null = null
  /** Names of the ends of a stream of a trunk. */
  protected names: { own: Required<SocketAddress>; peer: Required<SocketAddress> } | undefined
  // Plain fields: these are read with every byte.
  protected stream: BoundLink | null = null
  protected connection: StreamLink | null = null
  protected waiter: SpinWaiter | null = null

  /** Makes a socket; programs call `rsocket`. */
  constructor(family: number, options: RSocketOptions = {}) {
    this.family = family
    this.device = options.device
  }

  /** Number of connections that wait for `accept`. */
  protected abstract get acceptable(): number
  /** Notifies the peer that this end closes; returns true when that and all data before it has arrived, or never will. */
  protected abstract goodbye(): boolean
  abstract farewell(): boolean
  /** Ends the socket for good. */
  protected abstract finish(): void
  abstract close(): number

  get closed(): boolean {
    return this.state === 'closed' || this.state === 'closing'
  }

  get reason(): string {
    return this.why !== '' ? this.why : (this.connection?.reason ?? '')
  }

  get io(): IoContext | null {
    return this.stream?.io ?? null
  }

  /** True if both ends are Verbena's and use more than version 1. */
  get extended(): boolean {
    return this.connection !== null && !this.connection.foreign
  }

  get inLoop(): boolean {
    return this.heldBy !== null
  }

  get awaitsSent(): boolean {
    return this.state === 'closing' || (this.watches.events & POLLOUT) !== 0 || this.trunk !== null
  }

  get carries(): boolean {
    return this.trunk !== null
  }

  protected failWith(errno: number, reason: string): number {
    this.why = reason
    return -errno
  }

  protected caught(error: unknown): number {
    const { errno, message } = errnoOf(error)
    return this.failWith(errno, message)
  }

  /** Returns the pending error, which is reported once. */
  protected takeError(): number {
    const error = this.pendingError
    this.pendingError = 0
    return error === 0 ? 0 : -error
  }

  // --- connected ---------------------------------------------------------------------------------------------------

  /** Makes the socket connected: the only way, whatever the connection is and however it was made. */
  protected becomeConnected(line: BoundLink): void {
    this.stream = line
    this.connection = line.connection
    this.waiter = new SpinWaiter(line, this.cm!, this.options)
    this.state = 'connected'
    hasConnected(this)
    this.hold()
    this.startKeepAlive()
  }

  /** Starts or stops keepalives according to SO_KEEPALIVE and TCP_KEEPIDLE. */
  protected startKeepAlive(): void {
    this.stopKeepAlive?.()
    this.stopKeepAlive = undefined
    this.waiter!.keepAliveMs = Number.POSITIVE_INFINITY
    if (!this.options.keepAlive) return
    const { keepIdleSeconds } = this.options
    this.stopKeepAlive = everySeconds(keepIdleSeconds, () => {
      this.connection?.sendKeepalive()
      if (this.watches.size > 0) activate(this)
    })
    this.waiter!.keepAliveMs = keepIdleSeconds * 1000
  }

  // --- readiness ---------------------------------------------------------------------------------------------------

  poll(events: number): number {
    if (this.state === 'connecting' || this.state === 'listening') {
      this.cm!.pump()
      this.opening?.process()
    } else if (this.connection !== null) {
      this.connection.process()
      this.connection.reap()
    }
    const ready = this.ready(events)
    const asked = events | POLLERR | POLLHUP
    const attended = this.connection !== null && (ready & events) === 0 && this.waiter?.attend() === true
    return (attended ? this.ready(events) : ready) & asked
  }

  /** Returns those of `events`, POLLERR and POLLHUP that are true; possibly more. */
  protected ready(events: number): number {
    switch (this.state) {
      case 'listening':
        return this.acceptable > 0 ? POLLIN : 0
      case 'failed':
        return POLLIN | POLLOUT | POLLHUP | (this.pendingError !== 0 ? POLLERR : 0)
      case 'connected': {
        const connection = this.connection!
        let ready = 0
        if ((events & POLLIN) !== 0 && (connection.readableBytes > 0 || !connection.readable)) ready |= POLLIN
        if ((events & POLLOUT) !== 0 && (!connection.writable || connection.pollsWritable)) ready |= POLLOUT
        if (!connection.open) ready |= POLLHUP
        if (connection.error !== 0) ready |= POLLERR
        return ready
      }
      default:
        return 0
    }
  }

  watch(events: number, callback: (revents: number) => void): Watch {
    const watch = this.watches.add(events, callback)
    activate(this)
    return watch
  }

  turn(): boolean {
    const { connection } = this
    if (connection === null) {
      return this.callWatches()
    }
    const messages = connection.processReady() + (this.trunk?.process() ?? 0)
    // The messages may have included the end of a trunk, and of this socket.
    if (this.connection !== connection) return true
    connection.reap()
    if (this.state === 'closing') {
      if (this.goodbye()) this.finish()
      return false
    }
    return this.callWatches() || messages > 0
  }

  private callWatches(): boolean {
    const { watches } = this
    return watches.size > 0 && watches.call(this.ready(watches.events))
  }

  arm(): boolean {
    const { connection } = this
    if (connection === null) return this.turn()
    connection.arm()
    // Input since the last turn, and earlier input, makes no event.
    if (this.trunk === null && !connection.hasNews) return false
    const messages = connection.process()
    return this.turn() || messages > 0
  }

  /** Arms the object on which `rpoll` sleeps for this socket and returns it; null if there is none. */
  prepareSleep(): { sleep(ms: number): void } | null {
    if (this.connection !== null && this.state === 'connected') {
      this.connection.arm()
      return this.stream!.io
    }
    return this.cm ?? null
  }

  /** Chooses what drives this socket in the event loop: the device, or connection management. */
  protected hold(): void {
    const wanted = this.watches.size > 0 || this.state === 'closing'
    const by = !wanted
      ? null
      : this.stream !== null && this.state !== 'connecting'
        ? this.stream.io
        : this.heldService()
    const ref = this.state === 'closing' || this.watches.held
    if (by === this.heldBy && ref === this.heldRef) return
    if (by === this.heldBy && by !== null && !(by instanceof CmService)) {
      // HTTP clients take this path with every request.
      by.ref(ref ? 1 : -1)
      this.heldRef = ref
      return
    }
    this.heldDrop()
    this.heldBy = by
    this.heldRef = ref
    if (by instanceof CmService) by.follow(ref)
    else if (by !== null) {
      by.addMember(ref)
      // It may have been active, and then no event reports its input.
      activate(this)
    }
  }

  protected heldService(): CmService | null {
    return this.state === 'connecting' || this.state === 'listening' ? this.cm! : null
  }

  protected heldDrop(): void {
    const by = this.heldBy
    this.heldBy = null
    if (by instanceof CmService) by.unfollow(this.heldRef)
    else by?.dropMember(this, this.heldRef)
  }
}
