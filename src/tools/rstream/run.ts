/**
 * `rstream`: streams to and fro over rsockets, or over TCP of the kernel by the same loops. First latencies on one
 * connection, then bandwidths on another; or one test with sizes and counts of one's own. Tests, defaults and output
 * are those of rdma-core's program.
 *
 *     client → server   16 bytes, and 16 back; then for each iteration
 *     client → server   `transfers` messages, then as many back
 */
import { MSG_DONTWAIT, MSG_WAITALL } from '../../rsocket/index.ts'
import { EndError } from '../kit/index.ts'
import {
  failureOf,
  finish,
  Pattern,
  type Run,
  recvAll,
  Session,
  type StreamResult,
  type StreamRow,
  type StreamSettings,
  type StreamTest,
  sendAll,
  streamHeading,
  streamLine,
  streamOptions,
  streamRow,
  type ToolSocket,
  type TransferOptions,
  testsOf,
  Waiter,
} from '../rs-kit/index.ts'

export async function runRstream(settings: StreamSettings, { stop, tell }: Run): Promise<StreamResult> {
  const role = settings.server === undefined ? 'server' : 'client'
  const result: StreamResult = { tool: 'rstream', role, socket: settings.kernel ? 'tcp' : 'rsocket', rows: [] }
  const waiter = new Waiter(stop, settings.stallMs)
  const session = new Session(settings, waiter)
  const connections = testsOf(settings)
  const largest = Math.max(16, ...connections.flat().map(({ size }) => size))
  const stream = new Stream(settings, waiter, largest)
  try {
    const purposes = connections.length === 1 ? (['mixed'] as const) : (['latency', 'bandwidth'] as const)
    await session.open(streamOptions(settings, purposes[0]!))
    tell({ line: streamHeading })
    for (const [i, tests] of connections.entries()) {
      const socket = session.next(streamOptions(settings, purposes[i]!))
      if (settings.keepAliveSeconds !== undefined) {
        tell({ line: 'Keepalive: ON' })
        tell({ line: `  time: ${settings.keepAliveSeconds}` })
      }
      try {
        for (const test of tests) {
          const row = stream.run(socket, test)
          result.rows.push(row)
          tell({ line: streamLine(row) })
        }
      } finally {
        finish(socket)
      }
    }
  } catch (error) {
    result.failure = failureOf(error)
  } finally {
    session.close()
  }
  return result
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
