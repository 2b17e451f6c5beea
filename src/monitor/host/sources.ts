/** Packets into an observer: from a capture, or from interfaces of this host. */
import { CapturedPacket, type CaptureSource, LinkType } from '../../capture/index.ts'
import type { LiveCapture } from '../../collect/index.ts'
import type { TraceOptions } from '../../trace/index.ts'
import { type Observer, timeOf } from '../index.ts'
import { type Pace, readPaced } from './paced.ts'
import { SourceClock } from './source-clock.ts'

export interface WatchOptions extends Pace {
  trace: TraceOptions
  /** Packets come as they pass, so long after their time at most. Default: found out by the time of the first ones. */
  settleMs?: number
  /** Which packets are watched (all). */
  takes?(packet: CapturedPacket): boolean
  /** Called between chunks; reading waits for its promise. */
  onProgress?(): Promise<void>
}

/**
 * Reads a capture to its end. Its damage is in what is returned. `observerOf` is asked for each packet: it goes there. While a source whose
 * packets come as they pass has nothing to give, windows end with the clock.
 */
export async function watchCapture(
  source: CaptureSource,
  observerOf: () => Observer,
  { trace, settleMs, takes, ...pace }: WatchOptions,
): ReturnType<CaptureSource['read']> {
  const clock = new SourceClock()
  const parser = await readPaced(
    source,
    (packet) => {
      clock.packet(timeOf(packet))
      if (takes === undefined || takes(packet)) observerOf().packet(packet)
    },
    {
      ...{ ...trace, ...pace },
      onIdle: () => {
        const nowMs = Date.now()
        const settledMs = settleMs === undefined ? clock.settledMs(nowMs) : nowMs - settleMs
        if (settledMs !== undefined) observerOf().tick(settledMs)
      },
    },
  )
  observerOf().finish()
  return parser
}

export interface LiveWatchOptions {
  signal: AbortSignal
  /** Milliseconds; Infinity: until the signal is aborted. */
  durationMs: number
}

/**
 * Watches interfaces, and closes the capture. Windows end with the clock, also where no packet comes. `observerOf` is asked between
 * packets, many times a second: packets that follow go there.
 *
 * When half of a ring waits, packets are only counted, which is faster, until little is left of it: what the kernel drops is not even counted by key.
 */
export async function watchLive(
  live: Pick<LiveCapture, 'run' | 'statistics' | 'fill' | 'close'>,
  observerOf: () => Observer,
  { signal, durationMs }: LiveWatchOptions,
): Promise<void> {
  const packet = new CapturedPacket()
  packet.linkType = LinkType.Ethernet
  packet.hasTime = true
  const endMs = performance.now() + durationMs
  let dropped = 0
  let observer = observerOf()
  let overloaded = false
  let turnMs = Date.now()
  try {
    await live.run(
      (bytes, ring, id) => {
        packet.number++
        packet.bytes = bytes
        packet.offset = ring.offset
        packet.length = ring.length
        packet.originalLength = ring.originalLength
        packet.seconds = ring.seconds
        packet.nanoseconds = ring.nanoseconds
        packet.interfaceId = id
        if (overloaded) observer.count(packet)
        else observer.packet(packet)
        return true
      },
      signal,
      () => {
        observer = observerOf()
        const { fill } = live
        overloaded = fill > (overloaded ? fillToEnd : fillToBegin)
        const all = live.statistics().reduce((sum, one) => sum + one.dropped, 0)
        observer.add('dropped', all - dropped)
        dropped = all
        // If nothing waits, all that came before the last turn was handed over, however long that was ago.
        if (fill === 0) observer.tick(turnMs - settleMs)
        turnMs = Date.now()
        return performance.now() < endMs
      },
    )
    observer.finish()
  } finally {
    live.close()
  }
}

/** Shares of the ring at which packets are only counted from then on, and are followed again. */
const fillToBegin = 1 / 2
const fillToEnd = 1 / 8

/** Packets come a little later than their time: the kernel hands over a block after 60 ms at the latest. */
const settleMs = 200
