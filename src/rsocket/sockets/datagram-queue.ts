/** Datagrams that wait for a program to read them: up to a limit of bytes, beyond which they are lost, as with UDP. */
import { familyName, type SocketAddress } from '../runtime/index.ts'

/** Bytes that a waiting datagram counts in addition to its data: empty datagrams take memory, too. */
const waitingCost = 64

interface Received {
  readonly data: Uint8Array
  readonly address: string
  readonly port: number
}

export class DatagramQueue {
  #waiting: Received[] = []
  #bytes = 0

  get empty(): boolean {
    return this.#waiting.length === 0
  }

  /** Length of the next datagram; 0 if there is none. */
  get nextLength(): number {
    return this.#waiting[0]?.data.length ?? 0
  }

  /** Adds a datagram; returns false if it is lost, because more than `limitBytes` would wait. One datagram fits whatever the limit is. */
  add(data: Uint8Array, address: string, port: number, limitBytes: number): boolean {
    const bytes = data.length + waitingCost
    if (this.#bytes + bytes > limitBytes && !this.empty) return false
    this.#waiting.push({ data, address, port })
    this.#bytes += bytes
    return true
  }

  /** Copies the next datagram, which must exist, into `buffer`; the bytes that do not fit are lost. Returns the number of bytes copied. */
  take(buffer: Uint8Array, peek: boolean, from: Partial<SocketAddress> | undefined): number {
    const { data, address, port } = this.#waiting[0]!
    if (!peek) {
      this.#waiting.shift()
      this.#bytes -= data.length + waitingCost
    }
    const n = Math.min(buffer.length, data.length)
    buffer.set(n === data.length ? data : data.subarray(0, n))
    if (from !== undefined) Object.assign(from, { address, port, family: familyName(address) })
    return n
  }

  clear(): void {
    this.#waiting = []
    this.#bytes = 0
  }
}
