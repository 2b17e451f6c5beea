/** Replaces the methods of Node's sockets and servers by the preload's. Once in a thread; it cannot be undone. */
import type { RSocketLike, RSocketOptions } from '../../rsocket/index.ts'
import { loadTransportBy } from '../base/transport.ts'
import { Connector } from './connect.ts'
import { type Listen, serversOf } from './listen.ts'
import { checkInternals, type Method, type NodeServer, type NodeSocket } from './node-net.ts'
import type { Settings } from './settings.ts'
import { patchSockets } from './sockets.ts'
import { rejectSending } from './unsendable.ts'

/** Methods of Node's own, which are called where a connection or a server stays with TCP. */
export interface Originals {
  readonly connect: Method
  readonly listen: Listen
}

/** Methods that take their place. */
export interface Hooks {
  connect(socket: NodeSocket, args: unknown[]): NodeSocket
  listen(server: NodeServer, args: Parameters<Listen>): void
}

/** Part of the library that is used. */
export interface Library {
  rsocket(family: number, type: number, protocol: number, options: RSocketOptions): RSocketLike
}

/**
 * Installs the hooks; throws if this version of Node lacks required internals. `library` loads the library when the first socket is
 * opened.
 */
export function install(settings: Settings, originals: Originals, library: () => Library): Hooks {
  const missing = checkInternals()
  if (missing.length > 0)
    throw new Error(
      `verbena/preload does not know Node.js ${process.version}: it lacks ${missing.join(', ')}. Use verbena/net instead`,
    )
  loadTransportBy(() => {
    const { rsocket } = library()
    return { open: (family, type, options) => rsocket(family, type, 0, options) }
  })
  patchSockets()
  rejectSending()
  const connector = new Connector(settings, originals.connect)
  return {
    connect: (socket, args) => connector.connect(socket, args),
    listen: serversOf(settings, originals.listen),
  }
}
