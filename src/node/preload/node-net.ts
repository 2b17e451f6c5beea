/**
 * The parts of Node's own `net` and `tls` that the preload reaches into. They are not documented, but Node keeps them,
 * because others have reached into them for years; `checkInternals` says at the start if one is gone.
 */
import net from 'node:net'
import tls from 'node:tls'
import type { AcceptingServer } from '../base/accepting.ts'
import type { Attachment, LinkedStream, NodeAddress, OnRead } from '../base/attachment.ts'

/** A socket of `node:net`, seen from inside. */
export interface NodeSocket extends LinkedStream {
  _verbena?: Attachment | undefined
  _handle: unknown
  _parent?: NodeSocket | null
  /** Of the socket that Node puts around a stream for TLS and HTTP/2: that stream. */
  stream?: NodeSocket
  _host?: string | null
  _peername?: object | undefined
  _sockname?: object | undefined
  _server?: NodeServer | null
  server?: NodeServer | null
  resetAndClosing?: boolean
  autoSelectFamilyAttemptedAddresses?: string[]
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

/** A server of `node:net`, seen from inside. */
export interface NodeServer extends AcceptingServer {
  _handle: ServerHandle | null
  _unref: boolean
}

export type Method = (this: never, ...args: never[]) => unknown

export const socketMethods: Record<string, Method> = net.Socket.prototype as never
export const serverMethods: Record<string, Method> = net.Server.prototype as never
export const tlsSocketMethods: Record<string, Method> = tls.TLSSocket.prototype as never

type Normalized = [Record<string, unknown>, (() => void) | null]
export const normalizeArguments: (args: unknown[]) => Normalized = (
  net as unknown as { _normalizeArgs(args: unknown[]): Normalized }
)._normalizeArgs

type CreateServerHandle = (
  address: string,
  port: number,
  family: number,
  fd: number | null,
  flags: number,
) => ServerHandle | number

/** A handle of TCP that is bound but does not listen yet, or a negative error number. */
export const createServerHandle: CreateServerHandle = (net as unknown as { _createServerHandle: CreateServerHandle })
  ._createServerHandle

const probe = new net.Socket()
const symbols = new Map(Object.getOwnPropertySymbols(probe).map((symbol) => [symbol.description, symbol]))

/** What Node keeps of a socket under a symbol of its own; undefined if it has none of that name. */
function field(socket: NodeSocket, name: string): unknown {
  const symbol = symbols.get(name)
  return symbol ? (socket as unknown as Record<symbol, unknown>)[symbol] : undefined
}

/** The constructor's option `onread`. */
export function onReadOf(socket: NodeSocket): OnRead | undefined {
  const callback = field(socket, 'kBufferCb') as OnRead['callback'] | null
  if (!callback) return undefined
  return { buffer: (field(socket, 'kBufferGen') ?? field(socket, 'kBuffer')) as OnRead['buffer'], callback }
}

/** What `setKeepAlive` or the constructor were told. */
export function keepAliveOf(socket: NodeSocket): { enable: boolean; delaySeconds: number } {
  return {
    enable: Boolean(field(socket, 'kSetKeepAlive')),
    delaySeconds: Number(field(socket, 'kSetKeepAliveInitialDelay')) || 0,
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
const usedSymbols = ['kBuffer', 'kBufferCb', 'kBufferGen', 'kSetKeepAlive', 'kSetKeepAliveInitialDelay']

/** What the preload needs and this version of Node lacks; empty if all is there. */
export function checkInternals(): string[] {
  const missing: string[] = []
  for (const name of usedOfSockets)
    if (typeof socketMethods[name] !== 'function') missing.push(`net.Socket.prototype.${name}`)
  for (const name of usedSymbols) if (!symbols.has(name)) missing.push(`the symbol ${name} of net.Socket`)
  for (const name of ['_listen2', 'close', 'ref', 'unref'])
    if (typeof serverMethods[name] !== 'function') missing.push(`net.Server.prototype.${name}`)
  if (typeof tlsSocketMethods._init !== 'function') missing.push('tls.TLSSocket.prototype._init')
  if (typeof normalizeArguments !== 'function') missing.push('net._normalizeArgs')
  if (typeof createServerHandle !== 'function') missing.push('net._createServerHandle')
  return missing
}
