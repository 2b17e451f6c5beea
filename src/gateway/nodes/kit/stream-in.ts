/**
 * A stream of bytes (TCP, the output of a process) whose samples go to an inbox. Bytes that are not decoded yet are kept; while the inbox
 * is full the stream is paused, so that its sender waits and nothing is lost.
 */
import type { Readable } from 'node:stream'
import { longestRest, StreamBytes } from '../../index.ts'
import type { FrameDecoder } from './frames-in.ts'
import type { Inbox } from './inbox.ts'

export class StreamIn {
  readonly #stream: Readable
  readonly #inbox: Inbox
  readonly #decoder: FrameDecoder
  readonly #broken: () => void
  readonly #input = new StreamBytes(1 << 16)
  #waits = false
  #ended = false

  /** Reads the stream. `broken`: called when nothing more can be read, as the format has no mark of a beginning. */
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
    this.#input.append(chunk)
    this.#decode()
  }

  #decode(): void {
    if (this.#waits) return
    const inbox = this.#inbox
    const input = this.#input
    if (inbox.room > 0) {
      const end = inbox.fill(this.#decoder, input.bytes, 0, this.#ended)
      if (this.#decoder.broken) {
        input.drop(input.length)
        this.#broken()
        return
      }
      input.drop(end)
    }
    if (inbox.room > 0 && input.length <= longestRest) {
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
