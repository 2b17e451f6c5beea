/** A ping-pong from start to end: resources, exchange, messages, result. */
import { connectTo, EndError, gidText, listenOnce, openNamed, pinApart, unpin } from '../kit/index.ts'
import { PingPongEnd } from './end.ts'
import { type Destination, exchangeAsClient, exchangeAsServer } from './exchange.ts'
import { type PingPongSettings, srqRecords } from './settings.ts'

export interface Shown {
  lid: number
  qpn: number
  psn: number
  gid: string
}

/** Document that `--json` prints. */
export interface PingPongResult {
  tool: string
  role: 'client' | 'server'
  device: string
  local: Shown[]
  remote: Shown[]
  /** Bytes of each message. */
  size: number
  iters: number
  qps: number
  mtu: number
  events: boolean
  /** Bytes of both directions together. */
  bytes: number
  seconds: number
  mbitPerSec: number
  usecPerIter: number
  /** Pages that arrived changed; with `-c`. */
  invalidPages?: number[]
  /** Flag: the peer had ended before the last message was acknowledged. */
  lastUnacknowledged?: true
  /** Reason why not all messages arrived, with the numbers that did; the figures are of these. */
  failure?: { code: string; message: string; sent: number; received: number }
  /** Counters of the adapter at the end. */
  counters: Record<string, number>
}

export interface PingPongEvents {
  onLocal?(local: readonly Shown[]): void
  onListening?(): void
  onRemote?(remote: readonly Shown[]): void
  signal?: AbortSignal
}

/** Runs a ping-pong. Throws when it fails before the first message; a later failure is in the result's `failure`. */
export async function runPingPong(settings: PingPongSettings, events: PingPongEvents = {}): Promise<PingPongResult> {
  const context = openNamed(settings.device)
  const end = new PingPongEnd(context, settings)
  try {
    const mine = end.destinations
    const local = mine.map(shown)
    events.onLocal?.(local)
    const theirs = await exchange(end, mine, settings, events)
    const remote = theirs.map(shown)
    events.onRemote?.(remote)
    const client = settings.host !== undefined
    if (client) end.connect(theirs)
    const { startNs, endNs, lastUnacknowledged, failure } = await end.play(client)
    const seconds = Number(endNs - startNs) / 1e9
    const { kind, size, iters, qps, mtu, check } = settings
    const { sent, received } = end.progress
    const bytes = failure ? size * (sent + received) : size * iters * 2
    const result: PingPongResult = {
      tool: `${kind}_pingpong`,
      role: client ? 'client' : 'server',
      device: context.name,
      local,
      remote,
      size,
      iters,
      qps,
      mtu,
      events: settings.events,
      bytes,
      seconds,
      mbitPerSec: (bytes * 8) / (seconds * 1e6),
      usecPerIter: (seconds * 1e6) / (failure ? Math.max(1, received) : iters),
      counters: {},
    }
    if (check && !failure) result.invalidPages = end.wrongPages()
    if (lastUnacknowledged) result.lastUnacknowledged = true
    if (failure) result.failure = { code: failure.code, message: failure.message, sent, received }
    if (!lastUnacknowledged && !failure) await end.linger()
    end.release()
    result.counters = context.counters()
    return result
  } finally {
    end.close()
    unpin()
  }
}

async function exchange(
  end: PingPongEnd,
  mine: readonly Destination[],
  settings: PingPongSettings,
  { onListening, signal }: PingPongEvents,
): Promise<Destination[]> {
  const { host, port, kind, waitMs } = settings
  const records = kind === 'srq' ? srqRecords : 1
  const wire =
    host === undefined
      ? await listenOnce(port, { ...(signal ? { signal } : {}), ...(onListening ? { onListening } : {}) })
      : await connectTo(host, port, { waitMs, ...(signal ? { signal } : {}) })
  try {
    if (wire.sameHost) pinApart(host === undefined ? 'server' : 'client')
    if (host !== undefined) return await exchangeAsClient(wire, mine, records)
    return await exchangeAsServer(wire, mine, records, (remote) => end.connect(remote))
  } catch (error) {
    if (error instanceof EndError) throw new EndError(error.code, `${wire.peer}: ${error.message}`)
    throw error
  } finally {
    wire.close()
  }
}

function shown({ lid, qpn, psn, gid }: Destination): Shown {
  return { lid, qpn, psn, gid: gidText(gid) }
}
