/** The connections of a server: their maximum number, time limits, and their end, which no peer can prevent. */
import { once } from 'node:events'
import type { Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/** Time for a peer to take the last bytes that were sent to it. */
const farewellMs = 1000
/** Maximum number of connections: the next one takes the place of the one that has waited longest. */
const mostConnections = 512

/** Options for `createServer`: a peer has ten seconds for the head of a request, whether it sends something or nothing. */
export const serverLimits: ServerOptions & { handshakeTimeout: number } = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 10_000,
  maxHeaderSize: 16_384,
  handshakeTimeout: 10_000,
}

/**
 * Ends connections that Node.js does not. It closes requests only: it knows neither connections that have become a WebSocket, nor those
 * that have not finished their TLS handshake, and waits for both. Of those that stay open for another request it waits for each that was in
 * use when the server closed.
 */
export class Connections {
  readonly #server: Server
  /**
   * Connections, with the number of requests that have no whole answer yet. The one that came or was used first is first; without
   * WebSockets.
   */
  readonly #sockets = new Map<Socket, number>()
  readonly #upgraded = new Set<Socket>()
  /** TCP connections by the TLS connections inside them. */
  readonly #outer = new WeakMap<Socket, Socket>()
  #isClosing = false

  /**
   * Follows the connections of a server that does not listen yet. `upgrades`: the server accepts requests to upgrade; without a listener
   * Node.js serves such a request as any other. `most`: connections, besides WebSockets, whose server limits them.
   */
  constructor(server: Server, upgrades: boolean, most: number = mostConnections) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.set(socket, 0)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#upgraded.delete(socket)
      })
      // A client that fills the server with idle connections does not keep other clients out.
      if (this.#sockets.size > most) this.#sockets.keys().next().value!.destroy()
    })
    server.on('request', ({ socket }, response) => {
      this.#use(socket, 1)
      response.once('close', () => {
        if (this.#use(socket, -1) === 0 && this.#isClosing) socket.destroySoon()
      })
    })
    if (!upgrades) return
    server.on('upgrade', (_, socket) => {
      // With TLS, this is the connection inside.
      const outer = this.#outerOf(socket as Socket)
      if (outer !== undefined && this.#sockets.delete(outer)) this.#upgraded.add(outer)
    })
  }

  /** Counts a request that comes, or whose answer has gone, and moves its connection to the end. Returns the number of its requests now. */
  #use(socket: Socket, change: 1 | -1): number | undefined {
    const outer = this.#outerOf(socket)
    if (outer === undefined) return undefined
    const requests = this.#sockets.get(outer)! + change
    this.#sockets.delete(outer)
    this.#sockets.set(outer, requests)
    return requests
  }

  #outerOf(socket: Socket): Socket | undefined {
    if (this.#sockets.has(socket)) return socket
    const known = this.#outer.get(socket)
    if (known !== undefined) return this.#sockets.has(known) ? known : undefined
    const { remotePort, remoteAddress } = socket
    for (const each of this.#sockets.keys())
      if (each.remotePort === remotePort && each.remoteAddress === remoteAddress) {
        this.#outer.set(socket, each)
        return each
      }
    return undefined
  }

  /**
   * Takes no more connections and ends those that wait for a request at once; answers that are being made, and WebSockets, have a second.
   * Resolves when all have ended.
   */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    this.#isClosing = true
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const [socket, requests] of this.#sockets) if (requests === 0) socket.destroy()
    const timer = setTimeout(() => {
      for (const socket of [...this.#sockets.keys(), ...this.#upgraded]) socket.destroy()
    }, farewellMs)
    await closed
    clearTimeout(timer)
  }
}
