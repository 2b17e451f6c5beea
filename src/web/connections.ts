/** The connections of a server, so that it can end whatever its peers do. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** For a peer to take what it was sent last. */
const farewellMs = 1000

/**
 * Node.js closes requests only: it knows neither connections that have become a WebSocket, nor those that have not finished their TLS
 * handshake, and waits for both.
 */
export class Connections {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  /** Before the server listens. */
  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Takes no more connections, ends requests at once, and everything else after a second. Resolves when all have ended. */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, farewellMs)
    await closed
    clearTimeout(timer)
  }
}
