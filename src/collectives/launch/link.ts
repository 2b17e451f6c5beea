/**
 * One TCP connection between a rank and rank 0, as frames: length (4 bytes, big-endian, of what follows), kind (1 byte), content. What
 * may come is bounded before it is kept: 64 KiB until the other end has proved that it belongs to the group.
 */
import type { Socket } from 'node:net'

/** Kinds of frames. */
export const Kind = {
  /** Rank 0 first: the version and a nonce of 32 bytes. */
  Challenge: 1,
  /** A rank: nonce, proof, and who it is as JSON. */
  Hello: 2,
  /** Rank 0: its proof. */
  Welcome: 3,
  /** Rank 0: all are there; who they are, as JSON. */
  Ready: 4,
  /** A part of a barrier or an allgather; rank 0: the result. */
  Barrier: 5,
  Gather: 6,
  /** The group has failed: code, rank and reason, as JSON. */
  Fail: 7,
  /** The end leaves in order. */
  Bye: 8,
  /** Rank 0: the proof was wrong. */
  Refused: 9,
} as const
export type Kind = (typeof Kind)[keyof typeof Kind]

const headBytes = 5
export const mostBeforeProof: number = 1 << 16

export class Link {
  /** Gets each frame; its bytes may be kept. */
  onFrame: (kind: number, content: Buffer) => void = () => {}
  /** Called once, with the reason, when nothing more will come. */
  onEnd: (why: string) => void = () => {}
  /** Most bytes of a frame. */
  limit: number = mostBeforeProof
  readonly #socket: Socket
  #chunks: Buffer[] = []
  #buffered = 0
  #paused = false
  /** Why nothing more comes. */
  #lost: string | null = null
  #ended = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    // A host that is gone without a word is noticed by the kernel.
    socket.setKeepAlive(true, 10_000)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', (error) => this.#end(error.message))
    socket.on('end', () => this.#end('its connection was closed'))
    socket.on('close', () => this.#end('its connection was closed'))
  }

  send(kind: Kind, content: Uint8Array | string = ''): void {
    if (this.#socket.destroyed) return
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    const head = Buffer.allocUnsafe(headBytes)
    head.writeUInt32BE(bytes.length + 1)
    head[4] = kind
    this.#socket.cork()
    this.#socket.write(head)
    // What the caller changes later must not change what is sent.
    if (bytes.length > 0) this.#socket.write(bytes === content ? Buffer.from(bytes) : bytes)
    this.#socket.uncork()
  }

  /** Frames that have come wait. */
  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
    // Those that came with one before.
    if (this.#buffered > 0) queueMicrotask(() => this.#deliver())
    if (this.#lost !== null) queueMicrotask(() => this.#tellEnd())
  }

  /** Sends what is left, and closes; what still comes is dropped. Resolves when the kernel has all of it, or the connection is gone. */
  async close(): Promise<void> {
    this.#ended = true
    this.#chunks = []
    if (this.#socket.destroyed) return
    await new Promise<void>((resolve) => {
      this.#socket.once('close', () => resolve())
      this.#socket.end(() => {
        resolve()
        // The other end has what was sent when it closes; one that does not holds nobody up.
        setTimeout(() => this.#socket.destroy(), lingerMs).unref()
      })
      this.#socket.resume().unref()
    })
  }

  /** At once, without what is left. */
  destroy(): void {
    this.#ended = true
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    if (this.#ended) return
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    this.#deliver()
  }

  #deliver(): void {
    // Chunks are joined when the last byte of a frame has come, so that a large one is copied once.
    while (!this.#ended && !this.#paused && this.#buffered >= headBytes) {
      const length = this.#peekLength()
      if (length < 1 || length > this.limit) {
        this.#socket.destroy()
        this.#end(`it sent a frame of ${length} bytes, where ${this.limit} are the most`)
        return
      }
      if (this.#buffered < 4 + length) return
      const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
      this.#buffered -= 4 + length
      this.#chunks = this.#buffered > 0 ? [all.subarray(4 + length)] : []
      this.onFrame(all[4]!, all.subarray(headBytes, 4 + length))
    }
    this.#tellEnd()
  }

  #peekLength(): number {
    if (this.#chunks[0]!.length < 4) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!.readUInt32BE()
  }

  #end(why: string): void {
    if (this.#ended) return
    this.#lost ??= why
    this.#socket.destroy()
    this.#tellEnd()
  }

  /** Behind all frames that came before. */
  #tellEnd(): void {
    if (this.#ended || this.#paused || this.#lost === null) return
    this.#ended = true
    this.onEnd(this.#lost)
  }
}

const lingerMs = 2000
