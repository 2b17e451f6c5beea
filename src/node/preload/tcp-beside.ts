/**
 * A TCP connection that is made for a socket while that may still be connected over RDMA: by a socket of its own, whose handle the
 * program's socket gets if TCP is first.
 */
import { channel } from 'node:diagnostics_channel'
import net from 'node:net'
import { normalizeArguments } from '../base/arguments.ts'
import type { Candidate, ConnectOptions, Report } from '../base/connecting.ts'
import { type Method, type NodeSocket, withOwn } from './node-net.ts'

export interface TcpEvents {
  report: Report
  connected(handle: object): void
  failed(error: Error): void
}

const attemptEvents = ['connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout']
const socketChannel = channel('net.client.socket')

export class TcpBeside {
  readonly #socket: NodeSocket

  /** Starts the connection; `connect` is Node's own; the addresses of `candidates` are the result of its look-up. */
  constructor(
    owner: NodeSocket,
    connect: Method,
    options: ConnectOptions,
    candidates: readonly Candidate[],
    events: TcpEvents,
  ) {
    const socket = new net.Socket({ allowHalfOpen: true }) as unknown as NodeSocket
    this.#socket = socket
    if (owner.blockList) socket.blockList = owner.blockList
    // It never reads.
    socket.pause()
    for (const name of attemptEvents)
      socket.on(name, (address: string, port: number, family: number, error?: Error) =>
        events.report(name, address, port, family, ...(error ? [error] : [])),
      )
    socket.once('connect', () => {
      const handle = socket._handle as object
      socket._handle = null
      socket.destroy()
      owner.autoSelectFamilyAttemptedAddresses = socket.autoSelectFamilyAttemptedAddresses
      events.connected(handle)
    })
    socket.once('error', (error) => {
      owner.autoSelectFamilyAttemptedAddresses = socket.autoSelectFamilyAttemptedAddresses
      events.failed(error)
    })
    const lookup: net.LookupFunction = (_host, query, done) => {
      if (query.all) done(null, [...candidates])
      else done(null, candidates[0]!.address, candidates[0]!.family)
    }
    // The program's socket has been published.
    withOwn(socketChannel, 'hasSubscribers', false, () =>
      (connect as (...args: unknown[]) => unknown).call(socket, normalizeArguments([{ ...options, lookup }])),
    )
  }

  ref(): void {
    this.#socket.ref()
  }

  unref(): void {
    this.#socket.unref()
  }

  /** Discards the connection, which is not needed any more. */
  discard(): void {
    this.#socket.removeAllListeners().on('error', () => {})
    this.#socket.destroy()
  }
}
