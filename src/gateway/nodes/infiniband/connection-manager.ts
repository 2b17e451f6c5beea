/**
 * The state of a running node, and what events of the RDMA CM do to it.
 *
 *     active     started ── AddrResolved: queues, queue pair; RouteResolved: connect ──> pending connect ── Established ──> connected
 *     passive    started ── ConnectRequest: queues, queue pair, accept ──> pending connect ── Established ──> connected
 *     UD         a passive node is connected when it has accepted, and knows the path to its peer from the request; an active one
 *                when it knows it from the reply
 *     both       Disconnected, or a request that failed: started
 *
 * An active node that cannot connect listens, if `use_fallback` is set, and tries again each second or so; and so does one whose connection
 * has ended. It does not listen while it tries: two nodes that try to reach each other never make two connections.
 *
 * Only a source without a connection waits: events are taken in the event loop, and by reads and writes.
 */
import {
  type CmEvent,
  CmEventType,
  type CmId,
  type Context,
  createEventChannel,
  type EventChannel,
  PortSpace,
} from '../../../index.ts'
import { nowNs } from '../../../memory/index.ts'
import { type Clock, GatewayError, type NodeContext } from '../../index.ts'
import { Connection } from './connection.ts'
import { type InfinibandCounters, newCounters } from './counters.ts'
import type { Registered } from './registered.ts'
import type { InfinibandSettings, IpPort } from './settings.ts'

export type InfinibandState = 'started' | 'pending connect' | 'connected' | 'stopped'

const backlog = 10
const retryMs = 1000
/** Interval at which repeated failures to connect are logged again. */
const sayNs = 3600e9
/** Time for which a node that stops waits for completions of what it has sent, and for the peer to disconnect. */
const finishNs = 1e9
const farewellNs = 0.3e9
/** Calls until the next look at the event channel, for those that are made all the time; nanoseconds, for other ones. */
const serveCalls = 1024
const serveNs = 1e6
/** Time of a reply of the peer's communication manager: at most 1.07 s, 4.096 µs · 2^18, and the number of further requests. */
const responseTimeout = 18
const maxRetries = 4

/** Part of the gateway that a node has to know. */
export type Surroundings = Pick<NodeContext, 'name' | 'log' | 'fail'>

export class ConnectionManager {
  readonly counts: InfinibandCounters = newCounters()
  /** Connection that is read from and written to in the states "pending connect" and "connected". */
  connection: Connection | null = null
  /** Samples that arrived before a connection ended, and are still to be read. */
  readonly arrived: number[] = []
  state: InfinibandState = 'started'
  readonly #settings: InfinibandSettings
  readonly #context: Surroundings
  readonly #channel: EventChannel
  #memory: Registered | undefined
  #clock: Pick<Clock, 'stamp'> | undefined
  /** Id that has the port of `in.address`: it listens, or connects. */
  #bound: CmId
  #isListening = false
  /** True if the first attempt to connect has been made. */
  #hasTried = false
  #timer: NodeJS.Timeout | undefined
  #retryAtNs = Number.POSITIVE_INFINITY
  /** Result of the last attempts, and the time at which it is logged again. */
  #said = ''
  #sayAtNs = 0
  #calls = 0
  #servedNs = 0
  #serving = false
  #stopping = false
  #unfollow: (() => void) | undefined

  /** Opens the device. Throws errors that an operator can understand. */
  constructor(settings: InfinibandSettings, context: Surroundings) {
    this.#settings = settings
    this.#context = context
    this.#channel = createEventChannel({ device: settings.device })
    try {
      this.#bound = this.#bind()
    } catch (error) {
      this.#channel.close()
      throw error
    }
  }

  get device(): Context {
    return this.#bound.verbs!
  }

  /** Listens, or begins to connect. */
  start(memory: Registered, clock: Pick<Clock, 'stamp'>): void {
    this.#memory = memory
    this.#clock = clock
    const { address } = this.#settings.out
    if (address === null) this.#listen()
    else this.#connectTo(address)
    this.#unfollow = this.#channel.onReadable(() => this.serve())
  }

  // --- ids ---------------------------------------------------------------------------------------------------------

  #bind(): CmId {
    const { mode, qpType } = this.#settings
    const space = mode === 'UD' ? PortSpace.Udp : mode === 'UC' ? PortSpace.Ib : PortSpace.Tcp
    const id = this.#channel.createId(space, { qpType })
    id.setOption('responseTimeout', responseTimeout)
    id.setOption('maxRetries', maxRetries)
    id.bindAddr(this.#settings.in.address)
    return id
  }

  #rebind(): void {
    this.#bound.close()
    this.#isListening = false
    this.#bound = this.#bind()
  }

  #listen(): void {
    this.#bound.listen(backlog)
    this.#isListening = true
  }

  #connectTo(address: IpPort): void {
    this.#bound.resolveAddr(undefined, address, this.#settings.out.resolutionTimeoutMs)
  }

  // --- events ------------------------------------------------------------------------------------------------------

  /** Takes events now and then; for calls that are made all the time. */
  tick(): void {
    if (++this.#calls >= serveCalls) this.serve()
  }

  /** Takes events if it has not done so for a while; for calls that may be rare. */
  tickByClock(): void {
    if (nowNs() - this.#servedNs > serveNs) this.serve()
  }

  /** Takes all events. If there is none, sleeps until there is one, at most `sleepMs`. */
  serve(sleepMs = 0): void {
    this.#calls = 0
    if (this.#serving || this.state === 'stopped') return
    this.#serving = true
    try {
      this.#takeEvents(sleepMs)
      this.#servedNs = nowNs()
      if (this.#servedNs >= this.#retryAtNs) this.#tryAgain()
    } catch (error) {
      this.#context.fail(error as Error)
    } finally {
      this.#serving = false
    }
  }

  #takeEvents(sleepMs: number): void {
    let event = sleepMs > 0 ? this.#channel.getEvent(sleepMs) : this.#channel.tryGetEvent()
    for (; event !== undefined; event = this.#channel.tryGetEvent()) this.#handle(event)
  }

  #handle(event: CmEvent): void {
    const { id, type } = event
    // Other events are of ids that are closed already.
    if (type === CmEventType.ConnectRequest) this.#requested(event)
    else if (id === this.#bound || id === this.connection?.id) this.#progress(event)
  }

  #progress(event: CmEvent): void {
    const { id, type } = event
    switch (type) {
      case CmEventType.AddrResolved:
        this.connection = this.#connectionOf(id)
        id.resolveRoute(this.#settings.out.resolutionTimeoutMs)
        break
      case CmEventType.RouteResolved:
        this.state = 'pending connect'
        this.connection!.connect()
        break
      case CmEventType.Established:
        if (this.#settings.mode === 'UD') this.connection!.sendTo(event.param)
        this.#connected()
        break
      case CmEventType.AddrError:
      case CmEventType.RouteError:
      case CmEventType.Unreachable:
      case CmEventType.ConnectError:
      case CmEventType.Rejected:
        this.#failed(event)
        break
      case CmEventType.Disconnected:
        this.ended(`${this.#peer} disconnected`)
        break
      case CmEventType.TimewaitExit:
        break
      default:
        throw this.#error(`unexpected event ${event.name}`)
    }
  }

  #connectionOf(id: CmId): Connection {
    return new Connection(id, this.#memory!, this.#settings, this.#clock!, this.counts)
  }

  #requested({ id, param }: CmEvent): void {
    if (this.#stopping) {
      id.close()
      return
    }
    const { connection } = this
    const from = textOf(id.peerAddress)
    if (connection !== null && textOf(connection.id.peerAddress) !== from) {
      this.counts.requests_rejected++
      this.#context.log('warn', `rejects ${from}, because it is connected with ${this.#peer}`)
      id.reject()
      id.close()
      return
    }
    // The same peer: it has lost the connection, and this side has not noticed.
    this.ended(`${from} connects again`)
    this.#stopTrying()
    this.connection = this.#connectionOf(id)
    this.connection.accept(param)
    this.state = 'pending connect'
    if (this.#settings.mode === 'UD') this.#connected()
  }

  #connected(): void {
    this.state = 'connected'
    this.#hasTried = true
    this.counts.connections++
    this.#said = ''
    this.#context.log('info', `connected with ${this.#peer}`)
  }

  /** Handles an attempt to connect, or a request that was accepted, that has failed. */
  #failed(event: CmEvent): void {
    const { address, useFallback } = this.#settings.out
    const what = `${this.#peer}: ${event.name} (${event.statusText})`
    const isFirst = !this.#hasTried && event.id === this.#bound
    this.counts.connect_failed++
    this.#closeConnection()
    if (this.#stopping) return
    if (isFirst && !useFallback) {
      this.#context.fail(this.#error(`cannot connect to ${textOf(address)}, ${what}, and use_fallback is false`))
      return
    }
    this.#hasTried = true
    this.#sayFailed(what, this.#next())
  }

  /** Logs a failure. Attempts are made each second: the same result is logged once, and then rarely. */
  #sayFailed(what: string, next: string): void {
    const isNew = what !== this.#said || nowNs() >= this.#sayAtNs
    if (isNew) this.#sayAtNs = nowNs() + sayNs
    this.#said = what
    this.#context.log(isNew ? 'warn' : 'debug', `${what}; ${next}${isNew ? ' (counted as connect_failed)' : ''}`)
  }

  /** Ends the connection. Samples that have arrived can still be read. */
  ended(why: string): void {
    if (this.connection === null) return
    this.counts.disconnects++
    this.#closeConnection()
    if (this.#stopping) return
    this.#context.log('info', `${why}; ${this.#next()}`)
  }

  /** Ends a connection of which a request has failed: the peer is gone, or misbehaves. */
  broken(connection: Connection): void {
    const why = connection.send.failure || connection.receive.failure
    if (why) this.#context.log('warn', `${this.#peer}: ${why}`)
    this.ended(`the connection with ${this.#peer} is broken`)
  }

  #closeConnection(): void {
    this.state = 'started'
    this.connection?.close(this.arrived)
    this.connection = null
  }

  /** Chooses the next step of a node without a connection; returns a text about it for the log. */
  #next(): string {
    const { address, useFallback } = this.#settings.out
    if (address === null) return 'ready to accept new connections'
    if (!this.#isListening) {
      this.#rebind()
      if (useFallback) this.#listen()
    }
    // Not all at the same time.
    this.#retryAtNs = nowNs() + retryMs * (0.75 + Math.random() / 2) * 1e6
    this.#awaitRetry()
    return `${useFallback ? 'listens, and ' : ''}tries to connect to ${textOf(address)} again`
  }

  /** Schedules the next attempt. Timers have whole milliseconds, and may be one early. */
  #awaitRetry(): void {
    const ms = (this.#retryAtNs - nowNs()) / 1e6 + 1
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.serve()
      if (this.#retryAtNs !== Number.POSITIVE_INFINITY) this.#awaitRetry()
    }, ms)
  }

  #stopTrying(): void {
    this.#retryAtNs = Number.POSITIVE_INFINITY
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #tryAgain(): void {
    this.#stopTrying()
    this.#rebind()
    this.#connectTo(this.#settings.out.address!)
  }

  get #peer(): string {
    return textOf(this.connection?.id.peerAddress ?? this.#settings.out.address)
  }

  #error(message: string): GatewayError {
    return new GatewayError('ERR_GATEWAY_NODE', message)
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  /** Sends the posted requests and disconnects, within limits of time; then closes all but `memory`. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#stopTrying()
    const { connection } = this
    if (connection !== null && this.state === 'connected') {
      // The peer may end it meanwhile; then it is closed.
      const isOver = (): boolean => this.connection !== connection
      await until(finishNs, () => {
        if (isOver()) return true
        connection.send.reap()
        return connection.send.used === 0 || connection.send.holds === 0 || connection.send.failure !== undefined
      })
      if (!isOver()) {
        connection.receive.collect(this.arrived)
        connection.disconnect()
      }
      if (this.#settings.mode !== 'UD')
        await until(farewellNs, () => {
          this.serve()
          return isOver()
        })
    }
    this.#closeConnection()
    this.state = 'stopped'
    this.#unfollow?.()
  }

  /** Closes the channel; called after `stop`, when the memory is closed. */
  close(): void {
    this.#channel.close()
  }
}

/** Lets the event loop turn until then, or until the time is over. */
async function until(limitNs: number, done: () => boolean): Promise<void> {
  const end = nowNs() + limitNs
  while (!done() && nowNs() < end) await new Promise((resolve) => setImmediate(resolve))
}

function textOf(address: { readonly address: string; readonly port: number } | null | undefined): string {
  if (!address) return 'nobody'
  return address.address.includes(':') ? `[${address.address}]:${address.port}` : `${address.address}:${address.port}`
}
