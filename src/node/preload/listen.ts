/**
 * `net.Server` under the preload. A server whose address has a rule listens over RDMA as well as over TCP, on the same
 * port, or over RDMA alone if the rule says so; both kinds of connection come as 'connection' with a `net.Socket`.
 */
import cluster from 'node:cluster'
import net from 'node:net'
import type { RSocketLike } from '../../rsocket/index.ts'
import { acceptConnection } from '../base/accepting.ts'
import { setAsyncId } from '../base/async-id.ts'
import type { SystemError } from '../base/errors.ts'
import { Listener } from '../base/listener.ts'
import { decide } from './decide.ts'
import { inWords, log, sayOnce, where } from './log.ts'
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
    else listenBeside(this, plain, open, address, port, flags, rule)
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
  const [listener, another] = server.listeners('connection')
  // Not the program's listener, but one of Node's own, which throws an error that only Node's own code has.
  return another === undefined && listener?.name === 'fail' && String(listener).includes('ERR_INTERNAL_ASSERTION')
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
    // Of a port that another worker has, or a device.
    const error =
      cluster.isWorker && listener.code === 'EADDRINUSE' ? workersCannotShare(listener, address, port) : listener
    process.nextTick(() => server.emit('error', error))
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

/** Workers cannot share a port without TCP. Always logged, because a primary may fork again without end. */
function workersCannotShare(error: SystemError, address: string | null, port: number): SystemError {
  error.message +=
    ': the workers of a cluster cannot share a port over RDMA, and TCP is not allowed. Give the server to one worker, or allow TCP (rdma, not rdma-only; VERBENA_PRELOAD_FALLBACK=tcp): then the first worker has RDMA, and TCP is for all'
  sayOnce(`listen ${where(address, port)}: ${error.message}`)
  return error
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
    log(() => `listen ${where(address, actual)}: RDMA and TCP (${rule.text})`)
    return
  }
  // The workers of a cluster share the port of TCP; over RDMA the first has it. And without a device it is TCP.
  if (!isPortInUse(ours) || cluster.isWorker) {
    sayOnce(`listen ${where(address, actual)}: TCP alone, because ${inWords(ours)} (${rule.text})`)
    return
  }
  server._handle.close()
  server._handle = null
  process.nextTick(() => server.emit('error', ours))
}

/** A port for both: TCP chooses one, and another if that is taken over RDMA. */
function openBoth(
  server: NodeServer,
  open: (port: number) => Listener | SystemError,
  address: string | null,
  flags: number,
): Listener | SystemError | undefined {
  const tried: ServerHandle[] = []
  try {
    for (;;) {
      const handle = createHandle(address, flags)
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

/** As `net.Server` does it: all addresses are those of IPv6, which take in IPv4's, or where there is no IPv6 IPv4's. */
function createHandle(address: string | null, flags: number): ServerHandle | undefined {
  for (const one of address === null ? ['::', '0.0.0.0'] : [address]) {
    const handle = createServerHandle(one, 0, net.isIP(one), null, flags)
    if (typeof handle === 'object') return handle
  }
  return undefined
}

function portOf(server: NodeServer): number | undefined {
  const name: { port?: number } = {}
  server._handle?.getsockname?.(name)
  return name.port
}

/** False if the device is in use: then it has no free port at all. */
function isPortInUse(error: SystemError): boolean {
  return error.code === 'EADDRINUSE' && !(error.cause instanceof Error && error.cause.message.startsWith('openDevice'))
}

/** With TCP the server goes on without RDMA; alone it closes. */
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
  acceptConnection(
    server,
    rsocket,
    (options) => new net.Socket(options as net.SocketConstructorOpts) as unknown as NodeSocket,
    (socket, attached) => {
      showFigures(socket, attached)
      attached.link.setKeepAlive(server.keepAlive, server.keepAliveInitialDelay)
      socket.server = server
      socket._server = server
      log(() => `accept ${where(attached.remote.address ?? null, attached.remote.port ?? 0)}: RDMA`)
      if (server.pauseOnConnect) socket.pause()
      else socket.read(0)
    },
  )
}
