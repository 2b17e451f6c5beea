/** Two ends of a stream in one thread, without connection management. */
import { type Context, connectQp, endpointOf, openDevice, type ProtectionDomain, QpType } from '../../../src/index.ts'
import { type ConnData, decodeConnData, encodeConnData } from '../../../src/rsocket/protocol/conn-data.ts'
import { entriesOf, extraReceives, StreamConnection } from '../../../src/rsocket/protocol/connection.ts'
import { clampOptions, defaultOptions, type StreamOptions } from '../../../src/rsocket/protocol/options.ts'
import { StreamArena } from '../../../src/rsocket/protocol/stream-arena.ts'
import { StreamMemory } from '../../../src/rsocket/protocol/stream-memory.ts'
import { StreamQueues } from '../../../src/rsocket/protocol/stream-queues.ts'

export interface End {
  context: Context
  pd: ProtectionDomain
  memory: StreamMemory
  connection: StreamConnection
  mine: ConnData
  close(): void
}

/** Objects that the ends of a thread share. */
export interface Shared {
  arena: StreamArena
  queues: StreamQueues
  close(): void
}

export function makeShared(context: Context): Shared {
  const arena = new StreamArena(context.allocPd())
  const queues = new StreamQueues(
    (cqe, _, crowded) => context.createCq(cqe, { singleThreaded: true, crowded }),
    context.device.attr.maxCqe,
  )
  return {
    arena,
    queues,
    close() {
      queues.close()
      arena.close()
      arena.pd.close()
    },
  }
}

/** `shared`: objects that several ends share; else this one has its own, which end with it. */
export function makeEnd(context: Context, given: Partial<StreamOptions> = {}, shared?: Shared): End {
  const options = clampOptions({ ...defaultOptions, ...given })
  const { arena, queues, close: closeShared } = shared ?? makeShared(context)
  const { pd } = arena
  const memory = new StreamMemory(arena, options)
  const entries = entriesOf(options)
  const cqs = queues.reserve(entries)
  const { sendCq, recvCq } = cqs
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
  const connection = new StreamConnection(qp, memory, options, cqs)
  return {
    context,
    pd,
    memory,
    connection,
    mine: StreamConnection.describe(memory, options),
    close() {
      qp.close()
      queues.end(cqs, entries, qp)
      memory.close(connection.filledBytes)
      if (shared === undefined) closeShared()
    },
  }
}

/** The private data goes through its bytes, as on the wire. */
export function through(data: ConnData): ConnData {
  const decoded = decodeConnData(encodeConnData(data))
  if (typeof decoded === 'string') throw new Error(decoded)
  return decoded
}

/** Their queue pairs are connected; neither knows yet that it may begin. */
export function joinEnds(a: End, b: End, connect: Parameters<typeof connectQp>[3] = {}): void {
  const qa = a.connection.qp
  const qb = b.connection.qp
  const ea = endpointOf(qa)
  const eb = endpointOf(qb)
  connectQp(qa, ea, eb, connect)
  connectQp(qb, eb, ea, connect)
  a.connection.postReceives()
  b.connection.postReceives()
}

export function connectEnds(a: End, b: End, connect: Parameters<typeof connectQp>[3] = {}): void {
  joinEnds(a, b, connect)
  a.connection.start(a.mine, through(b.mine))
  b.connection.start(b.mine, through(a.mine))
}

interface Counted {
  out: Record<string, number | Int32Array>
  in: Record<string, number | Int32Array>
}

/** Adds to counts of 32 bits. */
function add(side: Counted['out'], by: number, ...names: string[]): void {
  for (const name of names) side[name] = ((side[name] as number) + by) | 0
}

/**
 * The stream from `a` to `b`, of which nothing is on its way, as long use leaves it: before `wrap` (2^31 or 2^32) stand the numbers of
 * `a`'s requests, the bytes and the messages of the stream; rings of parts and offers are a few laps away from it.
 */
export function ageStream(a: End, b: End, wrap: number): void {
  const { out } = a.connection as unknown as Counted
  const inward = (b.connection as unknown as Counted).in
  for (const [name, number] of [
    ['posted', wrap - 5],
    ['controlsPosted', wrap - 1],
    ['bytesPosted', wrap - 3000],
  ] as const) {
    out[name] = number | 0
    out[name.replace(/p?osted$/i, (posted) => (posted === 'posted' ? 'done' : 'Done'))] = number | 0
  }
  const at = (out.posted as number) & (out.mask as number)
  ;(out.bytesAt as Int32Array)[at] = out.bytesPosted as number
  ;(out.controlsAt as Int32Array)[at] = out.controlsPosted as number
  const messages = wrap - 3 - (out.sent as number)
  add(out, messages, 'sent', 'allowed')
  add(inward, messages, 'received', 'granted')
  const bytes = wrap - 2000 - (out.bytesOut as number)
  add(out, bytes, 'offered', 'bytesOut')
  add(inward, bytes, 'arrived', 'consumed', 'advertised')
  const ends = inward.offerEnds as Int32Array
  for (let i = 0; i < ends.length; i++) ends[i] = (ends[i]! + bytes) | 0
  add(out, wrap - 2 * 16, 'partsHead', 'partsTail')
  add(inward, wrap - 256, 'offerHead', 'offerTail')
}

export interface Pair {
  a: End
  b: End
  close(): void
}

export function makePair(one: Partial<StreamOptions> = {}, other: Partial<StreamOptions> = one): Pair {
  const context = openDevice('shm0')
  const a = makeEnd(context, one)
  const b = makeEnd(context, other)
  connectEnds(a, b)
  return {
    a,
    b,
    close() {
      a.close()
      b.close()
      context.close()
    },
  }
}

/** Lets both ends take what has come until nothing comes any more. */
export function settle(...ends: End[]): void {
  for (let quiet = 0; quiet < 3; ) {
    let count = 0
    for (const { connection } of ends) {
      count += connection.process()
      connection.reap()
    }
    quiet = count === 0 ? quiet + 1 : 0
  }
}
