/**
 * `riostream`: like rstream, but the data is written directly into the peer's memory (`riomap`, `riowrite`); the peer polls
 * its last byte until that changes. Tests, defaults and output are those of rdma-core's program.
 *
 *     client ↔ server   both map their buffer at offset 0; 16 bytes each way by send and recv; then for each iteration
 *     client → server   `transfers` writes of the buffer; the last byte of the last one is the number of the turn
 *     server → client   as many back, with the next number
 */
import { MSG_DONTWAIT, POLLERR, POLLHUP, POLLIN, PROT_WRITE } from '../../rsocket/index.ts'
import { EndError } from '../kit/index.ts'
import {
  errorText,
  isEagain,
  Pattern,
  type Run,
  recvAll,
  runStreams,
  type StreamResult,
  type StreamRow,
  type StreamSettings,
  type StreamTest,
  sendAll,
  streamRow,
  type ToolSocket,
  type TransferOptions,
  type Waiter,
} from '../rs-kit/index.ts'

/** Number that no turn has when a test begins. */
const nobodysTurn = 255
/** Number of polls of the byte between two checks of the connection. */
const looks = 16

export function runRiostream(settings: StreamSettings, run: Run): Promise<StreamResult> {
  return runStreams(settings, run, {
    tool: 'riostream',
    options: { mappings: 1 },
    start: (waiter, largest) => (socket) => {
      const stream = new MappedStream(settings, waiter, socket, largest)
      return (test) => stream.run(test)
    },
  })
}

class MappedStream {
  readonly #client: boolean
  readonly #waiter: Waiter
  readonly #socket: ToolSocket
  readonly #options: TransferOptions
  readonly #buffer: Uint8Array
  readonly #sync: Uint8Array = new Uint8Array(16)
  readonly #sent: Pattern | undefined
  readonly #received: Pattern | undefined

  constructor(
    { server, async, blocking, verify }: StreamSettings,
    waiter: Waiter,
    socket: ToolSocket,
    largest: number,
  ) {
    this.#client = server !== undefined
    this.#waiter = waiter
    this.#socket = socket
    this.#options = { flags: blocking ? 0 : MSG_DONTWAIT, async }
    this.#buffer = socket.rsocket!.alloc(largest)
    this.#sent = verify ? new Pattern() : undefined
    this.#received = verify ? new Pattern() : undefined
  }

  run({ name, size, transfers, iterations }: StreamTest): StreamRow {
    const { rsocket } = this.#socket
    const bytes = this.#buffer.subarray(0, size)
    const last = size - 1
    bytes[last] = nobodysTurn
    const offset = rsocket!.riomap(bytes, PROT_WRITE, 0, 0)
    if (offset !== 0) throw this.#failed('riomap', offset)
    const [first, second] = this.#client ? [sendAll, recvAll] : [recvAll, sendAll]
    first(this.#waiter, this.#socket, this.#sync, this.#options)
    second(this.#waiter, this.#socket, this.#sync, this.#options)
    let turn = 0
    const start = performance.now()
    for (let i = 0; i < iterations; i++) {
      if (!this.#client) this.#await(bytes, turn++ & 255)
      for (let t = 1; t < transfers; t++) this.#write(bytes, 0, size)
      this.#sent?.fill(bytes.subarray(0, last))
      bytes[last] = turn++ & 255
      this.#writeLast(bytes)
      if (this.#client) this.#await(bytes, turn++ & 255)
      if (this.#waiter.stopped) throw new EndError('INTERRUPTED', 'interrupted')
    }
    const row = streamRow(name, size, transfers, iterations, performance.now() - start)
    rsocket!.riounmap(bytes)
    return row
  }

  /** Writes the message; with a check the last byte in a write of its own, since one write need not place its bytes in order. */
  #writeLast(bytes: Uint8Array): void {
    const last = bytes.length - 1
    if (this.#sent !== undefined && last > 0) {
      this.#write(bytes, 0, last)
      this.#write(bytes, last, bytes.length)
    } else this.#write(bytes, 0, bytes.length)
  }

  #write(bytes: Uint8Array, from: number, to: number): void {
    const { rsocket } = this.#socket
    for (let at = from; at < to; ) {
      const n = rsocket!.riowrite(bytes.subarray(at, to), at, this.#options.flags)
      if (n > 0) {
        at += n
        this.#waiter.progress()
      } else if (isEagain(n) || n === 0) this.#rest('room to write')
      else throw this.#failed('riowrite', n)
    }
  }

  /** Polls the last byte until it has the number of the peer's turn. */
  #await(bytes: Uint8Array, turn: number): void {
    const last = bytes.length - 1
    for (let i = 1; Atomics.load(bytes, last) !== turn; i++) {
      if (i % looks !== 0) continue
      // The poll lets the device make progress, and detects the end of the connection.
      const revents = this.#socket.poll(POLLIN, 0)
      if ((revents & (POLLERR | POLLHUP)) !== 0 && Atomics.load(bytes, last) !== turn)
        throw new EndError('PEER_GONE', `riostream: ${this.#socket.reason() || 'the peer ended the connection'}`)
      this.#waiter.nap('the peer to write')
    }
    this.#waiter.progress()
    const wrong = this.#received?.wrongByte(bytes.subarray(0, last)) ?? -1
    if (wrong >= 0) throw new EndError('DATA', `data verification failed byte ${wrong}`)
  }

  /** Waits for earlier writes to complete, which makes room. */
  #rest(what: string): void {
    this.#socket.poll(POLLIN, 0)
    this.#waiter.nap(what)
  }

  #failed(what: string, result: number): EndError {
    return new EndError('PEER_GONE', `${what}: ${this.#socket.reason() || errorText(result)}`)
  }
}
