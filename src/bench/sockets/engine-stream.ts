/**
 * The engine of rsockets on queue pairs that the two ends connect through the main thread: data goes the same way as in
 * a socket, only the making of the connection is missing.
 */
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  openDevice,
  type ProtectionDomain,
  type QpEndpoint,
  QpType,
} from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
// biome-ignore-start lint/style/noRestrictedImports: the engine is not exported; this file goes when sockets connect.
import { decodeConnData, encodeConnData } from '../../rsocket/conn-data.ts'
import { extraReceives, StreamConnection } from '../../rsocket/connection.ts'
import { clampOptions, defaultOptions, defaultPollingUs } from '../../rsocket/options.ts'
import { StreamMemory } from '../../rsocket/stream-memory.ts'
// biome-ignore-end lint/style/noRestrictedImports: see above
import { type ByteStream, type Meeting, type Opening, pollsOfWait, type StreamRequest, sleepMs } from './byte-stream.ts'

interface Parts {
  context: Context
  channel: CompletionChannel
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  pd: ProtectionDomain
  memory: StreamMemory
  connection: StreamConnection
}

export function openEngine(request: StreamRequest): Opening {
  const { bufferBytes } = request
  const options = clampOptions({
    ...defaultOptions,
    ...(bufferBytes > 0 ? { sendBufferBytes: bufferBytes, receiveBufferBytes: bufferBytes } : {}),
    extensions: !request.version1,
  })
  const context = openDevice(request.device)
  const pd = context.allocPd()
  const memory = new StreamMemory(pd, options)
  const channel = context.createCompChannel()
  const sendCq = context.createCq(options.sqSize, { singleThreaded: true, channel })
  const recvCq = context.createCq(options.rqSize + extraReceives, { singleThreaded: true, channel })
  const qp = pd.createQp({
    type: QpType.RC,
    sendCq,
    recvCq,
    cap: {
      maxSendWr: options.sqSize,
      maxRecvWr: options.rqSize + extraReceives,
      maxSendSge: 2,
      maxRecvSge: 1,
      maxInlineData: options.inlineBytes,
    },
  })
  const connection = new StreamConnection(qp, memory, options)
  const mine = StreamConnection.describe(memory, options)
  const endpoint = endpointOf(qp)
  const parts: Parts = { context, channel, sendCq, recvCq, pd, memory, connection }
  let taken = false
  return {
    meeting: { endpoint, connData: encodeConnData(mine) },
    connect(other: Meeting): ByteStream {
      const theirs = decodeConnData(other.connData as Uint8Array)
      if (typeof theirs === 'string') throw new Error(`the private data of the other end is wrong: ${theirs}`)
      connectQp(qp, endpoint, other.endpoint as QpEndpoint)
      connection.postReceives()
      connection.start(mine, theirs)
      taken = true
      return new EngineStream(parts, request)
    },
    close() {
      if (!taken) closeParts(parts)
    },
  }
}

function closeParts({ context, channel, sendCq, recvCq, pd, memory, connection }: Parts): void {
  connection.qp.close()
  sendCq.close()
  recvCq.close()
  channel.close()
  memory.close()
  pd.close()
  context.close()
}

class EngineStream implements ByteStream {
  private readonly parts: Parts
  private readonly connection: StreamConnection
  private readonly busy: boolean
  private readonly outgoing: Uint8Array
  private readonly incoming: Uint8Array
  private sleeps = 0

  constructor(parts: Parts, { busy, memoryBytes }: StreamRequest) {
    this.parts = parts
    this.connection = parts.connection
    this.busy = busy
    this.outgoing = new Uint8Array(memoryBytes).fill(65)
    this.incoming = new Uint8Array(memoryBytes)
  }

  send(at: number, length: number): number {
    const { connection } = this
    const n = connection.send(this.outgoing, at, length)
    if (n === 0) this.look()
    return n
  }

  recv(length: number): number {
    const { connection } = this
    const n = connection.recv(this.incoming, 0, length)
    if (n > 0) return n
    if (connection.process() > 0) return connection.recv(this.incoming, 0, length)
    if (connection.readable || connection.readableBytes > 0) return 0
    this.look()
    return -1
  }

  private look(): void {
    const { error, reason } = this.connection
    if (error !== 0) throw new Error(`rsocket: ${reason}`)
  }

  wait(): void {
    const { connection } = this
    if (this.busy) {
      for (let i = 0; i < pollsOfWait; i++) if (connection.process() > 0) return
      return
    }
    const until = nowNs() + defaultPollingUs * 1000
    do {
      for (let i = 0; i < pollsOfWait; i++) if (connection.process() > 0) return
    } while (nowNs() < until)
    this.waitForEvent()
  }

  private waitForEvent(): void {
    const { connection, parts } = this
    connection.arm()
    connection.reap()
    if (connection.process() > 0) return
    this.sleeps++
    for (let cq = parts.channel.getEvent(sleepMs); cq !== null; cq = parts.channel.tryGetEvent()) cq.ackEvents(1)
    connection.reap()
  }

  shutdownWrite(): boolean {
    if (this.connection.shutdownWrite()) return true
    this.connection.process()
    return false
  }

  counters(): Record<string, number> {
    const { messagesSent, messagesReceived, waitsForBuffer, waitsForCredits } = this.connection.counters
    return { messagesSent, messagesReceived, waitsForBuffer, waitsForCredits, sleeps: this.sleeps }
  }

  close(): void {
    const { connection } = this
    for (let i = 0; i < 100 && !connection.allSent; i++) connection.reap()
    closeParts(this.parts)
  }
}
