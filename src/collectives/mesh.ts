/** A queue pair to each of the other ranks, with completion queues of its own. */
import { randomFillSync } from 'node:crypto'
import {
  type CompletionChannel,
  type Context,
  connectQp,
  QpState,
  QpType,
  type QueuePair,
  randomPsn,
} from '../index.ts'
import { CollectiveError } from './error.ts'
import { Lane, laneCap } from './lane.ts'
import type { Memory, Region } from './memory.ts'
import type { Device } from './opened.ts'

/** Memory of all slots of a rank, at most, while a slot is longer than the shortest. */
const slotsBytes = 1 << 20
const slotLengths = [8192, 4096, 2048, 1024]

/**
 * What ranks tell each other of themselves, beside a queue pair number and a PSN for each peer: GID (16 bytes), LID (2), mark of the
 * rules (4 from 20 on), where its memory has the proof (8), the proof (8), the key of its memory (4). For each peer also where its
 * boxes are: offset in the memory (8), device address (8).
 */
const headBytes = 44
const entryBytes = 24

export class Mesh {
  /** By rank; null for this one. */
  readonly lanes: (Lane | null)[]
  /** The longest message that goes into a slot, bytes: the same at all ranks. */
  readonly slotBytes: number
  readonly channel: CompletionChannel
  /** Why nothing goes on any more. */
  failure: CollectiveError | null = null
  readonly #rank: number
  readonly #context: Context
  readonly #memory: Memory
  readonly #qps: (QueuePair | null)[]
  readonly #psns: number[]
  readonly #region: Region
  readonly #gidIndex: number
  /** Of the rules that choose algorithms. */
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
    this.slotBytes = slotLengths.find((bytes) => peers * Lane.bytesOf(bytes) <= slotsBytes) ?? slotLengths.at(-1)!
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
    this.#region = memory.region(peers * Lane.bytesOf(this.slotBytes))
    let index = 0
    this.lanes = this.#qps.map((qp, peer) => {
      if (qp === null) return null
      const place = { region: this.#region, offset: index * Lane.bytesOf(this.slotBytes), slotBytes: this.slotBytes }
      index++
      return new Lane(memory, place, { rank: peer, qp })
    })
  }

  /**
   * What the other ranks must know. A random number is left in memory: who finds it there has the same memory. It is overwritten
   * when peers send, which they do after all have connected.
   */
  get address(): Uint8Array {
    const bytes = new Uint8Array(headBytes + this.#qps.length * entryBytes)
    const view = new DataView(bytes.buffer)
    bytes.set(this.#context.queryGid(1, this.#gidIndex))
    view.setUint16(16, this.#context.queryPort(1).lid)
    view.setUint32(20, this.#mark)
    const { bytes: memory } = this.#region
    view.setFloat64(24, memory.byteOffset)
    bytes.set(randomFillSync(memory.subarray(0, 8)), 32)
    view.setUint32(40, this.#region.mr.rkey)
    for (const [i, qp] of this.#qps.entries()) {
      view.setUint32(headBytes + i * entryBytes, qp?.qpNum ?? 0)
      view.setUint32(headBytes + i * entryBytes + 4, this.#psns[i]!)
      const boxes = this.lanes[i]?.boxPlace
      view.setFloat64(headBytes + i * entryBytes + 8, boxes?.at ?? 0)
      view.setFloat64(headBytes + i * entryBytes + 16, boxes?.addr ?? 0)
    }
    return bytes
  }

  /** Connects with what all ranks told, and posts receives. When every rank has done so, anybody may send. */
  connect(addresses: readonly Uint8Array[]): void {
    for (const [peer, qp] of this.#qps.entries()) {
      if (qp === null) continue
      const bytes = addresses[peer]!
      if (bytes.length !== headBytes + this.#qps.length * entryBytes)
        throw new CollectiveError('EMISMATCH', `rank ${peer} is of another version`, peer)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      if (view.getUint32(20) !== this.#mark)
        throw new CollectiveError('EMISMATCH', `rank ${peer} has other rules that choose algorithms (table)`, peer)
      const at = headBytes + this.#rank * entryBytes
      const remote = {
        ...{ gid: bytes.slice(0, 16), lid: view.getUint16(16) },
        ...{ qpn: view.getUint32(at), psn: view.getUint32(at + 4) },
      }
      const boxes = { at: view.getFloat64(at + 8), addr: view.getFloat64(at + 16), rkey: view.getUint32(40) }
      if (this.#finds(view.getFloat64(24), bytes.subarray(32, 40))) this.lanes[peer]!.share(boxes)
      connectQp(qp, { psn: this.#psns[peer]! }, remote, { gidIndex: this.#gidIndex })
      this.lanes[peer]!.postReceives()
    }
  }

  #finds(at: number, proof: Uint8Array): boolean {
    const { u8 } = this.#memory
    return at >= 0 && at + proof.length <= u8.length && proof.every((byte, i) => u8[at + i] === byte)
  }

  /**
   * The first reason counts. From now on this rank's arrays are its own again: who still reads or writes there learns from the queue
   * pair that its call has failed.
   */
  fail(error: CollectiveError): CollectiveError {
    if (this.failure === null) {
      this.failure = error
      // Who closes destroys them.
      if (error.code !== 'ECLOSED')
        for (const qp of this.#qps) if (qp !== null && qp.state !== QpState.Err) qp.modify({ state: QpState.Err })
      this.channel.wake()
    }
    return this.failure
  }
}
