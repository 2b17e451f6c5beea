/** Acceptance of connections by servers: those of verbena/net and, under the preload, Node's own. */
import { channel } from 'node:diagnostics_channel'
import { type BlockList, type DropArgument, isIP, type Server } from 'node:net'
import { inRootContext } from '../../memory/index.ts'
import type { RSocketLike } from '../../rsocket/index.ts'
import { type Attachment, attach, type LinkedStream } from './attachment.ts'
import { nodeAddress } from './transport.ts'

/** Internal parts of `net.Server`. */
export interface AcceptingServer extends Server {
  _connections: number
  allowHalfOpen: boolean
  pauseOnConnect: boolean
  keepAlive: boolean
  /** Delay in seconds. */
  keepAliveInitialDelay: number
  highWaterMark?: number
  blockList?: BlockList | undefined
}

export interface AcceptedOptions {
  allowHalfOpen: boolean
  readableHighWaterMark?: number
  writableHighWaterMark?: number
}

const socketChannel = channel('net.server.socket')

/** True if `maxConnections = 0` is a limit of zero; Node.js 20 takes it for no limit. */
const zeroIsALimit = Number.parseInt(process.versions.node, 10) > 20

/**
 * Emits 'connection' with the socket that `make` returns, and publishes it on the channel `net.server.socket`; or rejects the connection
 * according to `maxConnections` and `blockList`. `begin` starts the socket.
 */
export function acceptConnection<S extends LinkedStream>(
  server: AcceptingServer,
  rsocket: RSocketLike,
  make: (options: AcceptedOptions) => S,
  begin: (socket: S, attached: Attachment) => void,
): void {
  if (tooMany(server)) {
    const data = dropData(rsocket)
    rsocket.close()
    server.emit('drop', data)
    return
  }
  if (isBlocked(server.blockList, nodeAddress(rsocket.getpeername(), rsocket.family).address)) {
    rsocket.close()
    return
  }
  const { allowHalfOpen, highWaterMark } = server
  const socket = make({
    allowHalfOpen,
    ...(highWaterMark === undefined
      ? {}
      : { readableHighWaterMark: highWaterMark, writableHighWaterMark: highWaterMark }),
  })
  // As with a handle of libuv that the system made: its context is the root, not that of `listen`.
  const attached = inRootContext(() => attach(socket, rsocket))
  server._connections++
  begin(socket, attached)
  server.emit('connection', socket)
  if (socketChannel.hasSubscribers) socketChannel.publish({ socket })
}

function tooMany({ maxConnections, _connections }: AcceptingServer): boolean {
  if (maxConnections === undefined || maxConnections === null) return false
  return (maxConnections !== 0 || zeroIsALimit) && _connections >= maxConnections
}

export function isBlocked(list: BlockList | undefined, address: string | undefined): boolean {
  const family = isIP(address ?? '')
  return list !== undefined && family !== 0 && list.check(address!, family === 6 ? 'ipv6' : 'ipv4')
}

/** Returns the argument of 'drop', for a connection beyond the limit. */
function dropData(socket: RSocketLike): DropArgument {
  const local = nodeAddress(socket.getsockname(), socket.family)
  const remote = nodeAddress(socket.getpeername(), socket.family)
  return {
    ...(local.port === undefined
      ? {}
      : { localAddress: local.address, localPort: local.port, localFamily: local.family }),
    ...(remote.port === undefined
      ? {}
      : { remoteAddress: remote.address, remotePort: remote.port, remoteFamily: remote.family }),
  } as DropArgument
}
