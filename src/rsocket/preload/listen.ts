/**
 * `net.Server` under the preload. A server whose address has a rule listens over RDMA as well as over TCP, on the same
 * port, or over RDMA alone if the rule says so; both kinds of connection come as 'connection' with a `net.Socket`.
 */
import cluster from 'node:cluster'
import net from 'node:net'
import { attach } from '../net/attachment.ts'
import type { SystemError } from '../net/errors.ts'
import { Listener } from '../net/listener.ts'
import type { RSocketLike } from '../types.ts'
import { inWords, log, sayOnce, where } from './log.ts'
import { type Method, type NodeServer, type NodeSocket, serverMethods } from './node-net.ts'
import { decide, type Rule } from './rules.ts'
import type { Settings } from './settings.ts'
import { showFigures } from './sockets.ts'

type Callable = (...args: unknown[]) => unknown

/** The listener beside the handle of TCP. */
const beside = new WeakMap<NodeServer, Listener>()
/** A port that TCP chose may be taken over RDMA; then TCP chooses another. */
const portAttempts = 20
const ipv6OnlyFlag = 1

export function patchServers(settings: Settings): void {
  const listen2 = serverMethods._listen2 as unknown as Callable
  serverMethods._listen2 = function (
    this: NodeServer,
    address: string | null,
    port: number,
    family: number,
    backlog: number,
    fd?: number,
    flags = 0,
  ): void {
    const plain = (): unknown => listen2.call(this as never, address, port, family, backlog, fd, flags)
    const ours = (family === 4 || family === 6) && typeof port === 'number' && port >= 0 && !handsOut(this)
    const rule = ours ? decide(settings.rules, 'listen', address, port) : undefined
    if (!rule || rule.transport === 'tcp') {
      plain()
      return
    }
    const open = (listenPort: number): Listener | SystemError =>
      Listener.open(
        {
          address,
          port: listenPort,
          family,
          backlog,
          ipv6Only: (flags & ipv6OnlyFlag) !== 0,
          device: rule.device,
        },
        {
          connection: (rsocket) => onConnection(this, rsocket),
          failed: (error) => onFailure(this, error),
        },
      )
    if (rule.transport === 'rdma-only') listenAlone(this, open, address, port, rule)
    else listenBeside(this, plain, open, address, port, rule)
  } as Method

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

/**
 * The server with which the primary of a cluster takes connections for its workers: they go to it by their handles, and
 * its own listener is an assertion that none comes here.
 */
function handsOut(server: NodeServer): boolean {
  if (!cluster.isPrimary) return false
  const listeners = server.listeners('connection')
  return listeners.length === 1 && listeners[0]!.name === 'fail'
}

function listenAlone(
  server: NodeServer,
  open: (port: number) => Listener | SystemError,
  address: string | null,
  port: number,
  rule: Rule,
): void {
  // In a worker of a cluster the primary has opened a port of TCP already.
  server._handle?.close()
  server._handle = null
  const listener = open(port)
  if (!(listener instanceof Listener)) {
    process.nextTick(() => server.emit('error', listener))
    return
  }
  server._handle = listener
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
  rule: Rule,
): void {
  for (let attempt = 1; ; attempt++) {
    plain()
    // Node has a handle now, or tells of the error itself; 'listening' comes in the next turn.
    if (!server._handle) return
    const name: { port?: number } = {}
    server._handle.getsockname?.(name)
    const actual = name.port ?? port
    const listener = open(actual)
    if (listener instanceof Listener) {
      beside.set(server, listener)
      if (server._unref) listener.unref()
      log(() => `listen ${where(address, actual)}: RDMA and TCP (${rule.text})`)
      return
    }
    // The workers of a cluster share the port of TCP; over RDMA the first has it.
    if (listener.code !== 'EADDRINUSE' || cluster.isWorker) {
      sayOnce(`listen ${where(address, actual)}: TCP alone, because ${inWords(listener)} (${rule.text})`)
      return
    }
    if (port === 0 && attempt < portAttempts) {
      server._handle.close()
      server._handle = null
      continue
    }
    server._handle.close()
    server._handle = null
    process.nextTick(() => server.emit('error', listener))
    return
  }
}

/** Beside TCP the server goes on without RDMA; alone it is of no use any more. */
function onFailure(server: NodeServer, error: SystemError): void {
  const listener = beside.get(server)
  if (listener) {
    beside.delete(server)
    listener.close()
    sayOnce(`a server takes no more connections over RDMA: ${inWords(error)}`)
    return
  }
  server.close()
  server.emit('error', error)
}

function onConnection(server: NodeServer, rsocket: RSocketLike): void {
  if (server.maxConnections && server._connections >= server.maxConnections) {
    server.emit('drop', Listener.dropData(rsocket))
    rsocket.close()
    return
  }
  const { highWaterMark } = server
  const socket = new net.Socket({
    allowHalfOpen: server.allowHalfOpen,
    ...(highWaterMark === undefined
      ? {}
      : { readableHighWaterMark: highWaterMark, writableHighWaterMark: highWaterMark }),
  } as net.SocketConstructorOpts) as unknown as NodeSocket
  const attached = attach(socket, rsocket)
  showFigures(socket, attached)
  attached.link.setKeepAlive(server.keepAlive, server.keepAliveInitialDelay)
  server._connections++
  socket.server = server
  socket._server = server
  log(() => `accept ${where(attached.remote.address ?? null, attached.remote.port ?? 0)}: RDMA`)
  if (server.pauseOnConnect) socket.pause()
  else socket.read(0)
  server.emit('connection', socket)
}
