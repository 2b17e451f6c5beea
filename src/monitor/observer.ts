/**
 * Observer of packets, which aggregates them into windows as they come. It follows connections as `verbena trace` does, in bounded memory:
 * the verdict of its analysis on a packet becomes counters, events and keys of the window that contains the packet's time.
 *
 * Windows follow the time stamps of the packets. One that is a little too early counts in the current window; if the clock goes back by
 * more than a second (and a window), the current window ends and another one of that earlier time begins.
 */
import type { CapturedPacket } from '../capture/index.ts'
import {
  Analysis,
  Datagrams,
  Dissection,
  type Flow,
  IcrcState,
  Kind,
  Mark,
  rethOffset,
  type TraceOptions,
  Verdict,
} from '../trace/index.ts'
import { Bth, OpBit, Reth, u16, u32 } from '../wire/index.ts'
import { flowBytes, type MonitorConfig } from './config.ts'
import {
  type CounterName,
  counterIndex,
  counterNames,
  type EventName,
  eventMarks,
  eventNumber,
  markedEvents,
  nakEvents,
} from './events.ts'
import { Cause, FlowState } from './flow-state.ts'
import { flowName, keyWords, Word } from './key.ts'
import { KeyBlock } from './key-block.ts'
import { offerMessage } from './offer.ts'
import { looseKey, trafficClassOf } from './packet-key.ts'
import { timeOf } from './packet-time.ts'
import { addPause } from './pause.ts'
import { RateBlock } from './rate-block.ts'
import { SeenFlows } from './seen-flows.ts'
import { mostSourceQps, Window } from './window.ts'
import type { Witness } from './witness.ts'

/** Options of an observer: a plan, its name, and the consumer of the windows. */
export interface ObserverOptions {
  config: MonitorConfig
  /** Name of the origin in its windows. */
  agent: string
  run: string
  /** Receives each window when it has ended. The observer does not use it any more. */
  onWindow(window: Window): void
  /** UDP ports, as in `verbena trace`. */
  trace?: TraceOptions
  /** Exact counting beside the sketches. */
  witness?: Witness
}

/**
 * Minimum time of a retransmission: a request that is repeated sooner was copied by the network, since no timer of an adapter is as short
 * (4.096 µs × 2^n).
 */
const shortestTimeoutNs = 50_000
/** Maximum length of a packet that is believed: offloads deliver at most 512 KiB (BIG TCP). */
const mostWireBytes = 2 ** 24

const C = counterIndex

/**
 * Observer that aggregates packets into windows. Takes them in the order in which they were captured; the configuration determines the
 * memory.
 */
export class Observer {
  readonly #config: MonitorConfig
  readonly #options: ObserverOptions
  readonly #analysis: Analysis
  readonly #dissection: Dissection
  readonly #datagrams = new Datagrams()
  readonly #follow = (packet: CapturedPacket): void => this.#take(packet, true)
  readonly #passBy = (packet: CapturedPacket): void => this.#take(packet, false)
  readonly #verdict = new Verdict()
  /** Bytes, packets and messages. */
  readonly #packets = new KeyBlock(3)
  readonly #events = new KeyBlock(1)
  /** Key of the current packet. */
  readonly #key = new Int32Array(keyWords)
  readonly #seen: SeenFlows
  readonly #backMost: number
  readonly #rates = new RateBlock()
  /** States of flows that were forgotten, for reuse. */
  readonly #spare: FlowState[] = []
  #window: Window | undefined
  /** Counts for the next window. */
  readonly #early = new Float64Array(counterNames.length)
  /** Number of the present window: flows remember the number, since with a reference to the window they would keep all of its sketches. */
  #number = 0
  #sequence = 0
  #forgotten = 0

  constructor(options: ObserverOptions) {
    const { config } = options
    this.#config = config
    this.#options = options
    const flows = Math.max(16, Math.floor(config.followBytes / 2 / flowBytes))
    const store = {
      count: 0,
      unmeasured: 0,
      add: (ns: number): void => this.#latency(ns),
      summary: () => undefined,
    }
    this.#analysis = new Analysis(undefined, {
      flows: Math.min(32_000, flows),
      latencies: store,
      rings: { bytesLeft: Math.floor(config.followBytes / 2) },
      forget: (flow) => this.#forget(flow),
    })
    this.#dissection = new Dissection(options.trace)
    this.#seen = new SeenFlows(options.witness)
    this.#backMost = Math.max(1, Math.ceil(1000 / config.windowMs))
  }

  /** Returns the number of windows that have ended. */
  get windows(): number {
    return this.#sequence
  }

  packet(packet: CapturedPacket): void {
    this.#datagrams.each(packet, this.#dissection, true, this.#follow)
  }

  /**
   * Counts a packet without following it, for when there are more than can be followed: bytes and packets of its keys, marks and CNPs. Its
   * ICRC is not checked; its meaning in its connection (losses, NAKs, messages, latencies) is not determined, and the connection is
   * followed anew from its next packet on.
   */
  count(packet: CapturedPacket): void {
    this.#datagrams.each(packet, this.#dissection, false, this.#passBy)
  }

  /** Takes a packet that has been dissected. */
  #take(packet: CapturedPacket, follows: boolean): void {
    const window = this.#windowAt(packet)
    const { counters } = window
    const d = this.#dissection
    if (follows) this.#analysis.packet(packet, d, this.#verdict)
    else this.#analysis.passBy(packet, d, this.#verdict)
    const wireBytes = Math.min(packet.originalLength, mostWireBytes)
    if (wireBytes < packet.originalLength) counters[C.oversized]!++
    counters[C.packets]!++
    counters[C.wireBytes]! += wireBytes
    if (d.kind === Kind.Other) {
      const quanta = addPause(packet, window, this.#options.run)
      if (quanta >= 0) counters[quanta === 0 ? C.resumeFrames : C.pauseFrames]!++
      return
    }
    if ((this.#verdict.marks & Mark.Copy) !== 0) {
      counters[C.copies]!++
      return
    }
    counters[C.roce]!++
    counters[C.roceBytes]! += wireBytes
    if (!follows) counters[C.fastPath]!++
    this.#enter(packet, d, window, wireBytes, follows)
  }

  /** Adds packets that the kernel had no room for, and the like: they belong to the current window, or the next one if there is none. */
  add(name: CounterName, count: number): void {
    const counters = this.#window?.counters ?? this.#early
    if (count > 0) counters[C[name]]! += count
  }

  /** Ends the current window if its time is over, even if no packet indicates it. Milliseconds since 1970. */
  tick(nowMs: number): void {
    const index = Math.floor(nowMs / this.#config.windowMs)
    if (this.#window === undefined) this.#window = this.#begin(index)
    else if (index > this.#window.index) {
      this.#end()
      this.#window = this.#begin(index)
    }
  }

  /** Ends the last window. */
  finish(): void {
    this.#end()
  }

  #begin(index: number): Window {
    const window = new Window(this.#config, index)
    const { agent, run } = this.#options
    this.#number = this.#sequence++
    window.parts.push({ agent, run, sequence: this.#number })
    window.counters.set(this.#early)
    this.#early.fill(0)
    return window
  }

  #end(): void {
    const window = this.#window
    if (window === undefined) return
    this.#flushPackets(window)
    this.#flushEvents(window)
    this.#seen.end(window)
    this.#rates.end(window.sketches.rates)
    window.counters[C.forgotten]! += this.#analysis.forgotten - this.#forgotten
    this.#forgotten = this.#analysis.forgotten
    this.#window = undefined
    this.#options.onWindow(window)
  }

  #windowAt(packet: CapturedPacket): Window {
    const current = this.#window
    const { windowMs } = this.#config
    const ms = timeOf(packet)
    if (ms < 0) {
      this.#window ??= this.#begin(0)
      return this.#window
    }
    const index = Math.floor(ms / windowMs)
    if (current === undefined) {
      this.#window = this.#begin(index)
      return this.#window
    }
    if (index <= current.index && index >= current.index - this.#backMost) return current
    this.#end()
    const window = this.#begin(index)
    if (index < current.index) window.counters[C.clockBack]!++
    this.#window = window
    return window
  }

  #enter(packet: CapturedPacket, d: Dissection, window: Window, wireBytes: number, follows: boolean): void {
    const v = this.#verdict
    const { bytes } = packet
    const { counters } = window
    const before = counters[C.messages]!
    if (d.cut) counters[C.cut]!++
    const bad = d.problems !== 0 || d.icrc === IcrcState.Invalid || !d.complete
    const key = this.#key
    const { flow } = v
    const state = flow === undefined ? undefined : this.#stateOf(flow, window)
    if (state === undefined) {
      looseKey(bytes, d, this.#analysis, key)
      if (!bad) this.#seen.add(key, window)
    } else for (let i = 0; i < keyWords; i++) key[i] = state.key[i]!
    const trafficClass = trafficClassOf(bytes, d)
    if ((trafficClass & 3) !== 0) counters[C.ecnCapable]!++
    key[Word.rest]! |= ((trafficClass >> 2) << 16) | (d.complete ? u16(bytes, d.bth + Bth.pkey) : 0)
    if (d.complete) key[Word.destinationQp]! |= d.opcode << 24
    if (!bad) {
      counters[C.payloadBytes]! += d.payloadLength
      if (flow !== undefined && state !== undefined) {
        if (follows) this.#request(flow, state, packet, d, window)
        else this.#lapse(state, packet, d)
      }
    }
    const messages = counters[C.messages]! - before
    if (!this.#count(wireBytes, messages, state)) {
      this.#flushPackets(window)
      this.#count(wireBytes, messages, state)
    }
    const ns = timeOf(packet) < 0 ? -1 : (packet.seconds * 1000 - window.startMs) * 1e6 + packet.nanoseconds
    if (ns >= 0) this.#rates.add(key, wireBytes, ns, window.sketches.rates, state?.rates)
    else counters[C.unplaced]!++
    if (this.#packets.isFull) this.#flushPackets(window)
    if (d.icrc === IcrcState.Invalid) this.#event(window, 'icrc', 1)
    if (d.problems !== 0) this.#event(window, 'malformed', 1)
    if ((v.marks & eventMarks) !== 0) this.#marks(flow, state, d, window)
  }

  #stateOf(flow: Flow, window: Window): FlowState {
    let state = flow.state as FlowState | undefined
    if (state === undefined) {
      state = this.#spare.pop()
      if (state === undefined) state = new FlowState(flow, this.#analysis.addresses)
      else state.renew(flow, this.#analysis.addresses)
      flow.state = state
    } else if (state.srcQp !== flow.srcQp) {
      const { sourceQps } = window
      if (flow.srcQp >= 0 && state.window === this.#number && sourceQps.size < mostSourceQps)
        sourceQps.set(flowName(state.key), flow.srcQp)
      state.learn(flow.srcQp)
    }
    if (state.window !== this.#number) {
      state.window = this.#number
      this.#seen.add(state.key, window)
    }
    return state
  }

  /** Keeps the state of a flow for reuse, without the sketch of its window. */
  #forget({ state }: Flow): void {
    if (state === undefined) return
    ;(state as FlowState).latency = undefined
    this.#spare.push(state as FlowState)
  }

  /** Processes R_Keys and messages. */
  #request(flow: Flow, state: FlowState, packet: CapturedPacket, d: Dissection, window: Window): void {
    const { bits, psn, payloadLength } = d
    const v = this.#verdict
    const key = this.#key
    if ((bits & OpBit.Request) !== 0) {
      this.#region(state, packet, d)
      if ((v.marks & Mark.Retransmission) !== 0) return
      state.resending = false
      if ((bits & (OpBit.First | OpBit.Only)) !== 0) {
        state.messagePsn = psn
        state.messageStartNs = v.timeNs
        state.messageBytes = 0
        state.messagePackets = 0
      }
      state.messageBytes += payloadLength
      state.messagePackets++
      if ((bits & (OpBit.Last | OpBit.Only)) === 0) return
      window.counters[C.messages]!++
      // The data of a READ is known from its responses.
      if ((bits & OpBit.ReadRequest) === 0)
        offerMessage(window, state, state, d.opcode, timeOf(packet), v.timeNs - state.messageStartNs)
      if (this.#analysis.message?.type === 'REQ') window.counters[C.connections]!++
    } else if ((bits & OpBit.ReadResponse) !== 0 && flow.peer !== undefined) {
      const asked = flow.peer.state as FlowState | undefined
      if (asked === undefined) return
      key[Word.rkey] = asked.readKey(flow.peer.readStart)
      if ((bits & (OpBit.First | OpBit.Only)) !== 0) {
        state.messagePsn = psn
        state.messageBytes = 0
        state.messagePackets = 0
      }
      state.messageBytes += payloadLength
      state.messagePackets++
      if ((bits & (OpBit.Last | OpBit.Only)) !== 0 && v.latencyNs >= 0)
        offerMessage(window, asked, state, d.opcode, timeOf(packet), v.latencyNs)
    }
  }

  /** Enters the R_Key of a request. */
  #region(state: FlowState, { bytes }: CapturedPacket, { bits, bth, psn }: Dissection): void {
    if ((bits & (OpBit.Reth | OpBit.AtomicEth)) !== 0) {
      state.rkey = u32(bytes, rethOffset(bits, bth) + Reth.rkey)
      if ((bits & OpBit.ReadRequest) !== 0) state.addRead(psn, state.rkey)
    } else if ((bits & OpBit.Send) !== 0) state.rkey = 0
    this.#key[Word.rkey] = state.rkey
  }

  /** Records that a packet of a flow is not followed: the duration of its message will not be known. */
  #lapse(state: FlowState, packet: CapturedPacket, d: Dissection): void {
    state.messageStartNs = Number.NaN
    state.resending = false
    state.cause = Cause.None
    if ((d.bits & OpBit.Request) !== 0) this.#region(state, packet, d)
  }

  /** Adds the current packet, which may end a message, to the block. Returns false if its key has no room for that. */
  #count(bytes: number, messages: number, state: FlowState | undefined): boolean {
    const block = this.#packets
    const at = block.find(this.#key, state?.place)
    return block.add(0, at, bytes) && block.add(1, at, 1) && (messages === 0 || block.add(2, at, messages))
  }

  #marks(flow: Flow | undefined, state: FlowState | undefined, d: Dissection, window: Window): void {
    const v = this.#verdict
    const { marks } = v
    for (const [mark, event] of markedEvents) if ((marks & mark) !== 0) this.#event(window, event, 1)
    if (v.missing > 0) this.#event(window, 'missing', v.missing)
    if ((marks & Mark.Nak) !== 0) this.#event(window, nakEvents[Math.min(d.syndrome & 31, 5)]!, 1)
    if (flow === undefined || state === undefined) return
    if ((marks & (Mark.Nak | Mark.RnrNak)) !== 0) {
      const asked = flow.peer?.state as FlowState | undefined
      if (asked !== undefined) {
        asked.cause = Cause.Nak
        asked.resending = false
      }
    }
    if ((marks & Mark.Retransmission) === 0 || state.resending) return
    state.resending = true
    if (state.cause === Cause.None && this.#waited(flow, d)) this.#event(window, 'timeout', 1)
    state.cause = Cause.None
  }

  /** True if the requester may have waited for its timer. If no response can be seen, a NAK cannot, either. */
  #waited({ peer, outstanding }: Flow, { psn }: Dissection): boolean {
    if (peer === undefined) return false
    const slot = outstanding.find(psn)
    return slot < 0 || this.#verdict.timeNs - outstanding.timeOf(slot) >= shortestTimeoutNs
  }

  #event(window: Window, event: EventName, amount: number): void {
    window.counters[C[event]]! += amount
    this.#events.add(0, this.#events.find(this.#key, undefined, eventNumber[event]), amount)
    if (this.#events.isFull) this.#flushEvents(window)
  }

  /** Adds a latency that the analysis reports for the current packet. */
  #latency(ns: number): void {
    const window = this.#window
    if (window === undefined) return
    if (!(ns >= 0)) {
      window.counters[C.unmeasured]!++
      return
    }
    const isRead = (this.#dissection.bits & OpBit.ReadResponse) !== 0
    const kind = isRead ? 'read' : 'ack'
    window.sketches[kind].add(ns)
    this.#options.witness?.latency(kind, ns)
    const asked = this.#verdict.flow?.peer?.state as FlowState | undefined
    if (asked === undefined) return
    if (asked.latencyWindow !== this.#number) {
      asked.latencyWindow = this.#number
      asked.latency = window.latencyOf(asked.key)
    }
    asked.latency?.add(ns)
  }

  #flushPackets({ sketches }: Window): void {
    this.#options.witness?.keys('packets', this.#packets)
    this.#packets.into([sketches.bytes, sketches.packets, sketches.messages])
  }

  #flushEvents({ sketches }: Window): void {
    this.#options.witness?.keys('events', this.#events)
    this.#events.into([sketches.events])
  }
}
