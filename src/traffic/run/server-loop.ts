/** Data loop of a server for one client: it receives requests and sends the flows that they request. */
import { nowNs } from '../../memory/index.ts'
import { type CompletionQueue, type WorkCompletion, wcStatusText, workCompletions } from '../../verbs/index.ts'
import { type TrafficQpType, verbs, verbsOfType } from '../index.ts'
import type { Control } from './control.ts'
import type { Idle } from './idle.ts'
import { batchRequests, requestBytes } from './layout.ts'
import type { Link } from './link.ts'

/** Maximum size of a flow; a larger one is rejected: 1 TiB. */
const mostBytes = 2 ** 40

export interface ServerCounts {
  requests: number
  /** Number of bytes of flows that were requested, or that arrived. */
  bytes: number
  messages: number
}

const words = requestBytes / 4
const doubles = requestBytes / 8

export class ServerLoop {
  readonly #link: Link
  readonly #sendCq: CompletionQueue
  readonly #recvCq: CompletionQueue
  readonly #stride: number
  readonly #control: Control
  readonly #idle: Idle | null
  readonly #wcs: WorkCompletion[] = workCompletions(64)
  readonly counts: ServerCounts = { requests: 0, bytes: 0, messages: 0 }
  /** Protocol error of the client; '' if there is none. */
  error = ''

  constructor(
    link: Link,
    sendCq: CompletionQueue,
    recvCq: CompletionQueue,
    stride: number,
    control: Control,
    idle: Idle | null,
  ) {
    this.#link = link
    this.#sendCq = sendCq
    this.#recvCq = recvCq
    this.#stride = stride
    this.#control = control
    this.#idle = idle
  }

  /** Runs until `control` stops it, or an operation fails. */
  run(): void {
    const idle = this.#idle!
    let stopped = false
    while (this.error === '') {
      if (this.turn(nowNs())) idle.busy()
      // Messages that came before the client reported that it is done have been counted now.
      else if (stopped) break
      // A flow with a rate continues without a completion.
      else if (idle.wait(this.nextNs)) stopped = this.#control.stopped
    }
  }

  /** Does all work that is possible now; false if there was none. */
  turn(now: number): boolean {
    const { channels } = this.#link
    let progress = this.#receive()
    for (let i = 0; i < channels.length; i++) {
      const channel = channels[i]!
      if (channel.flows.waiting > 0 && channel.pump(now)) progress = true
    }
    if (this.#complete()) progress = true
    return progress
  }

  /** Time when the next message of a flow with a rate is due; Infinity if no flow is being sent. */
  get nextNs(): number {
    let next = Number.POSITIVE_INFINITY
    for (const channel of this.#link.channels) next = Math.min(next, channel.nextNs)
    return next
  }

  #receive(): boolean {
    const wcs = this.#wcs
    const n = this.#recvCq.poll(wcs)
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      if (wc.status !== 0) return this.#failed('receive', wc.status)
      const index = wc.wrId % this.#stride
      const slot = (wc.wrId - index) / this.#stride
      if (index === this.#link.controlIndex) {
        this.#requests(slot, wc.byteLen)
        this.#link.controlReceived(slot)
      } else {
        this.counts.messages++
        this.counts.bytes += wc.byteLen
        this.#link.received(index, slot)
      }
    }
    return n > 0
  }

  #requests(slot: number, bytes: number): void {
    const { controlWords, controlDoubles, channels } = this.#link
    const count = bytes / requestBytes
    if (!Number.isInteger(count)) this.error ||= `a message of ${bytes} bytes is no batch of requests`
    for (let i = 0; i < count; i++) {
      const at = slot * batchRequests + i
      const head = controlWords[at * words]!
      const channel = channels[head & 0xffff]
      const verb = (head >>> 16) & 0xff
      const size = controlDoubles[at * doubles + 1]!
      const rate = controlDoubles[at * doubles + 2]!
      if (channel === undefined || !answers(channel.type, verb) || !(size >= 0 && size <= mostBytes) || !(rate >= 0)) {
        this.error ||= `a request that cannot be: channel ${head & 0xffff}, verb ${verb}, ${size} bytes, ${rate} bits/s`
        return
      }
      // The client's depth bounds the number of enqueued flows; a client that exceeds it is rejected.
      if (channel.flows.tail - channel.flows.head > 65536) {
        this.error ||= 'more requests than any depth allows'
        return
      }
      channel.flows.push(Math.floor(size), verb, rate, 0, 0)
      this.counts.requests++
      this.counts.bytes += size
    }
  }

  #complete(): boolean {
    const wcs = this.#wcs
    const n = this.#sendCq.poll(wcs)
    const { channels } = this.#link
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      if (wc.status !== 0) return this.#failed('flow', wc.status)
      const index = wc.wrId % this.#stride
      const channel = channels[index]
      if (channel === undefined) continue
      channel.completed((wc.wrId - index) / this.#stride)
    }
    for (let i = 0; i < channels.length; i++) {
      const { flows } = channels[i]!
      // The end of a flow is not needed here.
      flows.head = flows.next
    }
    return n > 0
  }

  #failed(what: string, status: number): boolean {
    // The client closes its queue pairs when it has all its data.
    if (!this.#control.stopped) this.error ||= `a ${what} ended with status ${status}: ${wcStatusText(status as 0)}`
    return false
  }
}

/** True if a server sends flows by this verb. */
function answers(type: TrafficQpType, verb: number): boolean {
  const name = verbs[verb]
  return name !== undefined && isReply(name) && verbsOfType[type].includes(name)
}

/** True for verbs of the server; READs and atomics are executed by the client. */
export function isReply(verb: (typeof verbs)[number]): boolean {
  return verb === 'send' || verb === 'send_with_imm' || verb === 'write' || verb === 'write_with_imm'
}
