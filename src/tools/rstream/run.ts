/**
 * `rstream`: streams in both directions over rsockets, or over TCP of the kernel by the same loops. First latencies on one
 * connection, then bandwidths on another; or one test with given sizes and counts. Tests, defaults and output are those of
 * rdma-core's program.
 *
 *     client → server   16 bytes, and 16 back; then for each iteration
 *     client → server   `transfers` messages, then as many back
 */
import { MSG_DONTWAIT, MSG_WAITALL } from '../../rsocket/index.ts'
import { EndError } from '../kit/index.ts'
import {
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

export function runRstream(settings: StreamSettings, run: Run): Promise<StreamResult> {
  return runStreams(settings, run, {
    tool: 'rstream',
    start: (waiter, largest) => {
      const stream = new Stream(settings, waiter, largest)
      return (socket) => (test) => stream.run(socket, test)
    },
  })
}

class Stream {
  readonly #client: boolean
  readonly #waiter: Waiter
  readonly #options: TransferOptions
  readonly #buffer: Uint8Array
  readonly #sent: Pattern | undefined
  readonly #received: Pattern | undefined

  constructor({ server, async, blocking, verify }: StreamSettings, waiter: Waiter, largest: number) {
    this.#client = server !== undefined
    this.#waiter = waiter
    this.#options = { flags: blocking ? MSG_WAITALL : MSG_DONTWAIT, async }
    this.#buffer = new Uint8Array(largest)
    this.#sent = verify ? new Pattern() : undefined
    this.#received = verify ? new Pattern() : undefined
  }

  #send(socket: ToolSocket, bytes: Uint8Array): void {
    this.#sent?.fill(bytes)
    sendAll(this.#waiter, socket, bytes, this.#options)
  }

  #recv(socket: ToolSocket, bytes: Uint8Array): void {
    recvAll(this.#waiter, socket, bytes, this.#options)
    const wrong = this.#received?.wrongByte(bytes) ?? -1
    if (wrong >= 0) throw new EndError('DATA', `data verification failed byte ${wrong}`)
  }

  run(socket: ToolSocket, { name, size, transfers, iterations }: StreamTest): StreamRow {
    const sync = this.#buffer.subarray(0, 16)
    const bytes = this.#buffer.subarray(0, size)
    const there = (to: boolean, what: Uint8Array): void => {
      if (to === this.#client) this.#send(socket, what)
      else this.#recv(socket, what)
    }
    there(true, sync)
    there(false, sync)
    const start = performance.now()
    for (let i = 0; i < iterations; i++) {
      for (let t = 0; t < transfers; t++) there(true, bytes)
      for (let t = 0; t < transfers; t++) there(false, bytes)
      if (this.#waiter.stopped) throw new EndError('INTERRUPTED', 'interrupted')
    }
    return streamRow(name, size, transfers, iterations, performance.now() - start)
  }
}
