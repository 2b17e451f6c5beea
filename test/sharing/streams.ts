/**
 * Sockets over RDMA between the processes of a fleet: a stream in each direction whose byte at each position is known. The one that
 * dials says first who it is.
 */
import type { Socket } from '../../src/net.ts'
import net from '../../src/net.ts'
import { streamPart, type Tally } from './messages.ts'

interface Peer {
  readonly tally: Tally
  readonly trouble: (what: string) => void
  socket: Socket | null
  gone: boolean
}

/** As much as one write has, and as much as may wait in a socket. */
const mostBytes = 6000
const mostWaiting = 65_536

export class Streams {
  readonly #self: number
  readonly #device: string
  readonly #host: string
  readonly #peers = new Map<number, Peer>()
  readonly #server: ReturnType<typeof net.createServer>
  #ended = false

  constructor(self: number, device: string, host: string) {
    this.#self = self
    this.#device = device
    this.#host = host
    this.#server = net.createServer({ device }, (socket) => this.#accept(socket))
  }

  /** Listens at the port, which one that has just been killed may still have for a moment. */
  async listen(port: number, patienceMs: number): Promise<void> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const failure = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
        this.#server.once('error', resolve)
        this.#server.listen({ port, host: this.#host }, () => resolve(null))
      })
      if (failure === null) return
      if (failure.code !== 'EADDRINUSE' || performance.now() > deadline) throw failure
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  #accept(socket: Socket): void {
    socket.on('error', () => {})
    socket.once('data', (first: Buffer) => {
      const id = first.readUInt32LE()
      const peer = this.#peers.get(id)
      if (peer === undefined) socket.destroy()
      else {
        this.#use(id, peer, socket)
        if (first.length > 4) this.#came(id, peer, first.subarray(4))
      }
    })
  }

  add(id: number, tally: Tally, trouble: (what: string) => void, dials: number | null): Promise<void> {
    const peer: Peer = { tally, trouble, socket: null, gone: false }
    this.#peers.set(id, peer)
    if (dials === null) return Promise.resolve()
    return new Promise((resolve) => {
      const socket = net.connect({ port: dials, host: this.#host, device: this.#device })
      this.#use(id, peer, socket)
      socket.once('connect', () => {
        const who = Buffer.alloc(4)
        who.writeUInt32LE(this.#self)
        socket.write(who)
        resolve()
      })
      socket.once('close', () => resolve())
    })
  }

  #use(id: number, peer: Peer, socket: Socket): void {
    peer.socket = socket
    socket.on('data', (data) => this.#came(id, peer, data))
    const over = (why: string) => () => {
      if (!peer.gone && !this.#ended) peer.trouble(why)
      peer.gone = true
    }
    socket.on('error', (error: NodeJS.ErrnoException) => over(`socket: ${error.code} ${error.message}`)())
    socket.on('close', over('the socket was closed'))
  }

  #came(id: number, peer: Peer, data: Uint8Array): void {
    const { received } = peer.tally
    for (let at = 0; at < data.length; ) {
      const expected = streamPart(id, this.#self, received.bytes, data.length - at)
      if (Buffer.compare(data.subarray(at, at + expected.length), expected) !== 0) {
        if (!peer.gone) peer.trouble(`the stream is wrong between ${received.bytes} and ${data.length} bytes later`)
        peer.gone = true
        return
      }
      at += expected.length
      received.bytes += expected.length
    }
  }

  step(id: number, random: (limit: number) => number): void {
    const peer = this.#peers.get(id)
    const socket = peer?.socket
    if (!peer || !socket || peer.gone || socket.connecting || socket.writableLength > mostWaiting) return
    const part = streamPart(this.#self, id, peer.tally.sent.bytes, 1 + random(mostBytes))
    socket.write(part)
    peer.tally.sent.bytes += part.length
  }

  remove(id: number): void {
    const peer = this.#peers.get(id)
    this.#peers.delete(id)
    if (peer === undefined) return
    peer.gone = true
    peer.socket?.destroy()
  }

  async close(): Promise<void> {
    this.#ended = true
    const closed = [...this.#peers.values()].map(({ socket }) =>
      socket === null || socket.closed ? null : new Promise((resolve) => socket.once('close', resolve).destroy()),
    )
    await Promise.all(closed)
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
