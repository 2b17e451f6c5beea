/** Queue pairs to all other ranks, with completion queues of their own. */
import { createHash, randomFillSync } from 'node:crypto'
import {
  type CompletionChannel,
  type Context,
  connectQp,
  QpState,
  QpType,
  type QueuePair,
  randomPsn,
} from '../index.ts'
import type { BoxPlace } from './boxes.ts'
import { CollectiveError } from './error.ts'
import { Lane, laneCap } from './lane.ts'
import { laneBytes, proofAt } from './lane-memory.ts'
import type { Memory, Region } from './memory.ts'
import type { Device } from './opened.ts'

/** Maximum memory of all slots of a rank, unless the slots already have the minimum length. */
const slotsBytes = 1 << 20
const slotLengths = [8192, 4096, 2048, 1024]

/**
 * Address of a rank for the other ranks: GID (16 bytes), LID (2), mark of the rules (4 from 20 on), key of its memory (4); and for
 * each peer a queue pair number (4), a PSN (4), the location of its boxes as offset in the memory (8) and device address (8), and the digest
 * of the lane's proof (16).
 *
 * The proof is a random number beside these boxes. A rank that finds bytes with that digest there in its own memory sends these bytes back;
 * two ranks that have both found the other's proof have common memory. Thus each of them has shown that it reads the other's memory, and a
 * rank reveals a proof only to ranks that had access to it already.
 */
const headBytes = 28
const entryBytes = 40
const digestBytes = 16

/** 268 ms, eight times: a rank that gets no processor for a second or two is no rank that has ended. UCX waits for a second each time. */
const ackTimeout = 16

export class Mesh {
  /** Lanes by rank; null for this rank. */
  readonly lanes: (Lane | null)[]
  /** Maximum bytes of a message in a slot: the same at all ranks. */
  readonly slotBytes: number
  readonly channel: CompletionChannel
  /** Error after which no call is possible. */
  failure: CollectiveError | null = null
  readonly #rank: number
  readonly #context: Context
  readonly #memory: Memory
  readonly #qps: (QueuePair | null)[]
  readonly #psns: number[]
  readonly #region: Region
  readonly #gidIndex: number
  /** Mark of the rules that choose algorithms. */
  readonly #mark: number

  constructor(
    { context, pd, memory, opened }: Device,
    { rank, size, gidIndex, mark }: { rank: number; size: number; gidIndex: number; mark: number },
  ) {
    this.#rank = rank
    this.#context = context
    this.#memory = memory
    this.#gidIndex = gidIndex
    this.#mark = mark
    const peers = size - 1
    this.slotBytes = slotLengths.find((bytes) => peers * laneBytes(bytes) <= slotsBytes) ?? slotLengths.at(-1)!
    this.channel = opened.add(context.createCompChannel())
    const { channel } = this
    const ranks = Array.from({ length: size }, (_, i) => i)
    this.#qps = ranks.map((i) => {
      if (i === rank) return null
      const sendCq = opened.add(context.createCq(laneCap.maxSendWr, { channel, singleThreaded: true }))
      const recvCq = opened.add(context.createCq(laneCap.maxRecvWr, { channel, singleThreaded: true }))
      return opened.add(pd.createQp({ type: QpType.RC, sendCq, recvCq, cap: laneCap }))
    })
    this.#psns = ranks.map(() => randomPsn())
    this.#region = memory.region(peers * laneBytes(this.slotBytes))
    let index = 0
    this.lanes = this.#qps.map((qp, peer) => {
      if (qp === null) return null
      const place = { region: this.#region, offset: index * laneBytes(this.slotBytes), slotBytes: this.slotBytes }
      index++
      const lane = new Lane(memory, place, { rank: peer, qp })
      randomFillSync(lane.proof)
      return lane
    })
  }

  /** Address of this rank for the other ranks. */
  get address(): Uint8Array {
    const bytes = new Uint8Array(headBytes + this.#qps.length * entryBytes)
    const view = new DataView(bytes.buffer)
    bytes.set(this.#context.queryGid(1, this.#gidIndex))
    view.setUint16(16, this.#context.queryPort(1).lid)
    view.setUint32(20, this.#mark)
    view.setUint32(24, this.#region.mr.rkey)
    for (const [i, lane] of this.lanes.entries()) {
      if (lane === null) continue
      const at = headBytes + i * entryBytes
      view.setUint32(at, lane.qp.qpNum)
      view.setUint32(at + 4, this.#psns[i]!)
      view.setFloat64(at + 8, lane.boxPlace.at)
      view.setFloat64(at + 16, lane.boxPlace.addr)
      bytes.set(digestOf(lane.proof), at + 24)
    }
    return bytes
  }

  /** Connects to the addresses of all ranks, and posts receives. */
  connect(addresses: readonly Uint8Array[]): void {
    for (const [peer, qp] of this.#qps.entries()) {
      if (qp === null) continue
      const bytes = addresses[peer]!
      if (bytes.length !== headBytes + this.#qps.length * entryBytes)
        throw new CollectiveError('EMISMATCH', `rank ${peer} is of another version`, peer)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      if (view.getUint32(20) !== this.#mark)
        throw new CollectiveError('EMISMATCH', `rank ${peer} has other rules that choose algorithms (table)`, peer)
      const { qpn, psn } = this.#entryOf(bytes)
      const remote = { gid: bytes.slice(0, 16), lid: view.getUint16(16), qpn, psn }
      connectQp(qp, { psn: this.#psns[peer]! }, remote, { gidIndex: this.#gidIndex, timeout: ackTimeout })
      this.lanes[peer]!.postReceives()
    }
  }

  /** Returns the entry for this rank in a peer's address. */
  #entryOf(bytes: Uint8Array): { qpn: number; psn: number; digest: Uint8Array } & BoxPlace {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const from = headBytes + this.#rank * entryBytes
    return {
      ...{ qpn: view.getUint32(from), psn: view.getUint32(from + 4) },
      ...{ at: view.getFloat64(from + 8), addr: view.getFloat64(from + 16), rkey: view.getUint32(24) },
      digest: bytes.subarray(from + 24, from + entryBytes),
    }
  }

  /** Returns the proofs of the other ranks that are in this rank's memory, by rank; zeros for those that are not. */
  found(addresses: readonly Uint8Array[]): Uint8Array {
    const all = new Uint8Array(addresses.length * digestBytes)
    for (const peer of addresses.keys()) {
      const proof = this.#find(addresses, peer)
      if (proof !== null) all.set(proof, peer * digestBytes)
    }
    return all
  }

  #find(addresses: readonly Uint8Array[], peer: number): Uint8Array | null {
    if (peer === this.#rank) return null
    const { at, digest } = this.#entryOf(addresses[peer]!)
    const proof = proofAt(this.#memory, at)
    return proof !== null && digestOf(proof).equals(digest) ? proof : null
  }

  /** Shares memory with peers, according to what all ranks have `found`. When every rank has done so, any rank may send. */
  share(addresses: readonly Uint8Array[], found: readonly Uint8Array[]): void {
    for (const [peer, lane] of this.lanes.entries()) {
      if (lane === null || this.#find(addresses, peer) === null) continue
      const told = found[peer]!.subarray(this.#rank * digestBytes, (this.#rank + 1) * digestBytes)
      if (Buffer.compare(told, lane.proof) === 0) lane.share(this.#entryOf(addresses[peer]!))
    }
  }

  /**
   * Waits for an event, at most for this time. The event is acknowledged in the same step: closing would wait for an unacknowledged one,
   * for ever.
   */
  async event(waitMs: number): Promise<void> {
    const { channel } = this
    await channel.whenEvent(waitMs)
    if (!channel.closed) channel.tryGetEvent()?.ackEvents(1)
  }

  /**
   * Records the first error, and disconnects. From now on only this rank uses its arrays: the queue pair of a peer that still reads or
   * writes there reports that the peer's call has failed.
   */
  fail(error: CollectiveError): CollectiveError {
    if (this.failure === null) {
      this.failure = error
      // `close` destroys the queue pairs anyway.
      if (error.code !== 'ECLOSED')
        for (const qp of this.#qps) if (qp !== null && isConnected(qp)) qp.modify({ state: QpState.Err })
      this.channel.wake()
    }
    return this.failure
  }
}

/** Returns true if a peer may still use its end of this queue pair: not before it is connected, nor after an error. */
function isConnected(qp: QueuePair): boolean {
  return qp.state !== QpState.Reset && qp.state !== QpState.Err
}

function digestOf(proof: Uint8Array): Buffer {
  return createHash('sha256').update(proof).digest().subarray(0, digestBytes)
}
