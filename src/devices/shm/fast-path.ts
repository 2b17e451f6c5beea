/**
 * The usual message, executed in one function: a SEND or WRITE, with or without immediate, of one scatter/gather
 * element, from an empty send queue of a connected QP to a peer that is ready. Everything else goes through the send
 * queue and the executor.
 *
 * It is fast because it caches locations (the peer's rings, its CQ, the regions of the last keys) for as long as the
 * segment's epoch is the same, and because it takes hardly any lock:
 *
 * - The send queue belongs to the thread that posted first (`Qp.bias`); posting by another thread ends that, until
 *   one thread alone has posted for a while.
 * - The peer's receive queue has one sender, this one. All other threads that touch it have changed a state first and waited for
 *   a grace period. So its lock is taken only where entering an operation needs the barrier; see memory/segment.ts.
 * - The same holds for the CQ while that QP's receive side is its only producer.
 *
 * Fields are plain and the function is long on purpose: each call and each private name costs about a nanosecond here.
 */
import { processorOrders } from '../../memory/index.ts'
import {
  Access,
  type FastPath,
  type Host,
  layout,
  Opcode,
  QpState,
  QpType,
  SendFlag,
  type SendWorkRequest,
  WcFlag,
  WcOpcode,
  WcStatus,
} from '../../verbs/provider/index.ts'
import type { Executor } from './executor.ts'

const { Cq, Cqe, Key, Qp, Rwqe, Sg } = layout

/** Result of the last look-up of a key: addresses from `low` to `high` are at `delta` from the segment's. */
class CachedRange {
  key = 0
  low = 0
  high = 0
  delta = 0
}

/** Status, opcode and flags of the receiver's completion, for each send opcode that makes one. */
const recvWhat = new Int32Array(4)
recvWhat[Opcode.Send] = layout.packWhat(WcStatus.Success, WcOpcode.Recv, 0)
recvWhat[Opcode.SendWithImm] = layout.packWhat(WcStatus.Success, WcOpcode.Recv, WcFlag.WithImm)
recvWhat[Opcode.WriteWithImm] = layout.packWhat(WcStatus.Success, WcOpcode.RecvRdmaWithImm, WcFlag.WithImm)

/** Shift from the flag of a request to that of its completion, `layout.solicitedFlag`. */
const solicitedShift = 22

/** Flags that change nothing here: every request is finished before the next, so a fence has nothing to wait for. */
const usualFlags = SendFlag.Signaled | SendFlag.Solicited | SendFlag.Inline | SendFlag.Fence

/** Number of requests that go through the queue before one checks whether that is still needed. */
const unusualRequests = 16

export class ShmFastPath implements FastPath {
  private readonly host: Host
  private readonly parking: Host['segment']['parking']
  private readonly executor: Executor
  private readonly i32: Int32Array
  private readonly f64: Float64Array
  private readonly copy: (dst: number, src: number, length: number) => void
  private readonly copyOrdered: (dst: number, src: number, length: number) => void
  private readonly q: number
  private readonly me: number
  private readonly lockValue: number
  private readonly operation: number
  private readonly epochWord: number
  /** Epoch for which the following is true; 0 before the first look. */
  private epoch = 0
  /**
   * Epoch for which this QP was found unsuitable for the fast path, and number of requests until the next check: its peer may become
   * ready.
   */
  private unusualEpoch = 0
  private unusualFor = 0
  private peerLock: number
  /** True if no lock is needed on the peer's receive queue. */
  private free = false
  /** True if nothing at all has to be locked or woken. */
  private plain = false
  private d = 0
  private ring = 0
  private mask = 0
  private stride = 0
  private rqHeadSeen = 0
  private peerNumber = 0
  private peerSlot = 0
  /** Prefetch, only written: the first word of the next receive, read early so that its line is in this core's cache in time. */
  ahead = 0
  /** Flag: the request that was just executed found the send CQ full. */
  private overran = false
  /** Number of requests that went through the queue since another thread used it. */
  private alone = 0
  private canWrite = false
  private cq = 0
  private cqRing = 0
  private cqMask = 0
  private cqSize = 0
  private cqAlone = false
  private cqChannel = false
  /** Flag: a completion may wake a thread; only after the operation, since that thread may be scheduled in place of this one at once. */
  private wakes = false
  private sendCq = 0
  private sigAll = false
  private maxSendWr = 0
  private maxInline = 0
  private readonly sizeBytes: number
  private readonly heapStart: number
  private readonly source: CachedRange = new CachedRange()
  private readonly target: CachedRange = new CachedRange()
  private readonly remote: CachedRange = new CachedRange()

  constructor(host: Host, executor: Executor, q: number) {
    this.host = host
    this.parking = host.segment.parking
    this.executor = executor
    this.i32 = host.i32
    this.f64 = host.f64
    this.q = q
    this.lockValue = host.segment.lockValue
    this.me = host.segment.me
    this.copy = host.segment.copy
    this.copyOrdered = host.segment.copyOrdered
    this.operation = host.segment.operationWord
    this.epochWord = host.segment.epochWord
    this.sizeBytes = host.segment.sizeBytes
    this.heapStart = host.segment.heapStart
    this.peerLock = q + Qp.rqLock
  }

  post(wr: SendWorkRequest): boolean {
    const { i32, q } = this
    const { opcode } = wr
    const flags = wr.sendFlags
    if (typeof flags !== 'number' || (flags & ~usualFlags) !== 0 || i32[this.epochWord] !== this.epoch) return false
    const list = wr.sgList
    if (!Array.isArray(list) || list.length !== 1 || list[0] == null) return false
    const sge = list[0]
    // Nothing may be thrown in the middle: a field of another type is for the queue to reject.
    if (
      typeof sge.addr !== 'number' ||
      typeof sge.lkey !== 'number' ||
      ((flags !== 0 || this.sigAll) && typeof wr.wrId !== 'number') ||
      (opcode !== Opcode.Send && typeof wr.immData !== 'number')
    )
      return false
    const { length } = sge
    const head = i32[q + Qp.sqHead]!
    if (((head - i32[q + Qp.sqTail]!) | 0) >= this.maxSendWr || length <= 0 || (length | 0) !== length) return false
    if (this.plain && (opcode === Opcode.Send || opcode === Opcode.SendWithImm) && (flags & SendFlag.Inline) === 0)
      return this.send(wr, opcode, flags, sge, length, head)
    if (
      (opcode !== Opcode.Send &&
        opcode !== Opcode.SendWithImm &&
        opcode !== Opcode.Write &&
        opcode !== Opcode.WriteWithImm) ||
      (opcode <= Opcode.WriteWithImm && (typeof wr.remoteAddr !== 'number' || typeof wr.rkey !== 'number'))
    )
      return false
    if (this.wakes) this.parking.deferWakes()
    this.mark()
    const done =
      (this.free || Atomics.compareExchange(i32, this.peerLock, 0, this.lockValue) === 0) &&
      this.locked(wr, opcode, flags, sge, length, head)
    this.mark()
    this.settle()
    return done
  }

  /** Executes a SEND for which nothing has to be locked: what `locked` does, with all checks in one place. */
  private send(
    wr: SendWorkRequest,
    opcode: number,
    flags: number,
    sge: { addr: number; length: number; lkey: number },
    length: number,
    head: number,
  ): boolean {
    const { i32, f64, q, d, cq, operation, source, target } = this
    const operations = i32[operation]!
    i32[operation] = (operations + 1) | 0
    const tail = i32[d + Qp.rqTail]!
    const r = this.ring + (tail & this.mask) * this.stride
    const produced = i32[cq + Cq.head]!
    const e = this.cqRing + (produced & this.cqMask) * Cqe.words
    // The poller has the line of the completion: it is on its way here while the request is checked (95 ns one way, 90 with this).
    if (i32[this.epochWord] === this.epoch) i32[e + Cqe.claim] = produced
    const from = sge.addr
    const to = f64[(r + Rwqe.data) >> 1]!
    if (
      i32[this.epochWord] !== this.epoch ||
      i32[q + Qp.sqNext] !== head ||
      (sge.lkey | 0) !== source.key ||
      !(from >= source.low && from + length <= source.high) ||
      ((this.rqHeadSeen - tail) | 0) <= 0 ||
      i32[r + Rwqe.sges] !== 1 ||
      i32[r + Rwqe.data + Sg.length]! < length ||
      i32[r + Rwqe.data + Sg.lkey] !== target.key ||
      !(to >= target.low && to + length <= target.high) ||
      ((produced - i32[cq + Cq.tailSeen]!) | 0) >= this.cqSize
    ) {
      if (this.wakes) this.parking.deferWakes()
      const done = this.locked(wr, opcode, flags, sge, length, head)
      i32[operation] = (operations + 2) | 0
      this.settle()
      return done
    }
    const t = to + target.delta
    const f = from + source.delta
    if (length === 8 && ((t | f) & 3) === 0) {
      const a = t >> 2
      const b = f >> 2
      i32[a] = i32[b]!
      i32[a + 1] = i32[b + 1]!
    } else this.copy(t, f, length)
    i32[e + Cqe.what] = recvWhat[opcode]!
    f64[(e + Cqe.wrId) >> 1] = f64[(r + Rwqe.wrId) >> 1]!
    i32[e + Cqe.byteLen] = length
    i32[e + Cqe.immData] = opcode === Opcode.Send ? 0 : wr.immData
    i32[e + Cqe.qpNum] = this.peerNumber
    i32[e + Cqe.qpSlot] = this.peerSlot
    i32[e + Cqe.srcQpOrReleases] = 0
    // The receive's slot is free before its completion shows, so that a program that polls can post again at once.
    i32[d + Qp.rqTail] = (tail + 1) | 0
    i32[e + Cqe.rqTail] = (tail + 1) | 0
    const next = (produced + 1) | 0
    i32[e + Cqe.sequence] = next
    i32[cq + Cq.head] = next
    if (this.wakes) this.parking.deferWakes()
    this.finish(wr, flags, head, WcOpcode.Send)
    i32[operation] = (operations + 2) | 0
    this.ahead = i32[this.ring + ((tail + 1) & this.mask) * this.stride]!
    this.settle()
    return true
  }

  /** Enters or leaves the operation. */
  private mark(): void {
    const { i32, operation } = this
    if (processorOrders) i32[operation] = (i32[operation]! + 1) | 0
    else Atomics.add(i32, operation, 1)
  }

  /** Executes the request with the peer's receive lock, where it is needed, held on entry; the lock is released here. */
  private locked(
    wr: SendWorkRequest,
    opcode: number,
    flags: number,
    sge: { addr: number; length: number; lkey: number },
    length: number,
    head: number,
  ): boolean {
    const { i32, f64, q, d, source } = this
    const epoch = this.epoch
    // Only now is it certain that the cache is valid: after entering, and a full barrier where one is needed.
    if (this.host.segment.observe(this.epochWord) !== epoch || i32[q + Qp.sqNext] !== head) return this.giveUp()
    let from = sge.addr
    if ((flags & SendFlag.Inline) !== 0) {
      if (length > this.maxInline || !(from >= this.heapStart && from + length <= this.sizeBytes)) return this.giveUp()
    } else {
      if ((sge.lkey | 0) !== source.key || !(from >= source.low && from + length <= source.high)) {
        if (!this.find(source, sge.lkey | 0, i32[q + Qp.pd]!, 0, -1, from, length)) return this.giveUp()
      }
      from += source.delta
    }

    let to = 0
    if (opcode <= Opcode.WriteWithImm) {
      const { remote } = this
      to = wr.remoteAddr
      if (!this.canWrite) return this.giveUp()
      if ((wr.rkey | 0) !== remote.key || !(to >= remote.low && to + length <= remote.high)) {
        if (!this.find(remote, wr.rkey | 0, i32[d + Qp.pd]!, Access.RemoteWrite, this.host.qpSlot(d), to, length))
          return this.giveUp()
      }
      to += remote.delta
      if (opcode === Opcode.Write) {
        this.copyOrdered(to, from, length)
        this.unlock()
        this.finish(wr, flags, head, WcOpcode.Write)
        return true
      }
    }

    const tail = i32[d + Qp.rqTail]!
    // The receiver writes the line of `rqHead` with every receive, and that of each receive in its ring.
    if (((this.rqHeadSeen - tail) | 0) <= 0) {
      this.rqHeadSeen = Atomics.load(i32, d + Qp.rqHead)
      if (tail === this.rqHeadSeen) return this.giveUp()
    }
    const r = this.ring + (tail & this.mask) * this.stride
    if (opcode >= Opcode.Send) {
      const { target } = this
      if (i32[r + Rwqe.sges] !== 1 || i32[r + Rwqe.data + Sg.length]! < length) return this.giveUp()
      to = f64[(r + Rwqe.data) >> 1]!
      const lkey = i32[r + Rwqe.data + Sg.lkey]!
      if (lkey !== target.key || !(to >= target.low && to + length <= target.high)) {
        if (!this.find(target, lkey, i32[d + Qp.pd]!, Access.LocalWrite, -1, to, length)) return this.giveUp()
      }
      to += target.delta
    }

    const { cq } = this
    if (!this.cqAlone) {
      // Other producers would wait for the copy.
      if (opcode < Opcode.Send) this.copyOrdered(to, from, length)
      this.host.segment.lock(cq + Cq.lock)
    }
    if (i32[cq + Cq.ring] !== this.cqRing) {
      // Resized since: its producers had to look again, and this one came before it could notice.
      if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock)
      return this.giveUp()
    }
    const produced = i32[cq + Cq.head]!
    const e = this.cqRing + (produced & this.cqMask) * Cqe.words
    if (!this.cqAlone && i32[e + Cqe.sequence] === ((produced + 1) | 0)) {
      // The lock is from a producer that was killed after it had published its completion.
      this.host.countPublished(cq)
      this.host.segment.unlock(cq + Cq.lock)
      return this.giveUp()
    }
    if (((produced - i32[cq + Cq.tailSeen]!) | 0) >= this.cqSize) {
      const seen = Atomics.load(i32, cq + Cq.tail)
      i32[cq + Cq.tailSeen] = seen
      if (((produced - seen) | 0) >= this.cqSize) {
        if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock)
        return this.giveUp()
      }
    }
    if (opcode < Opcode.Send) {
      if (this.cqAlone) this.copyOrdered(to, from, length)
    } else if (length === 8 && ((to | from) & 3) === 0) {
      const t = to >> 2
      const f = from >> 2
      i32[t] = i32[f]!
      i32[t + 1] = i32[f + 1]!
    } else this.copy(to, from, length)
    i32[e + Cqe.what] = recvWhat[opcode]! | ((flags & SendFlag.Solicited) << solicitedShift)
    f64[(e + Cqe.wrId) >> 1] = f64[(r + Rwqe.wrId) >> 1]!
    i32[e + Cqe.byteLen] = length
    i32[e + Cqe.immData] = opcode === Opcode.Send ? 0 : wr.immData
    i32[e + Cqe.qpNum] = this.peerNumber
    i32[e + Cqe.qpSlot] = this.peerSlot
    i32[e + Cqe.srcQpOrReleases] = 0
    // The receive's slot is free before its completion shows, so that a program that polls can post again at once; and after it was read.
    if (processorOrders) i32[d + Qp.rqTail] = (tail + 1) | 0
    else Atomics.store(i32, d + Qp.rqTail, (tail + 1) | 0)
    i32[e + Cqe.rqTail] = (tail + 1) | 0
    const next = (produced + 1) | 0
    // With a channel a full barrier must lie between publishing the completion and looking whether the CQ is armed.
    if (processorOrders && !this.cqChannel) i32[e + Cqe.sequence] = next
    else Atomics.store(i32, e + Cqe.sequence, next)
    i32[cq + Cq.head] = next
    if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock)
    this.unlock()
    if (this.cqChannel) this.host.fireIfArmed(cq, (flags & SendFlag.Solicited) !== 0)
    this.finish(wr, flags, head, opcode >= Opcode.Send ? WcOpcode.Send : WcOpcode.Write)
    this.ahead = i32[this.ring + ((tail + 1) & this.mask) * this.stride]!
    return true
  }

  private unlock(): void {
    if (this.free) return
    if (processorOrders) this.i32[this.peerLock] = 0
    else Atomics.store(this.i32, this.peerLock, 0)
  }

  private giveUp(): boolean {
    this.unlock()
    return false
  }

  /** Finishes the request: its slot in the send queue, and its completion if it is signaled. */
  private finish(wr: SendWorkRequest, flags: number, head: number, opcode: number): void {
    const { i32, q } = this
    const after = (head + 1) | 0
    i32[q + Qp.sqHead] = after
    i32[q + Qp.sqNext] = after
    if ((flags & SendFlag.Signaled) === 0 && !this.sigAll) return
    if (!this.host.complete(this.sendCq, wr.wrId, WcStatus.Success, opcode, 0, 0, 0, q, after, false))
      this.overran = true
  }

  /** Does the work that comes after the operation, and without a lock. */
  private settle(): void {
    if (this.wakes) this.parking.wakeDeferred()
    if (this.overran) this.flushOverrun()
  }

  /** Ends the QP since the send CQ was full, as after `Host.completeSend`. */
  private flushOverrun(): void {
    this.overran = false
    this.executor.overran(this.q)
  }

  /** Looks a key up and caches its range if it permits this access; as `Host.resolve` does. */
  private find(
    known: CachedRange,
    key: number,
    pd: number,
    access: number,
    qp: number,
    addr: number,
    length: number,
  ): boolean {
    const at = this.host.resolve(key, pd, addr, length, access, qp)
    if (at < 0) return false
    const entry = this.host.findKey(key)
    const { f64 } = this
    known.key = key
    known.low = f64[(entry + Key.iova) >> 1]!
    known.high = known.low + f64[(entry + Key.length) >> 1]!
    known.delta = at - addr
    return true
  }

  prepare(): void {
    const { i32, q, host } = this
    const epoch = Atomics.load(i32, this.epochWord)
    // After other threads have used the queue, it belongs to this one again when it alone has posted for a while.
    const regained = i32[q + Qp.bias] === -1 && ++this.alone >= 256
    if (regained) {
      this.alone = 0
      i32[q + Qp.bias] = this.me
    } else if (epoch === this.epoch || (epoch === this.unusualEpoch && --this.unusualFor > 0)) return
    this.epoch = 0
    // Until something is cached, no request fits: an epoch that has wrapped to 0 does not indicate a valid cache.
    this.maxSendWr = 0
    if (!this.refreshCache()) {
      this.unusualEpoch = epoch
      this.unusualFor = unusualRequests
      return
    }
    for (const known of [this.source, this.target, this.remote]) {
      known.key = 0
      known.low = 0
      known.high = -1
    }
    if (i32[q + Qp.bias] === 0) i32[q + Qp.bias] = host.segment.me
    this.epoch = epoch
  }

  private refreshCache(): boolean {
    const { i32, q, host } = this
    const type = i32[q + Qp.type]
    const bias = i32[q + Qp.bias]!
    if ((type !== QpType.RC && type !== QpType.UC) || i32[q + Qp.engine] !== 0 || i32[q + Qp.state] !== QpState.Rts)
      return false
    if ((bias !== 0 && bias !== this.me) || i32[q + Qp.sqNext] !== i32[q + Qp.sqHead]) return false
    const d = this.executor.peer(q)
    if (d < 0 || i32[d + Qp.srq]! >= 0) return false
    const cq = host.cqWord(i32[d + Qp.recvCq]!)
    if (i32[cq + Cq.state] !== layout.cqState.live) return false
    this.d = d
    this.peerLock = d + Qp.rqLock
    this.free = host.segment.entersFreely()
    this.peerNumber = i32[d + Qp.number]!
    this.peerSlot = host.qpSlot(d)
    this.rqHeadSeen = i32[d + Qp.rqTail]!
    this.ring = i32[d + Qp.rqRing]!
    this.mask = i32[d + Qp.rqMask]!
    this.stride = i32[d + Qp.rqStride]!
    this.canWrite = (i32[d + Qp.accessFlags]! & Access.RemoteWrite) !== 0
    this.cq = cq
    this.cqRing = i32[cq + Cq.ring]!
    this.cqMask = i32[cq + Cq.mask]!
    this.cqSize = i32[cq + Cq.cqe]!
    // If the producer before this one was killed after it had published its completion, `locked` counts that.
    this.cqAlone =
      i32[cq + Cq.producers] === 1 && i32[cq + Cq.resizing] === 0 && i32[cq + Cq.crowded] === 0 && !host.isUncounted(cq)
    this.cqChannel = i32[cq + Cq.channel]! >= 0
    this.plain = this.free && this.cqAlone && !this.cqChannel
    this.sendCq = host.cqWord(i32[q + Qp.sendCq]!)
    this.wakes = this.cqChannel || i32[this.sendCq + Cq.channel]! >= 0
    this.sigAll = i32[q + Qp.sqSigAll] === 1
    this.maxSendWr = i32[q + Qp.maxSendWr]!
    this.maxInline = i32[q + Qp.maxInlineData]!
    return true
  }
}
