/**
 * `net.Server` under the preload. A server whose address has a rule listens over RDMA as well as over TCP, on the same port, or over RDMA
 * alone if the rule requires it; both kinds of connection come as 'connection' with a `net.Socket`.
 */
import net from 'node:net'
import type { RSocketLike } from '../../rsocket/index.ts'
import { acceptConnection } from '../base/accepting.ts'
import { setAsyncId } from '../base/async-id.ts'
import type { SystemError } from '../base/errors.ts'
import { Listener } from '../base/listener.ts'
import { handsOut, hasHandleOfPrimary, sharesPortAs } from './cluster.ts'
import { decide } from './decide.ts'
import { guardStreams } from './http2.ts'
import { inWords, log, printOnce, where } from './log.ts'
import {
  createServerHandle,
  type Method,
  type NodeServer,
  type NodeSocket,
  type ServerHandle,
  serverMethods,
} from './node-net.ts'
import type { Rule } from './rules.ts'
import type { Settings } from './settings.ts'
import { showFigures } from './sockets.ts'

type Callable = (...args: unknown[]) => unknown

/** Listeners beside the handles of TCP. */
const beside = new WeakMap<NodeServer, Listener>()
/** Number of attempts: a port that TCP chose may be taken over RDMA; then TCP chooses another. */
const portAttempts = 20
const ipv6OnlyFlag = 1

/** Type of `net.Server.prototype._listen2`. */
export type Listen = (
  this: NodeServer,
  address: string | null,
  port: number,
  family: number,
  backlog: number,
  fd?: number,
  flags?: number,
) => void

/** Returns the replacement of `_listen2`, and has servers know of their listeners beside. */
export function serversOf(
  settings: Settings,
  original: Listen,
): (server: NodeServer, args: Parameters<Listen>) => void {
  patchServers()
  return (server, [address, port, family, backlog, fd, flags = 0]) => {
    const plain = (): void => original.call(server, address, port, family, backlog, fd, flags)
    const ours = (family === 4 || family === 6) && typeof port === 'number' && port >= 0
    const rule = ours ? decide(settings.rules, 'listen', address, port) : undefined
    const alone = rule?.transport === 'rdma-only'
    if (!rule || rule.transport === 'tcp' || handsOut(server)) {
      if (alone) server._handle = createHandle(address, port, flags) ?? null
      if (alone) doNotListen(server)
      plain()
      return
    }
    guardStreams(server)
    const reusePort = sharesPortAs(server, flags)
    const open = (listenPort: number): Listener | SystemError =>
      Listener.open(
        {
          address,
          port: listenPort,
          family,
          backlog,
          ipv6Only: (flags & ipv6OnlyFlag) !== 0,
          reusePort,
          device: rule.device,
        },
        {
          connection: (rsocket) => onConnection(server, rsocket),
          failed: (error) => onFailure(server, error, alone),
        },
      )
    if (alone && !hasHandleOfPrimary(server)) {
      listenAlone(server, open, address, port, rule)
      return
    }
    // The primary keeps the port for all workers, so the handle stays.
    if (alone) doNotListen(server)
    listenBeside(server, plain, open, address, port, flags, rule)
  }
}

function patchServers(): void {
  for (const name of ['ref', 'unref'] as const) {
    const original = serverMethods[name] as unknown as Callable
    serverMethods[name] = function (this: NodeServer): unknown {
      beside.get(this)?.[name]()
      return original.call(this as never)
    } as Method
  }
  const close = serverMethods.close as unknown as Callable
  serverMethods.close = function (this: NodeServer, ...args: unknown[]): unknown {
    beside.get(this)?.close()
    beside.delete(this)
    return close.apply(this as never, args)
  } as Method
}

function listenAlone(
  server: NodeServer,
  open: (port: number) => Listener | SystemError,
  address: string | null,
  port: number,
  rule: Rule,
): void {
  const listener = open(port)
  if (!(listener instanceof Listener)) {
    process.nextTick(() => server.emit('error', listener))
    return
  }
  server._handle = listener
  setAsyncId(server, listener.getAsyncId())
  if (server._unref) listener.unref()
  log(() => `listen ${where(address, listener.port)}: RDMA (${rule.text})`)
  process.nextTick(() => {
    if (server._handle === listener) server.emit('listening')
  })
}

function listenBeside(
  server: NodeServer,
  plain: () => unknown,
  open: (port: number) => Listener | SystemError,
  address: string | null,
  port: number,
  flags: number,
  rule: Rule,
): void {
  const alone = rule.transport === 'rdma-only'
  const handed = hasHandleOfPrimary(server)
  const listener = port === 0 && !server._handle ? openBoth(server, open, address, flags) : undefined
  // For an existing handle, Node emits the event in the next turn, too.
  plain()
  // Node has a handle now, or reports the error itself.
  if (!server._handle) {
    if (listener instanceof Listener) listener.close()
    return
  }
  const actual = portOf(server) ?? port
  const ours = listener ?? open(actual)
  if (ours instanceof Listener) {
    beside.set(server, ours)
    if (server._unref) ours.unref()
    log(() => `listen ${where(address, actual)}: ${alone ? 'RDMA' : 'RDMA and TCP'} (${rule.text})`)
    return
  }
  // Without a device it is TCP; also where a port that the primary of a cluster has chosen is taken over RDMA.
  if (!alone && (!isPortInUse(ours) || (handed && port === 0))) {
    printOnce(`listen ${where(address, actual)}: TCP alone, because ${inWords(ours)} (${rule.text})`)
    return
  }
  server._handle.close()
  server._handle = null
  process.nextTick(() => server.emit('error', ours))
}

/** Chooses a port for both: TCP chooses one, and another if that is taken over RDMA. */
function openBoth(
  server: NodeServer,
  open: (port: number) => Listener | SystemError,
  address: string | null,
  flags: number,
): Listener | SystemError | undefined {
  const tried: ServerHandle[] = []
  try {
    for (;;) {
      const handle = createHandle(address, 0, flags)
      // Node finds the same error, and reports it.
      if (handle === undefined) return undefined
      server._handle = handle
      const listener = open(portOf(server)!)
      if (listener instanceof Listener || !isPortInUse(listener) || tried.length + 1 === portAttempts) return listener
      tried.push(handle)
    }
  } finally {
    // Only now, or TCP could choose the same again.
    for (const handle of tried) handle.close()
  }
}

/** Returns a handle as `net.Server` does: all addresses are those of IPv6, which include IPv4's, or without IPv6 those of IPv4. */
function createHandle(address: string | null, port: number, flags: number): ServerHandle | undefined {
  for (const one of address === null ? ['::', '0.0.0.0'] : [address]) {
    const handle = createServerHandle(one, port, net.isIP(one), null, flags)
    if (typeof handle === 'object') return handle
  }
  return undefined
}

/** Has the server keep its port of TCP, but not listen on it. */
function doNotListen(server: NodeServer): void {
  if (server._handle) server._handle.listen = () => 0
}

function portOf(server: NodeServer): number | undefined {
  const name: { port?: number } = {}
  server._handle?.getsockname?.(name)
  return name.port
}

/** True if the port is in use; false if the device is: then it has no free port at all. */
function isPortInUse(error: SystemError): boolean {
  return error.code === 'EADDRINUSE' && !(error.cause instanceof Error && error.cause.message.startsWith('openDevice'))
}

/** Handles the failure of a listener: with TCP the server goes on without RDMA; without it the server closes. */
function onFailure(server: NodeServer, error: SystemError, alone: boolean): void {
  if (!alone) {
    beside.get(server)?.close()
    beside.delete(server)
    printOnce(`a server takes no more connections over RDMA: ${inWords(error)}`)
    return
  }
  server.close()
  server.emit('error', error)
}

function onConnection(server: NodeServer, rsocket: RSocketLike): void {
  acceptConnection(
    server,
    rsocket,
    (options) => new net.Socket(options as net.SocketConstructorOpts) as unknown as NodeSocket,
    (socket, attached) => {
      showFigures(socket)
      attached.link.setKeepAlive(server.keepAlive, server.keepAliveInitialDelay)
      socket.server = server
      socket._server = server
      log(() => `accept ${where(attached.remote.address ?? null, attached.remote.port ?? 0)}: RDMA`)
      if (server.pauseOnConnect) socket.pause()
      else socket.read(0)
    },
  )
}
