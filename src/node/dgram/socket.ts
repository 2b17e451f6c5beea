/**
 * `Socket`: datagrams over rsockets, with the shape of `dgram.Socket`, which it is by class: Node's own code reads its arguments, binds
 * it implicitly and queues the datagrams that are sent before. It sends and receives with a handle of Verbena's, in place of libuv's.
 */
import dgram from 'node:dgram'
import type { RSocketCounters } from '../../rsocket/index.ts'
import type { Context } from '../../verbs/index.ts'
import { setAsyncId } from '../base/async-id.ts'
import { fillable } from '../base/callable.ts'
import { badArgument, badValue, codedError, errnoError } from '../base/errors.ts'
import { DatagramHandle } from './handle.ts'

export interface SocketOptions extends dgram.SocketOptions {
  /** Device, or its name; without it the environment's VERBENA_DEVICE, else the device that has the address. */
  device?: string | Context | undefined
  /**
   * Maximum number of addresses that the socket remembers, 2 or more; default 4096. Beyond that, one that was not used lately is
   * forgotten, and found again when it is needed.
   */
  maxPeers?: number | undefined
}

type Lookup = ConstructorParameters<typeof DatagramHandle>[2]

/** State of a socket that Node keeps under a symbol of its own. */
interface State {
  handle: { lookup: Lookup; close(): void } | null
}

function stateOf(socket: dgram.Socket): State {
  const symbol = Object.getOwnPropertySymbols(socket).find((s) => s.description === 'state symbol')
  const state = symbol && (socket as unknown as Record<symbol, State>)[symbol]
  if (!state?.handle)
    throw new Error(
      `verbena/dgram does not know the datagram sockets of Node.js ${process.version}: use RDatagram of verbena`,
    )
  return state
}

type DgramSocket = new (options: dgram.SocketOptions | dgram.SocketType, listener?: MessageListener) => dgram.Socket
const Base: DgramSocket = fillable(dgram.Socket as unknown as DgramSocket)

export type MessageListener = (message: Buffer, from: dgram.RemoteInfo) => void

function checkMaxPeers(value: unknown): number {
  if (typeof value !== 'number') throw badArgument('options.maxPeers', 'of type number', value)
  if (!(Number.isInteger(value) && value >= 2 && value <= 0x7fffffff))
    throw codedError(
      'ERR_OUT_OF_RANGE',
      `The value of "options.maxPeers" is out of range. It must be an integer >= 2 && <= 2147483647. Received ${value}`,
      RangeError,
    )
  return value
}

export class Socket extends Base {
  readonly #handle: DatagramHandle

  constructor(options: SocketOptions | dgram.SocketType, listener?: MessageListener) {
    super(options, listener)
    const given = typeof options === 'string' ? { type: options } : options
    const state = stateOf(this)
    const { lookup } = state.handle!
    state.handle!.close()
    const handle = new DatagramHandle(
      given.type === 'udp6' ? 6 : 4,
      {
        ...(given.device === undefined ? {} : { device: given.device }),
        ...(given.maxPeers === undefined ? {} : { maxPeers: checkMaxPeers(given.maxPeers) }),
      },
      lookup,
      (message, from) => this.emit('message', message, from),
      (errno) => this.emit('error', errnoError(errno, 'recvmsg')),
    )
    state.handle = handle
    this.#handle = handle
    setAsyncId(this, handle.getAsyncId())
  }

  /** Returns the counters of the rsocket, including dropped datagrams; undefined before it is bound and after its end. */
  counters(): RSocketCounters | undefined {
    return this.#handle.counters()
  }

  /** Binds, in the forms of `dgram.Socket.bind`: (port?, address?, listener?), (options, listener?). Descriptors are not supported. */
  override bind(...args: unknown[]): this {
    const [first] = args
    const bind = dgram.Socket.prototype.bind as unknown as (...args: unknown[]) => this
    if (typeof first !== 'object' || first === null) return bind.call(this, ...args)
    const options = first as dgram.BindOptions & { recvStart?: unknown }
    if (options.fd !== undefined || options.recvStart)
      throw badValue(
        'options.fd',
        'is not supported: an rsocket has no descriptor of the system. Use node:dgram for it.',
      )
    // A port is not shared with the other processes of a cluster.
    return bind.call(this, { ...options, exclusive: true }, ...args.slice(1))
  }
}
