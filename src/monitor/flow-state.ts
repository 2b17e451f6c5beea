/** State that the monitor keeps with a flow, besides that of the analysis. */
import type { DDSketch } from '../sketch/index.ts'
import type { Flow } from '../trace/index.ts'
import { type AddressSource, keyWords, putAddress, unknownQp, Word } from './key.ts'
import { KeyPlace } from './key-block.ts'
import { RateKeys } from './rate-block.ts'

/** Number of READs of which the R_Key is remembered until their responses come. */
const reads = 16

/** Reasons for retransmissions. */
export const Cause = { None: 0, Nak: 1 } as const

export class FlowState {
  /** Key of its packets, but for the fields that differ from packet to packet. */
  readonly key: Int32Array = new Int32Array(keyWords)
  srcQp: number
  /** Number of the last window that had a packet of the flow. */
  window = -1
  /** Number of the window in which its latencies go to `latency`. */
  latencyWindow = -1
  latency: DDSketch | undefined
  readonly rates: RateKeys = new RateKeys()
  readonly place: KeyPlace = new KeyPlace()
  /** Reason that the responder has given since the last retransmissions. */
  cause: number = Cause.None
  /** Flag: it is retransmitting. */
  resending = false
  /** R_Key of the request in progress. */
  rkey = 0
  messagePsn = 0
  messageStartNs = 0
  messageBytes = 0
  messagePackets = 0
  readonly #readPsn = new Int32Array(reads).fill(-1)
  readonly #readKey = new Int32Array(reads)
  #reads = 0

  constructor(flow: Flow, addresses: AddressSource) {
    this.srcQp = flow.srcQp
    this.#name(flow, addresses)
  }

  /** Resets the state for another flow. */
  renew(flow: Flow, addresses: AddressSource): void {
    this.srcQp = flow.srcQp
    this.#name(flow, addresses)
    this.window = this.latencyWindow = -1
    this.latency = undefined
    this.rates.isKnown = false
    this.place.epoch = -1
    this.cause = Cause.None
    this.resending = false
    this.rkey = this.messagePsn = this.messageStartNs = this.messageBytes = this.messagePackets = 0
    this.#readPsn.fill(-1)
  }

  #name(flow: Flow, addresses: AddressSource): void {
    this.key.fill(0)
    const kind = putAddress(addresses, flow.source, this.key, Word.source)
    putAddress(addresses, flow.destination, this.key, Word.destination)
    this.key[Word.sourceQp] = (flow.service << 24) | (flow.srcQp < 0 ? unknownQp : flow.srcQp)
    this.key[Word.destinationQp] = flow.destQp
    this.key[Word.rest] = kind << 30
  }

  /** Enters the source QP after it was found out. */
  learn(srcQp: number): void {
    this.srcQp = srcQp
    this.key[Word.sourceQp] = (this.key[Word.sourceQp]! & (0xff << 24)) | (srcQp < 0 ? unknownQp : srcQp)
  }

  addRead(psn: number, rkey: number): void {
    const at = this.#reads++ & (reads - 1)
    this.#readPsn[at] = psn
    this.#readKey[at] = rkey
  }

  /** Returns the R_Key of the READ that began at `psn`; 0 if it is not remembered. */
  readKey(psn: number): number {
    for (let i = 0; i < reads; i++) if (this.#readPsn[i] === psn) return this.#readKey[i]!
    return 0
  }
}
