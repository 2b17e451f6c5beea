/** Many datagrams to one destination in one sendmmsg(2), for where the kernel does not cut them itself. */
import { type Libc, nativeScratch } from './libc.ts'

const maxBatch = 64
/** struct mmsghdr: msghdr of 56 bytes, length u32, padding. */
const headerBytes = 64
const vectorBytes = 16

export class Batch {
  readonly #scratch: ReturnType<typeof nativeScratch>
  readonly #headers: readonly [address: number, object: null]

  /** `nameBytes`: length of a destination's address; `control`: address of the control messages of every datagram. */
  constructor(nameBytes: number, control: number) {
    const scratch = freeScratch.pop() ?? nativeScratch(maxBatch * (headerBytes + vectorBytes))
    this.#scratch = scratch
    this.#headers = [scratch.address, null]
    const { u32, address } = scratch
    u32.fill(0)
    for (let i = 0; i < maxBatch; i++) {
      const word = (i * headerBytes) / 4
      const vector = address + maxBatch * headerBytes + i * vectorBytes
      u32[word + 2] = nameBytes
      u32[word + 4] = vector
      u32[word + 5] = Math.floor(vector / 4294967296)
      u32[word + 6] = 1
      u32[word + 8] = control
      u32[word + 9] = Math.floor(control / 4294967296)
    }
  }

  /** Sends as `UdpSocket.send` does; at most 64 datagrams. */
  send(
    libc: Libc,
    fd: number,
    address: number,
    length: number,
    segmentBytes: number,
    nameLow: number,
    nameHigh: number,
    controlBytes: number,
  ): number {
    const { u32 } = this.#scratch
    let count = 0
    for (let sent = 0; sent < length; sent += segmentBytes, count++) {
      const word = (count * headerBytes) / 4
      u32[word] = nameLow
      u32[word + 1] = nameHigh
      u32[word + 10] = controlBytes
      const vector = (maxBatch * headerBytes + count * vectorBytes) / 4
      const from = address + sent
      u32[vector] = from
      u32[vector + 1] = Math.floor(from / 4294967296)
      u32[vector + 2] = Math.min(segmentBytes, length - sent)
    }
    const result = libc.sendmmsg(fd, this.#headers[0], count, 0)
    return result < 0 ? -libc.koffi.errno() : Math.min(result * segmentBytes, length)
  }

  /** Gives the native memory to the next batch of this thread. */
  release(): void {
    freeScratch.push(this.#scratch)
  }
}

const freeScratch: ReturnType<typeof nativeScratch>[] = []
