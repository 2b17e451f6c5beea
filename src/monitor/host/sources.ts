/** Delivery of packets to an observer: from a capture, or from interfaces of this host. */
import { CapturedPacket, type CaptureSource, LinkType } from '../../capture/index.ts'
import type { LiveCapture } from '../../collect/index.ts'
import type { TraceOptions } from '../../trace/index.ts'
import { type Observer, timeOf } from '../index.ts'
import { type Pace, readPaced } from './paced.ts'
import { SourceClock } from './source-clock.ts'

export interface WatchOptions extends Pace {
  trace: TraceOptions
  /** Maximum delay of packets of a live source after their time. Default: determined from the time of the first ones. */
  settleMs?: number
  /** True if a packet is watched (default: all). */
  takes?(packet: CapturedPacket): boolean
  /** Reports progress between chunks; reading waits for its promise. */
  onProgress?(): Promise<void>
}

/**
 * Reads a capture to its end. The result contains its damage. `observerOf` is called for each packet and returns its observer. While a live
 * source delivers no packets, windows end with the clock.
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
  /** Duration in milliseconds; Infinity: until the signal is aborted. */
  durationMs: number
}

/**
 * Watches interfaces, and closes the capture. Windows end with the clock, also if no packet comes. `observerOf` is called between packets,
 * many times a second, and returns the observer of the packets that follow.
 *
 * When half of a ring is full, packets are only counted, which is faster, until little of it is left: packets that the kernel drops are not
 * even counted by key.
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
        // If the ring is empty, all packets before the last turn were delivered, however long ago that was.
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

/** Fractions of the ring from which on packets are only counted, and are followed again. */
const fillToBegin = 1 / 2
const fillToEnd = 1 / 8

/** Maximum delay of packets after their time: the kernel delivers a block after at most 60 ms. */
const settleMs = 200
