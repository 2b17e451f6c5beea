/**
 * TLS sockets that connect, as those of `tls.connect` and of https. Such a socket has a handle of TLS around one of TCP from the start.
 * Where the connection may go over RDMA, another socket makes it, and the handle of that socket, of either kind, takes the place of the
 * first before TLS begins.
 */
import net from 'node:net'
import tls from 'node:tls'
import { announceConnected, isLive } from '../base/attachment.ts'
import { handleOf, type StreamHandle } from './handle.ts'
import { bufferGenerator, giveHandle, type NodeSocket, ownHandle, withOwn } from './node-net.ts'

/** Methods of the handle of a TLS socket that are called because of listeners. */
interface TlsHandle {
  enableSessionCallbacks(): void
  enableKeylogCallback(): void
  _secureContext: object
}

/** Sockets that make the connections for TLS sockets. */
const carriers = new WeakMap<object, NodeSocket>()

export function carrierOf(socket: NodeSocket): NodeSocket | undefined {
  return carriers.get(socket)
}

/** True if the socket is to make its connection itself, instead of having been given a socket. */
export function connectsItself(socket: NodeSocket): boolean {
  if (!(socket instanceof tls.TLSSocket)) return false
  const { _parent, _handle } = socket as NodeSocket
  return Boolean(_handle) && !_parent && !carriers.has(socket)
}

/** True if another handle may still take the place of the current one of this socket. */
export function changesHandle(socket: unknown): boolean {
  return carriers.has(socket as object) && (socket as NodeSocket).connecting
}

const attemptEvents = ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout']

/** Connects a TLS socket. Throws the errors of the other socket's `connect`. */
export function connectSecure(socket: NodeSocket, options: object, listener: (() => void) | null): NodeSocket {
  const carrier = new net.Socket({ allowHalfOpen: true }) as unknown as NodeSocket
  carrier.blockList = socket.blockList
  for (const event of attemptEvents) carrier.on(event, (...values) => socket.emit(event, ...values))
  ;(carrier as unknown as net.Socket).connect(options as net.SocketConnectOpts)
  carriers.set(socket, carrier)
  if (listener) socket.once('connect', listener)
  socket.connecting = true
  socket._unrefTimer()
  carrier.on('error', (error) => {
    socket.autoSelectFamilyAttemptedAddresses = carrier.autoSelectFamilyAttemptedAddresses
    socket.destroy(error)
  })
  socket.once('close', () => carrier.destroy())
  carrier.once('connect', () => handOver(carrier, socket))
  return socket
}

/** Begins TLS on the connection that was made. */
function handOver(carrier: NodeSocket, socket: NodeSocket): void {
  if (socket.destroyed) return
  socket.autoSelectFamilyAttemptedAddresses = carrier.autoSelectFamilyAttemptedAddresses
  const before = socket._handle as TlsHandle
  // Otherwise Node closes the context with the handle, which the new one uses.
  before._secureContext = {}
  const listeners = socket.listeners('keylog')
  const handle = isLive(carrier) ? handleOf(carrier, carrier._verbena!) : (carrier._handle as StreamHandle)
  // A TCP handle belongs to the TLS socket from now on.
  if (!isLive(carrier)) ownHandle.set.call(carrier, null)
  const give = (): void => giveHandle(socket, handle as object)
  // The buffer of `onread` has been requested.
  if (bufferGenerator) withOwn(socket, bufferGenerator, null, give)
  else give()
  const secure = socket._handle as TlsHandle
  ;(socket as unknown as { ssl: unknown }).ssl = secure
  // With --tls-keylog Node has added one again.
  for (const listener of socket.listeners('keylog').slice(listeners.length))
    if (listeners.length > 0) socket.off('keylog', listener as () => void)
  if (socket.listenerCount('session') > 0) secure.enableSessionCallbacks()
  if (socket.listenerCount('keylog') > 0) secure.enableKeylogCallback()
  announceConnected(socket)
}
