/** The datagrams that wait for a program to read them: up to a limit of bytes, beyond which they are lost, as with UDP. */
import { familyName, type SocketAddress } from '../runtime/index.ts'

/** What a datagram that waits counts beside its bytes: empty ones take memory, too. */
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

  /** False if it is lost: more than `limitBytes` would wait. One datagram fits whatever the limit is. */
  add(data: Uint8Array, address: string, port: number, limitBytes: number): boolean {
    const bytes = data.length + waitingCost
    if (this.#bytes + bytes > limitBytes && !this.empty) return false
    this.#waiting.push({ data, address, port })
    this.#bytes += bytes
    return true
  }

  /** Copies the next datagram, which there must be, into `buffer`; what does not fit is lost. How many bytes that were. */
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
