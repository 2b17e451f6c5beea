/** The run of rstream and of riostream: first latencies on one connection, then bandwidths on another, or one test. */
import { type StreamRow, streamHeading, streamLine } from './figures.ts'
import { finish, Session, streamOptions } from './session.ts'
import { failureOf, type Run } from './settings.ts'
import { type StreamResult, type StreamSettings, type StreamTest, testsOf } from './stream.ts'
import type { SocketSettings, ToolSocket } from './tool-socket.ts'
import { Waiter } from './waiter.ts'

export interface StreamProgram {
  tool: 'rstream' | 'riostream'
  /** Options that its sockets need beyond the common ones. */
  options?: Partial<SocketSettings>
  /**
   * Called once; returns a function that is called for each connection and returns the function that runs a test there. `largest` is
   * bytes.
   */
  start(waiter: Waiter, largest: number): (socket: ToolSocket) => (test: StreamTest) => StreamRow
}

export async function runStreams(
  settings: StreamSettings,
  { stop, show }: Run,
  { tool, options, start }: StreamProgram,
): Promise<StreamResult> {
  const role = settings.server === undefined ? 'server' : 'client'
  const result: StreamResult = { tool, role, socket: settings.kernel ? 'tcp' : 'rsocket', rows: [] }
  const waiter = new Waiter(stop, settings.stallMs)
  const session = new Session(settings, waiter)
  const connections = testsOf(settings)
  const purposes = connections.length === 1 ? (['mixed'] as const) : (['latency', 'bandwidth'] as const)
  const optionsOf = (i: number): SocketSettings => ({ ...streamOptions(settings, purposes[i]!), ...options })
  try {
    const connected = start(waiter, Math.max(16, ...connections.flat().map(({ size }) => size)))
    await session.open(optionsOf(0))
    show({ line: streamHeading })
    for (const [i, tests] of connections.entries()) {
      const socket = session.next(optionsOf(i))
      if (settings.keepAliveSeconds !== undefined) {
        show({ line: 'Keepalive: ON' })
        show({ line: `  time: ${settings.keepAliveSeconds}` })
      }
      try {
        const run = connected(socket)
        for (const test of tests) {
          const row = run(test)
          result.rows.push(row)
          show({ line: streamLine(row) })
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
