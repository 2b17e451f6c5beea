/** The connections of a server: how many there may be, how long they may take, and that it can end whatever its peers do. */
import { once } from 'node:events'
import type { Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/** For a peer to take what it was sent last. */
const farewellMs = 1000
/** The next one takes the place of the one that has waited longest. */
const mostConnections = 512

/** For `createServer`: a peer has ten seconds for the head of a request, whether it sends something or nothing. */
export const serverLimits: ServerOptions & { handshakeTimeout: number } = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 10_000,
  maxHeaderSize: 16_384,
  handshakeTimeout: 10_000,
}

/**
 * Node.js closes requests only: it knows neither connections that have become a WebSocket, nor those that have not finished their TLS
 * handshake, and waits for both.
 */
export class Connections {
  readonly #server: Server
  /** The one that came or was used first is first; without those that have become WebSockets. */
  readonly #sockets = new Set<Socket>()
  readonly #upgraded = new Set<Socket>()

  /** Before the server listens. `most`: connections, besides WebSockets, whose server limits them. */
  constructor(server: Server, most: number = mostConnections) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#upgraded.delete(socket)
      })
      // Whoever fills the server with connections that say nothing keeps nobody else out.
      if (this.#sockets.size > most) this.#sockets.values().next().value!.destroy()
    })
    server.on('request', ({ socket }) => this.#renew(socket))
    server.on('upgrade', (_, socket) => {
      // Of TLS, this is the connection inside.
      const outer = this.#outerOf(socket as Socket)
      if (outer !== undefined && this.#sockets.delete(outer)) this.#upgraded.add(outer)
    })
  }

  /** It is used: others have waited longer. */
  #renew(socket: Socket): void {
    const outer = this.#outerOf(socket)
    if (outer !== undefined && this.#sockets.delete(outer)) this.#sockets.add(outer)
  }

  #outerOf(socket: Socket): Socket | undefined {
    if (this.#sockets.has(socket)) return socket
    const { remotePort, remoteAddress } = socket
    for (const each of this.#sockets)
      if (each.remotePort === remotePort && each.remoteAddress === remoteAddress) return each
    return undefined
  }

  /** Takes no more connections, ends requests at once, and everything else after a second. Resolves when all have ended. */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    const timer = setTimeout(() => {
      for (const socket of [...this.#sockets, ...this.#upgraded]) socket.destroy()
    }, farewellMs)
    await closed
    clearTimeout(timer)
  }
}
