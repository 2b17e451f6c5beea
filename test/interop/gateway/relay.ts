/** A port that leads to a server, and can be cut off: for what reaches a server through it, the server has gone. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls'

interface RelayOptions {
  /** Clients come by TLS; the server gets plain TCP. */
  readonly tls?: TlsOptions
  /** Changes what the server says; a chunk may be a part of a message. */
  rewrite?(bytes: Buffer): Buffer
}

export class Relay {
  readonly port: number
  /** The server's port. */
  to: number
  readonly #options: RelayOptions
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined

  constructor(port: number, to: number, options: RelayOptions = {}) {
    this.port = port
    this.to = to
    this.#options = options
  }

  async open(): Promise<void> {
    const { tls, rewrite = (bytes) => bytes } = this.#options
    const relay = (client: Socket) => {
      const server = connect(this.to, '127.0.0.1')
      client.pipe(server)
      server.on('data', (bytes) => void client.write(rewrite(bytes)))
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
    }
    this.#server = tls ? createTlsServer(tls, relay) : createServer(relay)
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Ends all connections, with a reset where there is no TLS, and takes no more. */
  async cut(): Promise<void> {
    const closed = this.#server && once(this.#server, 'close')
    this.#server?.close()
    for (const socket of this.#sockets) {
      if (socket instanceof TLSSocket) socket.destroy()
      else socket.resetAndDestroy()
    }
    await closed
    this.#server = undefined
  }
}
