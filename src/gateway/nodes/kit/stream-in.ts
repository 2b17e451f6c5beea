/**
 * A stream of bytes (TCP, the output of a process) whose samples go to an inbox. What is not decoded yet is kept; while the inbox is
 * full the stream is paused, so that its sender waits and nothing is lost.
 */
import type { Readable } from 'node:stream'
import { longestRest } from '../../index.ts'
import type { FrameDecoder } from './frames-in.ts'
import type { Inbox } from './inbox.ts'

export class StreamIn {
  readonly #stream: Readable
  readonly #inbox: Inbox
  readonly #decoder: FrameDecoder
  readonly #broken: () => void
  #bytes: Uint8Array = new Uint8Array(1 << 16)
  #length = 0
  #waits = false
  #ended = false

  /** `broken`: called when nothing more can be read, as the format has no mark of a beginning. */
  constructor(stream: Readable, inbox: Inbox, broken: () => void) {
    this.#stream = stream
    this.#inbox = inbox
    this.#decoder = inbox.streamDecoder()
    this.#broken = broken
    stream.on('data', (chunk: Uint8Array) => this.#push(chunk))
    stream.on('end', () => {
      this.#ended = true
      this.#decode()
    })
  }

  #push(chunk: Uint8Array): void {
    const total = this.#length + chunk.length
    if (total > this.#bytes.length) {
      const larger = new Uint8Array(2 * total)
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    this.#bytes.set(chunk, this.#length)
    this.#length = total
    this.#decode()
  }

  #decode(): void {
    if (this.#waits) return
    const inbox = this.#inbox
    let at = 0
    const bytes = this.#bytes.subarray(0, this.#length)
    if (inbox.room > 0) {
      at = inbox.fill(this.#decoder, bytes, 0, this.#ended)
      if (this.#decoder.broken) {
        this.#length = 0
        this.#broken()
        return
      }
      this.#bytes.copyWithin(0, at, this.#length)
      this.#length -= at
    }
    if (inbox.room > 0 && this.#length <= longestRest) {
      if (this.#stream.isPaused()) this.#stream.resume()
      return
    }
    this.#waits = true
    this.#stream.pause()
    inbox.whenRoom(() => {
      this.#waits = false
      this.#decode()
    })
  }
}
