/** A port that leads to a server, and can be cut off: for what reaches a server through it, the server has gone. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Relay {
  readonly port: number
  readonly #to: number
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined

  constructor(port: number, to: number) {
    this.port = port
    this.#to = to
  }

  async open(): Promise<void> {
    this.#server = createServer((client) => {
      const server = connect(this.#to, '127.0.0.1')
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(socket)
        socket.pipe(other)
        socket.on('error', () => {})
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
    })
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Ends all connections with a reset, and takes no more. */
  async cut(): Promise<void> {
    const closed = this.#server && once(this.#server, 'close')
    this.#server?.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await closed
    this.#server = undefined
  }
}
