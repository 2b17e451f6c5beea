/**
 * `verbena/net`: streams over rsockets, with the shape of `node:net`. The default export has the same names, so that
 * `import net from 'verbena/net'` can take the place of `import net from 'node:net'`.
 */
import type net from 'node:net'
import {
  BlockList,
  getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout,
  isIP,
  isIPv4,
  isIPv6,
  SocketAddress,
  setDefaultAutoSelectFamily,
  setDefaultAutoSelectFamilyAttemptTimeout,
} from 'node:net'
import { readArguments } from '../base/arguments.ts'
import { callable } from '../base/callable.ts'
import type { ConnectOptions } from '../base/connecting.ts'
import '../base/rsockets.ts'
import { Server as ServerClass, type ServerOptions } from './server.ts'
import { Socket as SocketClass, type SocketOptions } from './socket.ts'

export type { OnRead } from '../base/attachment.ts'
export type { ConnectOptions } from '../base/connecting.ts'
export type { SystemError } from '../base/errors.ts'
export {
  BlockList,
  getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout,
  isIP,
  isIPv4,
  isIPv6,
  type ServerOptions,
  SocketAddress,
  type SocketOptions,
  setDefaultAutoSelectFamily,
  setDefaultAutoSelectFamilyAttemptTimeout,
}

export type Server = ServerClass
export const Server: typeof ServerClass = callable(ServerClass)
export type Socket = SocketClass
export const Socket: typeof SocketClass = callable(SocketClass)

type Listener = () => void

export function createServer(connectionListener?: (socket: Socket) => void): Server
export function createServer(options?: ServerOptions, connectionListener?: (socket: Socket) => void): Server
export function createServer(
  options?: ServerOptions | ((socket: Socket) => void),
  connectionListener?: (socket: Socket) => void,
): Server {
  return new Server(options as ServerOptions, connectionListener)
}

/** Returns a new socket that connects: (options, listener?), (port, host?, listener?). */
export function connect(options: ConnectOptions & SocketOptions & { timeout?: number }, listener?: Listener): Socket
export function connect(port: number | string, host?: string, listener?: Listener): Socket
export function connect(port: number | string, listener?: Listener): Socket
export function connect(...args: unknown[]): Socket {
  const read = readArguments(args)
  const options = read[0] as SocketOptions & { timeout?: number }
  const socket = new Socket(options)
  if (options.timeout) socket.setTimeout(options.timeout)
  return (socket.connect as (...args: unknown[]) => Socket).call(socket, read)
}

export const createConnection: typeof connect = connect
/** Older name of `Socket`. */
export const Stream: typeof Socket = Socket

const all: Omit<
  typeof net,
  'Server' | 'Socket' | 'createServer' | 'connect' | 'createConnection' | 'Stream' | 'BlockList' | 'SocketAddress'
> & {
  BlockList: typeof BlockList
  SocketAddress: typeof SocketAddress
  Server: typeof Server
  Socket: typeof Socket
  Stream: typeof Socket
  createServer: typeof createServer
  connect: typeof connect
  createConnection: typeof connect
} = {
  BlockList,
  SocketAddress,
  Server,
  Socket,
  Stream,
  connect,
  createConnection,
  createServer,
  getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout,
  isIP,
  isIPv4,
  isIPv6,
  setDefaultAutoSelectFamily,
  setDefaultAutoSelectFamilyAttemptTimeout,
}
export default all
