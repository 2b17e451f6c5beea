/**
 * Points between two frames of HTTP/2 at which Node has to run callbacks. Over TCP it runs the next-tick queue after each frame, so a
 * program has the headers before the data, and both before it is notified that the stream or the session is over. With data from
 * JavaScript, Node takes all frames of a chunk at once, and then no stream is left to give the data to.
 *
 *     | length (3) | type | flags | stream (4) | payload …        RFC 9113, 4.1
 */

/** Point before an offset of a chunk at which Node is to run callbacks. */
export interface Cut {
  offset: number
  /** Flag: only the next-tick queue has to run; otherwise a turn of the event loop. */
  ticks: boolean
}

const headerBytes = 9
/** Length of the connection preface of a client, `PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n`: RFC 9113, 3.4. */
const prefaceBytes = 24
const data = 0x00
const headers = 0x01
const rstStream = 0x03
const goaway = 0x07
const none: readonly Cut[] = []

export class FrameCutter {
  #started = false
  /** Number of bytes of the header that have arrived, and its fields. */
  #have = 0
  #length = 0
  #type = 0
  /** Number of bytes of the payload, or of the preface, that are still to arrive. */
  #left = 0
  /** Flag: headers have arrived since the last cut. */
  #headers = false

  /** Returns the cuts of this chunk, ascending: before data that follows headers, and before the end of a stream or the session. */
  cuts(chunk: Uint8Array): readonly Cut[] {
    if (!this.#started && chunk.length > 0) {
      this.#started = true
      // As a length this would be more than any frame may have.
      if (chunk[0] === 0x50) this.#left = prefaceBytes
    }
    let found: Cut[] | undefined
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at)
        this.#left -= taken
        at += taken
        continue
      }
      const start = at
      while (this.#have < headerBytes && at < chunk.length) {
        const byte = chunk[at++]!
        if (this.#have < 3) this.#length = (this.#length << 8) | byte
        else if (this.#have === 3) this.#type = byte
        this.#have++
      }
      if (this.#have < headerBytes) break
      const ends = this.#type === rstStream || this.#type === goaway
      if (ends || (this.#headers && this.#type === data)) {
        found ??= []
        found.push({ offset: start, ticks: !ends })
        this.#headers = false
      }
      if (this.#type === headers) this.#headers = true
      this.#left = this.#length
      this.#have = 0
      this.#length = 0
    }
    return found ?? none
  }
}
