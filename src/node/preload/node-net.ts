/**
 * The parts of Node's own `net` and `tls` that the preload reaches into. They are not documented, but Node keeps them, because other
 * packages have used them for years; `checkInternals` reports at the start if one is missing.
 */
import net from 'node:net'
import tls from 'node:tls'
import type { AcceptingServer } from '../base/accepting.ts'
import { normalizeArguments } from '../base/arguments.ts'
import type { Attachment, LinkedStream, NodeAddress, OnRead } from '../base/attachment.ts'

/** Socket of `node:net` with its internals. */
export interface NodeSocket extends LinkedStream {
  _verbena?: Attachment | undefined
  _handle: unknown
  _parent?: NodeSocket | null
  /** Stream around which Node has put this socket for TLS and HTTP/2. */
  stream?: NodeSocket
  /** Parser of HTTP/1. */
  parser?: unknown
  _host?: string | null
  _peername?: object | undefined
  _sockname?: object | undefined
  _server?: NodeServer | null
  server?: NodeServer | null
  resetAndClosing?: boolean
  _undestroy(): void
  _getpeername(): NodeAddress
  resetAndDestroy(): NodeSocket
  ref(): NodeSocket
  unref(): NodeSocket
  setNoDelay(enable: unknown): NodeSocket
  setKeepAlive(enable: unknown, delayMs: unknown): NodeSocket
  _getsockname(): NodeAddress
}

export interface ServerHandle {
  close(done?: () => void): void
  listen?(backlog: number): number
  getsockname?(out: object): number
}

/** Server of `node:net` with its internals. */
export interface NodeServer extends AcceptingServer {
  _handle: ServerHandle | null
  _unref: boolean
}

export type Method = (this: never, ...args: never[]) => unknown

export const socketMethods: Record<string, Method> = net.Socket.prototype as never
export const serverMethods: Record<string, Method> = net.Server.prototype as never
export const tlsSocketMethods: Record<string, Method> = tls.TLSSocket.prototype as never

/** Accessors of the handle, which Node keeps under a symbol, behind this property of the prototype. */
export const ownHandle: Record<'get' | 'set', (this: object, handle?: unknown) => unknown> =
  Object.getOwnPropertyDescriptor(socketMethods, '_handle') as never

type CreateServerHandle = (
  address: string,
  port: number,
  family: number,
  fd: number | null,
  flags: number,
) => ServerHandle | number

/** Returns a handle of TCP that is bound but does not listen yet, or a negative error number. */
export const createServerHandle: CreateServerHandle = (net as unknown as { _createServerHandle: CreateServerHandle })
  ._createServerHandle

const probe = new net.Socket()
const symbols = new Map(Object.getOwnPropertySymbols(probe).map((symbol) => [symbol.description, symbol]))

/** Returns a value that Node keeps for a socket under a symbol of its own; undefined if there is none of that name. */
function field(socket: NodeSocket, name: string): unknown {
  const symbol = symbols.get(name)
  return symbol ? (socket as unknown as Record<symbol, unknown>)[symbol] : undefined
}

/** Symbol under which a socket keeps the function of `onread` that returns buffers. */
export const bufferGenerator: symbol | undefined = symbols.get('kBufferGen')

/** Returns the constructor's option `onread`. */
export function onReadOf(socket: NodeSocket): OnRead | undefined {
  const callback = field(socket, 'kBufferCb') as OnRead['callback'] | null
  if (!callback) return undefined
  return { buffer: (field(socket, 'kBufferGen') ?? field(socket, 'kBuffer')) as OnRead['buffer'], callback }
}

/** Returns the settings of `setKeepAlive` or the constructor. */
export function keepAliveOf(socket: NodeSocket): { enable: boolean; delaySeconds: number } {
  return {
    enable: Boolean(field(socket, 'kSetKeepAlive')),
    delaySeconds: Number(field(socket, 'kSetKeepAliveInitialDelay')) || 0,
  }
}

const reinitialize = Object.getOwnPropertySymbols(net.Socket.prototype).find(
  ({ description }) => description === 'kReinitializeHandle',
)

interface TcpHandle {
  setNoDelay?(enable: boolean): void
  setKeepAlive?(enable: boolean, delaySeconds: number): void
  setTypeOfService?(value: number): void
}

/** Gives a connecting socket the handle of a connection that was made for it, as Node does with several addresses. */
export function giveHandle(socket: NodeSocket, handle: TcpHandle): void {
  // Node resets a closed socket when it gets a handle; this one may have been written to and ended since `connect`.
  withOwn(
    socket,
    '_undestroy',
    () => {},
    () => (socket as unknown as Record<symbol, (handle: TcpHandle) => void>)[reinitialize!]!(handle),
  )
  if (field(socket, 'kSetNoDelay')) handle.setNoDelay?.(true)
  const { enable, delaySeconds } = keepAliveOf(socket)
  if (enable) handle.setKeepAlive?.(true, delaySeconds)
  // From Node.js 24 on.
  const typeOfService = field(socket, 'kSetTOS')
  if (typeOfService !== undefined) handle.setTypeOfService?.(typeOfService as number)
}

/** Runs `work` while the object has this property of its own. */
export function withOwn(object: object, name: string | symbol, value: unknown, work: () => void): void {
  const before = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false })
  try {
    work()
  } finally {
    if (before) Object.defineProperty(object, name, before)
    else delete (object as Record<string | symbol, unknown>)[name]
  }
}

const usedOfSockets = [
  'connect',
  '_read',
  '_writeGeneric',
  '_final',
  '_destroy',
  '_undestroy',
  '_getpeername',
  '_getsockname',
  '_unrefTimer',
  'pause',
  'resume',
  'ref',
  'unref',
  'setNoDelay',
  'setKeepAlive',
  'resetAndDestroy',
]
const usedSymbols = ['kBuffer', 'kBufferCb', 'kBufferGen', 'kSetNoDelay', 'kSetKeepAlive', 'kSetKeepAliveInitialDelay']

/** Returns the internals that the preload needs and this version of Node lacks; empty if all are there. */
export function checkInternals(): string[] {
  const missing: string[] = []
  for (const name of usedOfSockets)
    if (typeof socketMethods[name] !== 'function') missing.push(`net.Socket.prototype.${name}`)
  for (const name of usedSymbols) if (!symbols.has(name)) missing.push(`the symbol ${name} of net.Socket`)
  if (reinitialize === undefined) missing.push('the symbol kReinitializeHandle of net.Socket.prototype')
  for (const name of ['_listen2', 'close', 'ref', 'unref'])
    if (typeof serverMethods[name] !== 'function') missing.push(`net.Server.prototype.${name}`)
  if (!ownHandle?.get) missing.push('net.Socket.prototype._handle')
  for (const name of ['_init', '_wrapHandle'])
    if (typeof tlsSocketMethods[name] !== 'function') missing.push(`tls.TLSSocket.prototype.${name}`)
  if (typeof normalizeArguments !== 'function') missing.push('net._normalizeArgs')
  if (typeof createServerHandle !== 'function') missing.push('net._createServerHandle')
  return missing
}
