/**
 * TCP_RR and TCP_STREAM of netperf on any byte stream, for a given time after another given time that warms up.
 *
 *     rr       client: send a request, receive the response       server: receive, send
 *     stream   client: send                                       server: receive the data that has arrived
 *
 * The client ends both by shutting its direction down; the server answers that with its own end of stream, so that the
 * client knows when the server has received all data.
 */
import { nowNs } from '../../memory/index.ts'
import { Control, stopText } from '../bench-thread/index.ts'
import type { ByteStream } from './byte-stream.ts'
import { type CpuUse, cpuNow, cpuSince, noCpu } from './cpu.ts'

export interface LoopRequest {
  test: 'rr' | 'stream'
  client: boolean
  sizeBytes: number
  warmupNs: number
  durationNs: number
  /** Maximum number of round trips that are timed one by one, in a pass of their own; 0: none. */
  timed: number
}

export interface LoopResult {
  /** Number of answered requests, or of messages sent; 0 at the server. */
  messages: number
  seconds: number
  /** Bytes of the whole connection in each direction, for a check that both ends agree. */
  bytesSent: number
  bytesReceived: number
  cpu: CpuUse
  /** Start and end of the measurement at this end; CLOCK_MONOTONIC. */
  fromNs: number
  toNs: number
  /** Nanoseconds of single round trips, in the order in which they happened. */
  roundTripsNs: Float64Array
  counters: Record<string, number>
  error?: string
}

/** Bytes, and messages, between two reads of the clock. */
const bytesPerLook = 1 << 18
const messagesPerLook = 64
/** Time without progress after which the measurement fails. */
const stallNs = 10e9
/** Bytes of a receive of a stream, as netperf uses with the usual socket buffers. */
export const receiveBytes: number = 1 << 17

function looksEvery(sizeBytes: number): number {
  return Math.max(1, Math.min(messagesPerLook, Math.floor(bytesPerLook / sizeBytes)))
}

export class Loop {
  private readonly stream: ByteStream
  private readonly control: Int32Array
  private readonly request: LoopRequest
  private bytesSent = 0
  private bytesReceived = 0
  private idle = 0
  private idleSinceNs = 0
  private stopped = false

  constructor(stream: ByteStream, control: Int32Array, request: LoopRequest) {
    this.stream = stream
    this.control = control
    this.request = request
  }

  run(): LoopResult {
    const { test, client } = this.request
    if (test === 'rr') return client ? this.requests() : this.responses()
    return client ? this.pour() : this.drain()
  }

  // --- request and response ----------------------------------------------------------------------------------------

  private requests(): LoopResult {
    const { sizeBytes, warmupNs, durationNs, timed } = this.request
    this.transact(nowNs() + warmupNs, sizeBytes)
    const cpu = cpuNow()
    const fromNs = nowNs()
    const messages = this.transact(fromNs + durationNs, sizeBytes)
    const toNs = nowNs()
    const use = cpuSince(cpu, toNs - fromNs)
    const times = this.stopped ? new Float64Array(0) : this.transactTimed(timed, nowNs() + durationNs / 4, sizeBytes)
    this.finish()
    return this.result({ messages, cpu: use, fromNs, toNs, roundTripsNs: times })
  }

  /** Runs transactions until a time; returns their number. The clock is read only now and then. */
  private transact(untilNs: number, sizeBytes: number): number {
    let messages = 0
    const look = looksEvery(sizeBytes)
    for (;;) {
      for (let i = 0; i < look; i++) {
        if (!this.sendAll(sizeBytes) || !this.receiveAll(sizeBytes)) return messages
        messages++
      }
      if (nowNs() >= untilNs || this.isStopped()) return messages
    }
  }

  private transactTimed(most: number, untilNs: number, sizeBytes: number): Float64Array {
    const times = new Float64Array(most)
    let before = nowNs()
    for (let i = 0; i < most; i++) {
      if (!this.sendAll(sizeBytes) || !this.receiveAll(sizeBytes)) return times.slice(0, i)
      const now = nowNs()
      times[i] = now - before
      before = now
      if (now >= untilNs) return times.slice(0, i + 1)
    }
    return times
  }

  private responses(): LoopResult {
    const { sizeBytes, warmupNs, durationNs } = this.request
    const look = looksEvery(sizeBytes)
    let cpu = noCpu
    let use = noCpu
    let began = 0
    let fromNs = 0
    let toNs = 0
    // The server's measurement window coincides with the client's: both begin with the first request.
    for (let i = 0; this.receiveAll(sizeBytes); i++) {
      if (!this.sendAll(sizeBytes)) break
      if (toNs !== 0 || i % look !== 0) continue
      const now = nowNs()
      began ||= now
      if (fromNs === 0 && now - began >= warmupNs) {
        cpu = cpuNow()
        fromNs = now
      } else if (fromNs !== 0 && now - fromNs >= durationNs) {
        use = cpuSince(cpu, now - fromNs)
        toNs = now
      }
    }
    if (fromNs !== 0 && toNs === 0) {
      toNs = nowNs()
      use = cpuSince(cpu, toNs - fromNs)
    }
    this.stream.shutdownWrite()
    return this.result({ messages: 0, cpu: use, fromNs, toNs })
  }

  // --- stream --------------------------------------------------------------------------------------------------------

  private pour(): LoopResult {
    const { sizeBytes, warmupNs, durationNs } = this.request
    this.sendUntil(nowNs() + warmupNs, sizeBytes)
    const cpu = cpuNow()
    const fromNs = nowNs()
    const messages = this.sendUntil(fromNs + durationNs, sizeBytes)
    // Waits until the other end has all of it: what was outstanding at the beginning is outstanding at the end, too.
    this.finish()
    const toNs = nowNs()
    return this.result({ messages, cpu: cpuSince(cpu, toNs - fromNs), fromNs, toNs })
  }

  private sendUntil(untilNs: number, sizeBytes: number): number {
    let messages = 0
    const look = looksEvery(sizeBytes)
    for (;;) {
      for (let i = 0; i < look; i++) {
        if (!this.sendAll(sizeBytes)) return messages
        messages++
      }
      if (nowNs() >= untilNs || this.isStopped()) return messages
    }
  }

  private drain(): LoopResult {
    const { sizeBytes, warmupNs } = this.request
    const { stream } = this
    const room = Math.max(sizeBytes, receiveBytes)
    let cpu = noCpu
    let began = 0
    let fromNs = 0
    for (;;) {
      const n = stream.recv(room)
      if (n > 0) {
        this.bytesReceived += n
        if (this.idle !== 0) this.moved()
        if (fromNs !== 0) continue
        const now = nowNs()
        began ||= now
        if (now - began < warmupNs) continue
        cpu = cpuNow()
        fromNs = now
      } else if (n < 0 || !this.carryOn(false)) break
    }
    const toNs = nowNs()
    this.stream.shutdownWrite()
    return this.result({ messages: 0, cpu: fromNs === 0 ? noCpu : cpuSince(cpu, toNs - fromNs), fromNs, toNs })
  }

  // --- both ----------------------------------------------------------------------------------------------------------

  /** Sends all bytes; returns false when the measurement was stopped. */
  private sendAll(length: number): boolean {
    const { stream } = this
    for (let at = 0; ; ) {
      const n = stream.send(at, length - at)
      at += n
      if (at === length) {
        this.bytesSent += length
        if (this.idle !== 0) this.moved()
        return true
      }
      if (n > 0) this.moved()
      else if (!this.carryOn(true)) return false
    }
  }

  /** Receives all bytes; returns false at the end of the stream, or when the measurement was stopped. */
  private receiveAll(length: number): boolean {
    const { stream } = this
    for (let left = length; ; ) {
      const n = stream.recv(left)
      if (n > 0) {
        this.bytesReceived += n
        if (this.idle !== 0) this.moved()
        left -= n
        if (left === 0) return true
      } else if (n < 0 || !this.carryOn(false)) return false
    }
  }

  private moved(): void {
    this.idle = 0
    this.idleSinceNs = 0
  }

  /** Waits; returns false if the measurement was stopped. */
  private carryOn(sending: boolean): boolean {
    this.stream.wait(sending)
    if ((++this.idle & 63) !== 0) return true
    if (this.isStopped()) return false
    const now = nowNs()
    this.idleSinceNs ||= now
    if (now - this.idleSinceNs > stallNs) throw new Error(`nothing came or went for ${stallNs / 1e9} s`)
    return true
  }

  private isStopped(): boolean {
    this.stopped ||= Atomics.load(this.control, Control.stop) !== 0
    return this.stopped
  }

  /** Ends this direction and waits for the end of the other one. */
  private finish(): void {
    this.stream.shutdownWrite()
    // A client that was stopped may have a response outstanding.
    for (;;) {
      const n = this.stream.recv(receiveBytes)
      if (n > 0) this.bytesReceived += n
      else if (n < 0 || !this.carryOn(false)) return
    }
  }

  private result(
    part: Pick<LoopResult, 'messages' | 'cpu' | 'fromNs' | 'toNs'> & Partial<Pick<LoopResult, 'roundTripsNs'>>,
  ): LoopResult {
    const error = stopText(Atomics.load(this.control, Control.stop))
    return {
      roundTripsNs: new Float64Array(0),
      ...part,
      seconds: (part.toNs - part.fromNs) / 1e9,
      bytesSent: this.bytesSent,
      bytesReceived: this.bytesReceived,
      counters: this.stream.counters(),
      ...(error === undefined ? {} : { error }),
    }
  }
}
