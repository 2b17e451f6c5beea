/**
 * One TCP connection between a rank and rank 0, as frames: length (4 bytes, big-endian, of the rest), kind (1 byte), content. Incoming data
 * are limited before they are buffered: 64 KiB until the other end has proved that it belongs to the group.
 */
import type { Socket } from 'node:net'

/** Kinds of frames. */
export const Kind = {
  /** Version and a nonce of 32 bytes, from rank 0: the first frame. */
  Challenge: 1,
  /** Nonce, proof and introduction (JSON), from a rank. */
  Hello: 2,
  /** Proof of rank 0. */
  Welcome: 3,
  /** Introductions of all ranks (JSON), from rank 0, when all have joined. */
  Ready: 4,
  /** Contribution to a barrier or an allgather; from rank 0: the result. */
  Barrier: 5,
  Gather: 6,
  /** Failure of the group: code, rank and reason, as JSON. */
  Fail: 7,
  /** Regular end: the sender leaves the group. */
  Bye: 8,
  /** Rejection by rank 0: the proof was wrong. */
  Refused: 9,
} as const
export type Kind = (typeof Kind)[keyof typeof Kind]

const headBytes = 5
export const mostBeforeProof: number = 1 << 16

export class Link {
  /** Callback for each frame; it may keep the bytes. */
  onFrame: (kind: number, content: Buffer) => void = () => {}
  /** Callback that is called once, with the reason, when no more frames will arrive. */
  onEnd: (why: string) => void = () => {}
  /** Maximum bytes of a frame. */
  limit: number = mostBeforeProof
  readonly #socket: Socket
  #chunks: Buffer[] = []
  #buffered = 0
  #paused = false
  /** Reason for which no more frames will arrive. */
  #lost: string | null = null
  #ended = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    // The kernel detects a host that disappeared without closing the connection.
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
    // Later changes by the caller must not change the data to send.
    if (bytes.length > 0) this.#socket.write(bytes === content ? Buffer.from(bytes) : bytes)
    this.#socket.uncork()
  }

  /** Pauses the delivery of frames that have arrived. */
  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
    // Frames that arrived together with an earlier one.
    if (this.#buffered > 0) queueMicrotask(() => this.#deliver())
    if (this.#lost !== null) queueMicrotask(() => this.#tellEnd())
  }

  /**
   * Sends the remaining data, and closes; drops data that still arrive. Resolves when the kernel has all data, or the connection is gone.
   */
  async close(): Promise<void> {
    this.#ended = true
    this.#chunks = []
    if (this.#socket.destroyed) return
    await new Promise<void>((resolve) => {
      this.#socket.once('close', () => resolve())
      this.#socket.end(() => {
        resolve()
        // The other end has received all data when it closes; an end that does not close delays no caller.
        setTimeout(() => this.#socket.destroy(), lingerMs).unref()
      })
      this.#socket.resume().unref()
    })
  }

  /** Closes at once, and drops unsent data. */
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

  /** Reports the end of the connection, after all earlier frames. */
  #tellEnd(): void {
    if (this.#ended || this.#paused || this.#lost === null) return
    this.#ended = true
    this.onEnd(this.#lost)
  }
}

const lingerMs = 2000
