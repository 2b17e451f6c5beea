/**
 * Broadcasts by multicast, and what repairs them. The root sends each chunk once, by a UD SEND whose immediate is the chunk's number among
 * all of the communicator; what the network or a full receive queue drops is asked for, and comes on the lane (RC).
 *
 *     root                                     each other rank
 *     multicasts a window of chunks      →     copies what comes to its place
 *                                        ←     report: the chunks that it lacks (NAK), when the last has come or it was asked, before it sleeps
 *     each of these, in their order      →     (lane)
 *                                        ←     report: none is missing; then the next window
 *     Query: what is missing?            →     (lane) once for each window, after a millisecond: the last chunks may be lost, too
 *
 * Each rank reports at most twice for a window, and takes all that it has asked for, also what arrived meanwhile:
 * when a call is over, none of its messages is left but Queries, which the lane keeps to itself. Chunks of later windows and calls come
 * early where others are ahead: they wait in the receive queue, or in their slots of the pool once they are taken from it. Of the pool's
 * two windows one is left to the present window. The root's memory is what chunks are repaired from.
 */
import { randomInt } from 'node:crypto'
import {
  type CompletionQueue,
  type Context,
  connectQp,
  multicastQpn,
  Opcode,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  randomPsn,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../index.ts'
import { CollectiveError } from './error.ts'
import type { Lane } from './lane.ts'
import { emptyRange, type Memory, point, type Range, type Region } from './memory.ts'
import type { Mesh } from './mesh.ts'
import { Kind } from './message.ts'
import { multicastGroup, multicastLid, whyNoMulticast } from './multicast-group.ts'
import type { Device, Opened } from './opened.ts'

/** Chunks that are sent before all ranks have reported: as many as a report has bits. */
const windowChunks = 32
const poolChunks: number = 2 * windowChunks
/** Before the data of a datagram, where its global route header may be. */
const grhBytes = 40
/** First chunk and missing ones of the window, and the bytes of the whole call, as this rank has it. */
const reportBytes = 16
/** A Query is faster than datagrams that are on their way with it: this long after them none is. */
const graceNs = 1e6
/** What ranks tell each other: group, Q_Key, MTU, and why there is no multicast. */
const headBytes = 24

/** A broadcast. */
export interface MulticastCall {
  root: number
  /** Where the data are, or shall be. */
  place: Range
  offset: number
  bytes: number
  tag: number
  /** A peer is in another call; its messages have other lengths. */
  elsewhere: (lane: Lane, theirs: number) => CollectiveError
  lengths: (lane: Lane, theirs: number, ours: number) => CollectiveError
}

export class Multicast {
  /** Chunks that came, and reports: what tells that a call gets further. */
  moves = 0
  readonly #context: Context
  readonly #opened: Opened
  readonly #pd: ProtectionDomain
  readonly #memory: Memory
  readonly #lanes: readonly (Lane | null)[]
  readonly #rank: number
  readonly #gidIndex: number
  readonly #qp: QueuePair<typeof QpType.UD>
  readonly #sendCq: CompletionQueue
  readonly #recvCq: CompletionQueue
  readonly #wcs: WorkCompletion[] = workCompletions(windowChunks)
  readonly #proposed: { group: Uint8Array; qkey: number }
  readonly #report: Range = emptyRange()
  #pool: Region | null = null
  #slotBytes = 0
  readonly #receives: RecvWorkRequest[] = []
  /** Chunks behind the present window, by number modulo `poolChunks`: slot (-1: none) and bytes. */
  readonly #earlySlot = new Int32Array(poolChunks).fill(-1)
  readonly #earlyBytes = new Float64Array(poolChunks)
  readonly #requests: SendWorkRequest[] = []
  #chunkBytes: number

  // --- of the call, and of its window ------------------------------------------------------------------------------

  #call: MulticastCall | null = null
  /** Number of the next call's first chunk, and of the window's first. */
  #next = 0
  #first = 0
  /** The window's first chunk in the call, how many the call has, and how many the window. */
  #from = 0
  #chunks = 0
  #count = 0
  /** Root: the window is with the device; its last chunk has not completed. */
  #sent = false
  #sending = false
  /** When this rank first slept after that, nanoseconds; 0: it has not. */
  #sentNs = 0
  /** Root, by rank: has all of the window; was asked; what it shall get again, a bit for each chunk. */
  readonly #complete: Uint8Array
  readonly #queried: Uint8Array
  readonly #repairs: Uint32Array
  #incomplete = 0
  /** Others: chunks that have not come, and those that will come on the lane. */
  #missing = 0
  #awaited = 0
  #reported = false
  /** Since the Query came: when the last chunk was there, nanoseconds, and `moves` by then. */
  #quietNs = 0
  #movesSeen = -1

  constructor(
    { context, pd, memory, opened }: Device,
    { lanes, slotBytes, channel }: Mesh,
    { rank, gidIndex }: { rank: number; gidIndex: number },
  ) {
    this.#context = context
    this.#opened = opened
    this.#pd = pd
    this.#memory = memory
    this.#lanes = lanes
    this.#rank = rank
    this.#gidIndex = gidIndex
    this.#sendCq = opened.add(context.createCq(windowChunks, { channel }))
    this.#recvCq = opened.add(context.createCq(poolChunks, { channel }))
    const qp = pd.createQp({
      ...{ type: QpType.UD, sendCq: this.#sendCq, recvCq: this.#recvCq },
      cap: { maxSendWr: windowChunks, maxRecvWr: poolChunks, maxSendSge: 1, maxRecvSge: 1 },
    })
    this.#qp = opened.add(qp)
    this.#proposed = { group: multicastGroup(context.queryGid(1, gidIndex)), qkey: randomInt(1, 0x7fffffff) }
    // A chunk that is repaired goes into a slot.
    this.#chunkBytes = Math.min(context.queryPort(1).activeMtu, slotBytes)
    point(this.#report, memory.region(reportBytes), 0, reportBytes)
    this.#complete = new Uint8Array(lanes.length)
    this.#queried = new Uint8Array(lanes.length)
    this.#repairs = new Uint32Array(lanes.length)
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /** What the other ranks must know. */
  get address(): Uint8Array {
    const { group, qkey } = this.#proposed
    const why = Buffer.from(whyNoMulticast(this.#context, this.#gidIndex)).subarray(0, 200)
    const bytes = new Uint8Array(headBytes + why.length)
    const view = new DataView(bytes.buffer)
    bytes.set(group)
    view.setUint32(16, qkey)
    view.setUint32(20, this.#chunkBytes)
    bytes.set(why, headBytes)
    return bytes
  }

  /** Joins the group of rank 0, and posts receives. When every rank has done so, anybody may send. */
  connect(addresses: readonly Uint8Array[]): void {
    for (const [rank, bytes] of addresses.entries()) {
      const why = Buffer.from(bytes.subarray(headBytes)).toString()
      const message = `the rules choose multicast, and the device of rank ${rank} has none: ${why}`
      if (why !== '') throw new CollectiveError('EINVAL', message, rank)
    }
    const views = addresses.map(({ buffer, byteOffset }) => new DataView(buffer, byteOffset))
    this.#chunkBytes = Math.min(...views.map((view) => view.getUint32(20)))
    const qkey = views[0]!.getUint32(16)
    const group = addresses[0]!.slice(0, 16)
    connectQp(this.#qp, { psn: randomPsn() }, null, { gidIndex: this.#gidIndex, qkey })
    this.#qp.attachMcast(group)
    this.#opened.add({ close: () => this.#qp.detachMcast(group) })
    const grh = { dgid: group, sgidIndex: this.#gidIndex, hopLimit: 64 }
    const ah = this.#opened.add(this.#pd.createAh({ dlid: multicastLid, portNum: 1, grh }))
    this.#slotBytes = grhBytes + this.#chunkBytes
    this.#pool = this.#memory.region(poolChunks * this.#slotBytes)
    const { addr, lkey } = this.#pool.mr
    for (let slot = 0; slot < poolChunks; slot++) {
      const sge = { addr: addr + slot * this.#slotBytes, length: this.#slotBytes, lkey }
      const receive = recvWr({ wrId: slot, sgList: [sge] })
      this.#receives.push(receive)
      this.#qp.postRecv(receive)
    }
    for (let i = 0; i < windowChunks; i++)
      this.#requests.push(
        sendWr({
          ...{ opcode: Opcode.SendWithImm, immData: 0, ah, remoteQpn: multicastQpn, remoteQkey: qkey },
          sgList: [{ addr, length: 0, lkey }],
        }),
      )
  }

  // --- calls -------------------------------------------------------------------------------------------------------

  begin(call: MulticastCall): void {
    this.#call = call
    this.#chunks = Math.max(1, Math.ceil(call.bytes / this.#chunkBytes))
    this.#first = this.#next
    this.#next = (this.#next + this.#chunks) >>> 0
    this.#from = 0
    this.#open()
  }

  /** The next window. */
  #open(): void {
    this.#count = Math.min(windowChunks, this.#chunks - this.#from)
    if (this.#call!.root === this.#rank) {
      this.#sent = this.#sending = false
      this.#sentNs = 0
      this.#complete.fill(0)
      this.#queried.fill(0)
      this.#repairs.fill(0)
      this.#incomplete = this.#lanes.length - 1
    } else {
      this.#missing = this.#all
      this.#awaited = 0
      this.#reported = false
      this.#movesSeen = -1
    }
    this.#takeEarly()
  }

  /** Goes on to the next window; false if there is none. */
  #shut(): boolean {
    this.#from += this.#count
    this.#first = (this.#first + this.#count) >>> 0
    this.moves++
    if (this.#from === this.#chunks) return false
    this.#open()
    return true
  }

  /** A bit for each chunk of the window. */
  get #all(): number {
    return 0xffffffff >>> (windowChunks - this.#count)
  }

  /** Bytes of the window's chunk `i`. */
  #lengthOf(i: number): number {
    return Math.min(this.#chunkBytes, this.#call!.bytes - (this.#from + i) * this.#chunkBytes)
  }

  #offsetOf(i: number): number {
    return this.#call!.offset + (this.#from + i) * this.#chunkBytes
  }

  /** Whether a rank waits for reports of a multicast that this rank has not begun. */
  begunBy(lane: Lane): boolean {
    return lane.asked === this.#next
  }

  /** Does what can be done now. True when the call is over. */
  step(): boolean {
    const atRoot = this.#call!.root === this.#rank
    while (atRoot ? this.#stepRoot() : this.#stepOther()) {
      if (this.#shut()) continue
      this.#call = null
      return true
    }
    return false
  }

  /** Makes sure that those live whom this rank waits for. */
  probe(): void {
    for (const lane of this.#awaitedLanes()) lane.probe()
  }

  /** The ranks that this one waits for. */
  get whom(): number[] {
    return this.#awaitedLanes().map(({ rank }) => rank)
  }

  #awaitedLanes(): Lane[] {
    const { root } = this.#call!
    if (root !== this.#rank) return [this.#lanes[root]!]
    return this.#lanes.filter((lane): lane is Lane => lane !== null && this.#complete[lane.rank] === 0)
  }

  /**
   * A look at the time (`now`, nanoseconds): the root asks for the reports that it has not got, and the others answer. Returns after how
   * many milliseconds to come again, if nothing comes.
   */
  urge(now: number): number {
    return this.#call!.root === this.#rank ? this.#query(now) : this.#answer(now)
  }

  /** Before a wait: asks for events of what this call waits for. Else as `urge`. */
  arm(now: number): number {
    const { root } = this.#call!
    this.#recvCq.reqNotify()
    if (root !== this.#rank) {
      const lane = this.#lanes[root]!
      // The last has come.
      if (this.#missing >>> (this.#count - 1) === 0) this.#ask(lane)
      const againMs = this.#answer(now)
      lane.arm()
      return againMs
    }
    if (this.#sending) this.#sendCq.reqNotify()
    const againMs = this.#query(now)
    for (const lane of this.#lanes) {
      if (lane === null) continue
      if (lane.lost !== null) throw lane.lost
      lane.arm()
    }
    return againMs
  }

  // --- the root ----------------------------------------------------------------------------------------------------

  /** True when all have the window. */
  #stepRoot(): boolean {
    // Its own chunks may come back.
    this.#takeDatagrams()
    if (!this.#sent) this.#send()
    if (this.#sending) this.#sending = !this.#completed()
    if (this.#incomplete > 0) for (const lane of this.#lanes) if (lane !== null) this.#serve(lane)
    if (this.#incomplete > 0 || this.#sending) return false
    for (const lane of this.#lanes) if (lane !== null && lane.outstanding > 0) lane.poll()
    return this.#lanes.every((lane) => lane === null || lane.outstanding === 0)
  }

  #send(): void {
    const { place } = this.#call!
    for (let i = 0; i < this.#count; i++) {
      const request = this.#requests[i]!
      const sge = request.sgList[0]!
      sge.addr = place.addr + this.#offsetOf(i)
      sge.lkey = place.lkey
      sge.length = this.#lengthOf(i)
      request.immData = (this.#first + i) >>> 0
      const last = i + 1 === this.#count
      request.sendFlags = last ? SendFlag.Signaled : 0
      request.next = last ? null : this.#requests[i + 1]!
    }
    this.#qp.postSend(this.#requests[0]!)
    this.#sent = this.#sending = true
  }

  #completed(): boolean {
    const n = this.#sendCq.poll(this.#wcs)
    if (n < 0 || (n > 0 && this.#wcs[0]!.status !== WcStatus.Success)) throw this.#broken('a multicast failed')
    return n > 0
  }

  /** Takes what a rank has reported, and sends it what it lacks. */
  #serve(lane: Lane): void {
    const { rank } = lane
    if (this.#complete[rank] === 1) return
    const { tag, elsewhere, lengths } = this.#call!
    while (this.#complete[rank] === 0 && (lane.arrived > 0 || (lane.poll() && lane.arrived > 0))) {
      if (lane.tag !== tag) throw elsewhere(lane, lane.tag)
      const { i32, f64 } = this.#memory
      const { at } = lane
      if (lane.kind !== Kind.Data || lane.bytes !== reportBytes) throw lengths(lane, lane.bytes, this.#call!.bytes)
      const bytes = f64[at / 8 + 1]!
      if (bytes !== this.#call!.bytes || i32[at / 4]! >>> 0 !== this.#first)
        throw lengths(lane, bytes, this.#call!.bytes)
      const missing = i32[at / 4 + 1]! >>> 0
      if ((missing & ~this.#all) !== 0)
        throw new CollectiveError('EPEER', `rank ${rank} lacks chunks that there are not`, rank)
      lane.take()
      this.moves++
      if (missing === 0) {
        this.#complete[rank] = 1
        this.#incomplete--
      } else this.#repairs[rank] = missing
    }
    if (lane.arrived === 0 && lane.readies.count > 0 && this.#complete[rank] === 0)
      throw elsewhere(lane, lane.readies.tag)
    while (this.#repairs[rank] !== 0 && (lane.mayPost || (lane.poll() && lane.mayPost))) this.#repair(lane)
  }

  /** Sends the first chunk that a rank lacks. */
  #repair(lane: Lane): void {
    const { place, tag } = this.#call!
    const missing = this.#repairs[lane.rank]!
    const i = lowest(missing)
    const length = this.#lengthOf(i)
    const kind = length > 0 ? Kind.Data : Kind.Empty
    lane.send(kind, tag, place, this.#offsetOf(i), length)
    this.#repairs[lane.rank] = missing & (missing - 1)
  }

  #query(now: number): number {
    if (this.#sending) return Number.POSITIVE_INFINITY
    if (this.#sentNs === 0) this.#sentNs = now
    if (now - this.#sentNs < graceNs) return graceNs / 1e6
    let againMs = Number.POSITIVE_INFINITY
    for (const lane of this.#lanes) {
      if (lane === null || this.#complete[lane.rank] === 1 || this.#queried[lane.rank] === 1) continue
      if (lane.mayPost) {
        this.#queried[lane.rank] = 1
        lane.query(this.#call!.tag, this.#first)
      } else againMs = graceNs / 1e6
    }
    return againMs
  }

  // --- the others --------------------------------------------------------------------------------------------------

  /** True when this rank has the window, and has said so. */
  #stepOther(): boolean {
    const { root, elsewhere } = this.#call!
    const lane = this.#lanes[root]!
    this.#takeDatagrams()
    lane.poll()
    while (this.#awaited !== 0 && (lane.arrived > 0 || (lane.poll() && lane.arrived > 0))) this.#takeRepair(lane)
    if (this.#awaited === 0 && lane.arrived > 0) throw elsewhere(lane, lane.tag)
    if (this.#missing !== 0 || this.#awaited !== 0 || !(lane.mayPost || (lane.poll() && lane.mayPost))) return false
    this.#tell(lane)
    return true
  }

  /**
   * A Query may overtake datagrams also within this host, where they come from another socket, which another thread may read: chunks
   * are missed when none has come for a while after it.
   */
  #answer(now: number): number {
    const lane = this.#lanes[this.#call!.root]!
    if (lane.asked !== this.#first || this.#missing === 0 || this.#reported) return Number.POSITIVE_INFINITY
    if (this.moves !== this.#movesSeen) {
      this.#movesSeen = this.moves
      this.#quietNs = now
    }
    if (now - this.#quietNs >= graceNs) this.#ask(lane)
    return graceNs / 1e6
  }

  /** Asks the root for what is missing, once. */
  #ask(lane: Lane): void {
    if (this.#missing !== 0 && !this.#reported && lane.mayPost) this.#tell(lane)
  }

  /** Tells the root what is missing. */
  #tell(lane: Lane): void {
    const { i32, f64 } = this.#memory
    const { at } = this.#report
    i32[at / 4] = this.#first
    i32[at / 4 + 1] = this.#missing
    f64[at / 8 + 1] = this.#call!.bytes
    // Copied into the request.
    lane.send(Kind.Data, this.#call!.tag, this.#report, 0, reportBytes)
    this.#reported = true
    this.#awaited = this.#missing
  }

  #takeRepair(lane: Lane): void {
    const { tag, elsewhere, lengths } = this.#call!
    const i = lowest(this.#awaited)
    if (lane.tag !== tag) throw elsewhere(lane, lane.tag)
    if ((lane.kind !== Kind.Data && lane.kind !== Kind.Empty) || lane.bytes !== this.#lengthOf(i))
      throw lengths(lane, lane.bytes, this.#lengthOf(i))
    this.#keep(i, lane.at)
    lane.take()
    this.#awaited = (this.#awaited & (this.#awaited - 1)) >>> 0
  }

  /** Takes all datagrams that have come: chunks of the window that are missing, and those behind it stay in their slots. */
  #takeDatagrams(): void {
    for (;;) {
      const n = this.#recvCq.poll(this.#wcs)
      if (n < 0) throw this.#broken('the completion queue is in error')
      if (n === 0) return
      let free: RecvWorkRequest | null = null
      for (let k = 0; k < n; k++) {
        const { status, wrId, immData, byteLen } = this.#wcs[k]!
        if (status !== WcStatus.Success) throw this.#broken(this.#wcs[k]!.statusText)
        const i = (immData - this.#first) >>> 0
        const bytes = byteLen - grhBytes
        if (this.#keepEarly(wrId, i, bytes)) continue
        this.#takeChunk(wrId, i, bytes)
        const receive = this.#receives[wrId]!
        receive.next = free
        free = receive
      }
      if (free !== null) this.#qp.postRecv(free)
    }
  }

  /** Copies chunk `i` from its slot if the window lacks it. */
  #takeChunk(slot: number, i: number, bytes: number): void {
    const wanted = this.#call!.root === this.#rank ? 0 : this.#count
    if (i < wanted && ((this.#missing >>> i) & 1) === 1 && bytes === this.#lengthOf(i))
      this.#keep(i, this.#pool!.bytes.byteOffset + slot * this.#slotBytes + grhBytes)
  }

  /** A chunk behind the window, counted from its first, stays in its slot. False if it is none, or came before. */
  #keepEarly(slot: number, i: number, bytes: number): boolean {
    const early = (this.#first + i) % poolChunks
    if (i < this.#count || i >= poolChunks || this.#earlySlot[early] !== -1) return false
    this.#earlySlot[early] = slot
    this.#earlyBytes[early] = bytes
    return true
  }

  /** Of the window that begins, takes what came early. */
  #takeEarly(): void {
    for (let i = 0; i < this.#count; i++) {
      const early = (this.#first + i) % poolChunks
      const slot = this.#earlySlot[early]!
      if (slot === -1) continue
      this.#earlySlot[early] = -1
      this.#takeChunk(slot, i, this.#earlyBytes[early]!)
      const receive = this.#receives[slot]!
      receive.next = null
      this.#qp.postRecv(receive)
    }
  }

  /** The window's chunk `i` is at `at`. */
  #keep(i: number, at: number): void {
    const length = this.#lengthOf(i)
    const to = this.#call!.place.at + this.#offsetOf(i)
    if (length > 0) this.#memory.u8.copyWithin(to, at, at + length)
    this.#missing = (this.#missing & ~(1 << i)) >>> 0
    this.moves++
  }

  #broken(why: string): CollectiveError {
    return new CollectiveError('EPEER', `multicast: ${why}`)
  }
}

/** The number of the lowest bit that is set. */
function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
