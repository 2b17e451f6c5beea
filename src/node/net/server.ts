/**
 * `Server`: listens on rsockets, with the shape of `net.Server`, which it is by class: Node's own code reads its arguments, counts its
 * connections and closes it. It listens with a `Listener`, in place of libuv's handle.
 */
import net, { type ListenOptions } from 'node:net'
import type { RSocketLike } from '../../rsocket/index.ts'
import type { Context } from '../../verbs/index.ts'
import { type AcceptingServer, acceptConnection } from '../base/accepting.ts'
import { readArguments } from '../base/arguments.ts'
import { setAsyncId } from '../base/async-id.ts'
import { fillable } from '../base/callable.ts'
import { badValue, checkBlockList, type SystemError } from '../base/errors.ts'
import { Listener } from '../base/listener.ts'
import { Socket } from './socket.ts'

export interface ServerOptions extends net.ServerOpts {
  /** Addresses whose connections are closed at once, without an event. */
  blockList?: net.BlockList | undefined
  /** Device, or its name; without it the environment's VERBENA_DEVICE, else all devices of the host. */
  device?: string | Context | undefined
}

/** Internal parts of `net.Server`. */
interface ServerInside extends AcceptingServer {
  _handle: Listener | null
  _unref: boolean
  _emitCloseIfDrained(): void
}

/** Flag of libuv in `_listen2` for IPv6 only. */
const ipv6OnlyFlag = 1

const Base: typeof net.Server = fillable(net.Server)

export class Server extends Base {
  readonly #device: string | Context | undefined
  declare blockList: net.BlockList | undefined

  constructor(connectionListener?: (socket: Socket) => void)
  constructor(options?: ServerOptions, connectionListener?: (socket: Socket) => void)
  constructor(options?: ServerOptions | ((socket: Socket) => void), connectionListener?: (socket: Socket) => void) {
    super(options as net.ServerOpts, connectionListener as unknown as (socket: net.Socket) => void)
    const given = typeof options === 'object' ? options : undefined
    this.#device = given?.device
    // Versions of Node that do not know the option leave it to this class.
    if (given?.blockList) this.blockList = checkBlockList(given.blockList)
  }

  /**
   * Listens, in the forms of `net.Server.listen`: (port?, host?, backlog?, listener?), (options, listener?). Paths and handles are not
   * supported.
   */
  override listen(...args: unknown[]): this {
    const [given, listener] = readArguments(args)
    for (const name of ['path', 'fd', 'handle', '_handle'])
      if (given[name] !== undefined)
        throw badValue(
          name === 'path' ? 'options.path' : `options.${name}`,
          'is not supported: rsockets have neither path names nor descriptors. Use node:net for it.',
        )
    const options = { ...given } as ListenOptions
    if (args.length === 0 || typeof args[0] === 'function' || args[0] === null || args[0] === undefined)
      options.port = 0
    const backlog = [args[1], args[2]].find((value) => typeof value === 'number')
    if (typeof backlog === 'number') options.backlog ??= backlog
    // A listener is not shared with the other processes of a cluster: each has its own.
    options.exclusive = true
    return (net.Server.prototype.listen as (...args: unknown[]) => this).call(
      this,
      options,
      ...(listener ? [listener] : []),
    )
  }

  /** Starts to listen; called by `net.Server.listen` when the address is known. */
  _listen2(address: string | null, port: number, family: number, backlog: number, _fd?: number, flags = 0): void {
    const inside = this as unknown as ServerInside
    const listener = Listener.open(
      { address, port, family, backlog, ipv6Only: (flags & ipv6OnlyFlag) !== 0, device: this.#device },
      {
        connection: (socket) => this.#onConnection(socket),
        failed: (error) => this.#onFailure(error),
      },
    )
    if (!(listener instanceof Listener)) {
      process.nextTick(() => this.emit('error', listener))
      return
    }
    inside._handle = listener
    setAsyncId(this, listener.getAsyncId())
    if (inside._unref) this.unref()
    process.nextTick(() => {
      if (inside._handle === listener) this.emit('listening')
    })
  }

  /** Closes the server when its listener cannot accept any more. */
  #onFailure(error: SystemError): void {
    this.close()
    this.emit('error', error)
  }

  #onConnection(rsocket: RSocketLike): void {
    const inside = this as unknown as ServerInside
    acceptConnection(
      inside,
      rsocket,
      (options) => new Socket(options),
      (socket, attached) => {
        socket.setKeepAlive(inside.keepAlive, inside.keepAliveInitialDelay * 1000)
        socket.server = this
        socket._released = () => {
          inside._connections--
          inside._emitCloseIfDrained()
        }
        socket._accepted(attached, inside.pauseOnConnect)
      },
    )
  }
}
