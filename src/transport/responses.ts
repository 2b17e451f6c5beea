/**
 * READ, atomics, ATOMIC_WRITE and FLUSH at the responder of RC: requests that are answered with a response.
 *
 * Each has an entry in a ring of resources, from its arrival until more have followed than the peer may have outstanding: its
 * response is sent from there, a duplicate is looked up there. Atomics are executed once, and their entry keeps the
 * result; a READ is executed as its response is sent, and again for each duplicate.
 *
 *     resNext ── first whose response is still to be sent │ resTail ── next free entry
 *
 * InfiniBand Architecture volume 1, 9.7.5.1.
 */
import { Access, FlushPlacement, layout, maxMessageBytes } from '../verbs/provider/index.ts'
import {
  Aeth,
  AtomicEth,
  Bth,
  BthFlag,
  Feth,
  get64,
  get64Big,
  headerLength,
  OpBit,
  psnAdd,
  psnDiff,
  put24,
  put32,
  Reth,
  Syndrome,
  u32,
  WireOpcode,
} from '../wire/index.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import { putBth } from './bth.ts'
import { ackSyndrome } from './credits.ts'
import { maxResources, Resource, resourceKind, TransportQp } from './layout.ts'
import type { PacketSink } from './sink.ts'
import type { TransportState } from './state.ts'

const { Key, Qp } = layout

/** Distance of PSNs that stands for all larger ones: a PSN farther behind carries no more information. */
const farBehind = 1 << 22

export class Responses {
  readonly #state: TransportState
  readonly #acks: Acknowledgements
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #u8: Uint8Array

  constructor(state: TransportState, acks: Acknowledgements) {
    this.#state = state
    this.#acks = acks
    this.#i32 = state.i32
    this.#f64 = state.f64
    this.#u8 = state.u8
  }

  /**
   * Executes a request with the expected PSN, unless it is not such a request: returns 0, the syndrome of the resulting NAK, or
   * `dropped`.
   */
  execute(q: number, t: number, op: number, bits: number, at: number, bytes: number, psn: number): number {
    if ((bits & OpBit.ReadRequest) !== 0) return this.#read(q, t, at, psn)
    if ((bits & OpBit.Atomic) !== 0) return this.#atomic(q, t, op, at, psn)
    if ((bits & OpBit.AtomicWrite) !== 0) return this.#atomicWrite(q, t, op, at, bytes, psn)
    if ((bits & OpBit.Flush) !== 0) return this.#flush(q, t, at, psn)
    return this.#acks.invalid(q)
  }

  #read(q: number, t: number, at: number, psn: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    if ((i32[q + Qp.accessFlags]! & Access.RemoteRead) === 0) return this.#acks.invalid(q)
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    const length = u32(u8, extension + Reth.dmaLength)
    if (length > maxMessageBytes) return this.#acks.invalid(q)
    const { buffers, host } = this.#state
    // IBA C9-88: the R_Key of a zero-length READ is not checked.
    if (length > 0 && buffers.resolve(rkey, i32[q + Qp.pd]!, va, length, Access.RemoteRead, host.qpSlot(q)) === -1)
      return this.#acks.notThere(q)
    const count = Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!))
    const resource = this.#newResource(q, t, resourceKind.read, psn, count)
    if (resource < 0) return this.#acks.invalid(q)
    i32[resource + Resource.rkey] = rkey
    f64[(resource + Resource.va) >> 1] = va
    f64[(resource + Resource.length) >> 1] = length
    f64[(resource + Resource.jobVa) >> 1] = va
    f64[(resource + Resource.jobLeft) >> 1] = length
    this.enlist(q, t, resource)
    return 0
  }

  #atomic(q: number, t: number, op: number, at: number, psn: number): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const state = this.#state
    const { b64, buffers, host } = state
    const extension = at + Bth.length
    const va = get64(u8, extension + AtomicEth.va)
    // IBA list-87: the address of an atomic is a multiple of 8.
    if ((i32[q + Qp.accessFlags]! & Access.RemoteAtomic) === 0 || va % 8 !== 0) return this.#acks.invalid(q)
    const rkey = u32(u8, extension + AtomicEth.rkey) | 0
    const to = buffers.resolve(rkey, i32[q + Qp.pd]!, va, 8, Access.RemoteAtomic, host.qpSlot(q))
    if (to === -1) return this.#acks.notThere(q)
    if (to % 8 !== 0) return this.#acks.invalid(q)
    const resource = this.#newResource(q, t, resourceKind.atomic, psn, 1)
    if (resource < 0) return this.#acks.invalid(q)
    const operand = get64Big(u8, extension + AtomicEth.swapAdd)
    const compare = BigInt.asIntN(64, get64Big(u8, extension + AtomicEth.compare))
    if (to < 0) {
      // When the thread that hosts it dies, the QP ends: nothing has to be finished after it.
      const swaps = op === WireOpcode.RcCompareSwap
      if (!buffers.atomicAway(to, swaps, swaps ? compare : operand, operand)) return this.#acks.notThere(q)
      b64[(resource + Resource.va) >> 1] = buffers.found
      this.enlist(q, t, resource)
      return 0
    }
    const target = to / 8
    for (;;) {
      const found = Atomics.load(b64, target)
      const adds = op !== WireOpcode.RcCompareSwap
      const value = adds ? found + operand : found === compare ? operand : found
      b64[(resource + Resource.va) >> 1] = found
      state.beginAtomic(target, value)
      if (Atomics.compareExchange(b64, target, found, value) === found) break
    }
    this.enlist(q, t, resource)
    return 0
  }

  #atomicWrite(q: number, t: number, op: number, at: number, bytes: number, psn: number): number {
    const i32 = this.#i32
    const u8 = this.#u8
    const { b64, buffers, host } = this.#state
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    // IBA A19.4.2: the address of an ATOMIC_WRITE is a multiple of 8.
    const wrong = (i32[q + Qp.accessFlags]! & Access.RemoteWrite) === 0 || va % 8 !== 0 || bytes !== 8
    if (wrong || u32(u8, extension + Reth.dmaLength) !== 8) return this.#acks.invalid(q)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    const to = buffers.resolve(rkey, i32[q + Qp.pd]!, va, 8, Access.RemoteWrite, host.qpSlot(q))
    if (to === -1) return this.#acks.notThere(q)
    if (to % 8 !== 0) return this.#acks.invalid(q)
    const resource = this.#newResource(q, t, resourceKind.plain, psn, 1)
    if (resource < 0) return this.#acks.invalid(q)
    // In memory order, as in the packet; copied first, since a packet is not aligned.
    const from = at + headerLength[op]!
    host.segment.copy((resource + Resource.va) * 4, from, 8)
    if (to >= 0) Atomics.store(b64, to / 8, b64[(resource + Resource.va) >> 1]!)
    else if (!buffers.deliver(q, to, (resource + Resource.va) * 4, 8, false)) return this.#acks.notThere(q)
    this.enlist(q, t, resource)
    return 0
  }

  #flush(q: number, t: number, at: number, psn: number): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const { buffers, host } = this.#state
    const type = u8[at + Bth.length + Feth.type]!
    const extension = at + Bth.length + Feth.length
    const needs =
      ((type & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) |
      ((type & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0)
    // IBA A19.4.1.1: the placement types of a FLUSH: visible to all, or persistent.
    if ((i32[q + Qp.accessFlags]! & needs) !== needs || needs === 0) return this.#acks.invalid(q)
    const rkey = u32(u8, extension + Reth.rkey) | 0
    let va = get64(u8, extension + Reth.va)
    let length = u32(u8, extension + Reth.dmaLength)
    // IBA A19.4.1.2: a FLUSH covers a range, or the whole region.
    if ((type & Feth.selectivityBits) !== 0) {
      const entry = host.findKey(rkey)
      if (entry >= 0) va = f64[(entry + Key.iova) >> 1]!
      length = 0
    }
    // IBA oA19-13: a placement type that the region does not permit is a remote access error.
    if (buffers.resolve(rkey, i32[q + Qp.pd]!, va, length, needs, host.qpSlot(q)) === -1) return this.#acks.notThere(q)
    const resource = this.#newResource(q, t, resourceKind.plain, psn, 1)
    if (resource < 0) return this.#acks.invalid(q)
    // Stores of this thread are visible to all other threads after a full barrier; that is global placement.
    Atomics.add(i32, t + TransportQp.msn, 0)
    this.enlist(q, t, resource)
    return 0
  }

  // --- the ring of resources ---------------------------------------------------------------------------------------

  /** Returns the first word of the entry with this index. */
  #resource(t: number, index: number): number {
    return t + TransportQp.resources + (index & (maxResources - 1)) * Resource.words
  }

  /** Returns the entry that `newResource` returned last. */
  newest(t: number): number {
    return this.#resource(t, this.#i32[t + TransportQp.resTail]!)
  }

  /** Returns an entry for one more request; −1 if the peer has more outstanding than was agreed. */
  #newResource(q: number, t: number, what: number, psn: number, count: number): number {
    const i32 = this.#i32
    const agreed = Math.min(maxResources, i32[q + Qp.maxDestRdAtomic]!)
    while (((i32[t + TransportQp.resTail]! - i32[t + TransportQp.resNext]!) | 0) >= agreed) {
      // The peer sends a further request although the response to a duplicate is still to be sent: so it has that response by now.
      // IBA list-91: a responder that agreed to none rejects READs and atomics.
      if (agreed === 0 || i32[this.#resource(t, i32[t + TransportQp.resNext]!) + Resource.answered] === 0) return -1
      i32[t + TransportQp.resNext] = (i32[t + TransportQp.resNext]! + 1) | 0
    }
    const resource = this.#resource(t, i32[t + TransportQp.resTail]!)
    i32[resource + Resource.operation] = what
    i32[resource + Resource.first] = psn
    i32[resource + Resource.last] = psnAdd(psn, count - 1)
    i32[resource + Resource.next] = psn
    i32[resource + Resource.end] = i32[resource + Resource.last]!
    i32[resource + Resource.begun] = 0
    i32[resource + Resource.answered] = 0
    return resource
  }

  /** Completes an entry: its response is sent in its turn. */
  enlist(q: number, t: number, resource: number): void {
    const i32 = this.#i32
    i32[t + TransportQp.resTail] = (i32[t + TransportQp.resTail]! + 1) | 0
    const epsn = psnAdd(i32[resource + Resource.last]!, 1)
    i32[t + TransportQp.epsn] = epsn
    // Where READs alone follow, the newest SEND or WRITE would fall half of the circle back one day, and seem to be ahead.
    if (psnDiff(epsn, i32[t + TransportQp.plainPsn]!) > farBehind)
      i32[t + TransportQp.plainPsn] = psnAdd(epsn, -farBehind)
    // The response also acknowledges the requests before it.
    this.#acks.policy.settle(t)
    // IBA C9-148: a READ counts in the MSN before its response is sent.
    this.#acks.executed(t)
    this.#state.schedule(q)
  }

  /**
   * Repeats the response to a request that was executed before, or to the rest of one: it is sent again from `psn` on, if it is still
   * known.
   */
  repeat(q: number, t: number, bits: number, at: number, psn: number): void {
    const i32 = this.#i32
    const state = this.#state
    const kept = Math.min(maxResources, i32[q + Qp.maxDestRdAtomic]!)
    for (let back = 1; back <= kept; back++) {
      const index = (i32[t + TransportQp.resTail]! - back) | 0
      const resource = this.#resource(t, index)
      if (i32[resource + Resource.operation] === resourceKind.none) break
      if (psnDiff(psn, i32[resource + Resource.first]!) < 0 || psnDiff(psn, i32[resource + Resource.last]!) > 0)
        continue
      if (!this.#again(q, resource, bits, at, psn)) break
      i32[resource + Resource.next] = psn
      i32[resource + Resource.begun] = 0
      if (((index - i32[t + TransportQp.resNext]!) | 0) < 0) i32[t + TransportQp.resNext] = index
      // Later responses that had been sent are not sent again: they have no rest to send.
      state.schedule(q)
      return
    }
    state.count(state.counters.drops_duplicate_unknown)
  }

  /** True if the duplicate requests (a part of) the entry `resource`; then that part is set to be sent. */
  #again(q: number, resource: number, bits: number, at: number, psn: number): boolean {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const what = i32[resource + Resource.operation]
    if ((bits & OpBit.ReadRequest) === 0) {
      const atomic = (bits & OpBit.Atomic) !== 0
      if (what !== (atomic ? resourceKind.atomic : resourceKind.plain)) return false
      i32[resource + Resource.end] = i32[resource + Resource.last]!
      return true
    }
    if (what !== resourceKind.read) return false
    const extension = at + Bth.length
    const va = get64(u8, extension + Reth.va)
    const length = u32(u8, extension + Reth.dmaLength)
    const low = f64[(resource + Resource.va) >> 1]!
    const high = low + f64[(resource + Resource.length) >> 1]!
    if (
      length > 0 &&
      (va < low || va + length > high || (u32(u8, extension + Reth.rkey) | 0) !== i32[resource + Resource.rkey])
    )
      return false
    // IBA 9.4.4: a READ that is repeated may request a part of its former range.
    const end = psnAdd(psn, Math.max(1, Math.ceil(length / i32[q + Qp.pathMtu]!)) - 1)
    if (psnDiff(end, i32[resource + Resource.last]!) > 0) return false
    i32[resource + Resource.end] = end
    f64[(resource + Resource.jobVa) >> 1] = va
    f64[(resource + Resource.jobLeft) >> 1] = length
    return true
  }

  /** Restarts after the thread that was sending responses was killed: those that were still to be sent are sent from their beginning. */
  restart(t: number): void {
    const i32 = this.#i32
    const f64 = this.#f64
    const tail = i32[t + TransportQp.resTail]!
    for (let back = 1; back <= maxResources; back++) {
      const index = (tail - back) | 0
      const resource = this.#resource(t, index)
      if (i32[resource + Resource.operation] === resourceKind.none) continue
      const last = i32[resource + Resource.last]!
      const due = ((index - i32[t + TransportQp.resNext]!) | 0) >= 0
      i32[resource + Resource.next] = due ? i32[resource + Resource.first]! : psnAdd(last, 1)
      i32[resource + Resource.end] = last
      i32[resource + Resource.begun] = 0
      // The thread may have sent it without recording that: then the peer may send more requests than it could with this one outstanding.
      if (due) i32[resource + Resource.answered] = 1
      if (i32[resource + Resource.operation] !== resourceKind.read) continue
      f64[(resource + Resource.jobVa) >> 1] = f64[(resource + Resource.va) >> 1]!
      f64[(resource + Resource.jobLeft) >> 1] = f64[(resource + Resource.length) >> 1]!
    }
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  /** Sends responses and the NAK that are due, at most `budget` packets; returns their number, −1 if there was no room. */
  send(q: number, sink: PacketSink, budget: number): number {
    const i32 = this.#i32
    const t = this.#state.of(q)
    let sent = 0
    while (i32[t + TransportQp.resNext] !== i32[t + TransportQp.resTail]) {
      const resource = this.#resource(t, i32[t + TransportQp.resNext]!)
      while (psnDiff(i32[resource + Resource.next]!, i32[resource + Resource.end]!) <= 0) {
        if (sent >= budget) return sent
        const bytes = this.#responseBytes(q, resource)
        const from = bytes > 0 ? this.#source(q, resource, bytes) : 0
        if (from === -1) {
          this.#gone(q, t, resource)
          break
        }
        const packets = this.#sendNext(q, t, resource, from, bytes, sink)
        if (packets < 0) return -1
        if (packets === 0) {
          this.#gone(q, t, resource)
          break
        }
        sent++
      }
      i32[resource + Resource.answered] = 1
      i32[t + TransportQp.resNext] = (i32[t + TransportQp.resNext]! + 1) | 0
    }
    if (i32[t + TransportQp.nakDue] === 0 || sent >= budget) return sent
    return this.#acks.sendNakDue(q, t, sink) ? sent + 1 : -1
  }

  /** Returns the bytes of the next response packet for the entry `resource`. */
  #responseBytes(q: number, resource: number): number {
    if (this.#i32[resource + Resource.operation] !== resourceKind.read) return 0
    return Math.min(this.#i32[q + Qp.pathMtu]!, this.#f64[(resource + Resource.jobLeft) >> 1]!)
  }

  /** Returns the location from which the next response to the READ at `resource` is read; −1 if the peer may not read there any more. */
  #source(q: number, resource: number, bytes: number): number {
    const { buffers, host } = this.#state
    const i32 = this.#i32
    const va = this.#f64[(resource + Resource.jobVa) >> 1]!
    return buffers.resolve(
      i32[resource + Resource.rkey]!,
      i32[q + Qp.pd]!,
      va,
      bytes,
      Access.RemoteRead,
      host.qpSlot(q),
    )
  }

  /**
   * Handles a READ whose region was deregistered before its responses were sent. If they had all been sent once, a late duplicate
   * requests them again, and is dropped: the peer may have notified this program that the READ is done. Any other READ ends with a NAK in
   * place of the next response, and the QP with it; if the program has ended, too, without a NAK.
   */
  #gone(q: number, t: number, resource: number): void {
    const i32 = this.#i32
    const psn = i32[resource + Resource.next]!
    i32[resource + Resource.end] = psnAdd(psn, -1)
    if (i32[resource + Resource.answered] === 1) {
      this.#state.count(this.#state.counters.drops_duplicate_unknown)
      return
    }
    i32[t + TransportQp.resNext] = (i32[t + TransportQp.resTail]! - 1) | 0
    if (this.#state.buffers.isGone) {
      this.#acks.gone(q)
      return
    }
    this.#acks.oweNak(t, Syndrome.RemoteAccess, psn)
    this.#acks.forbidden(q)
  }

  /**
   * Sends the next packet for the entry `resource`, with `bytes` at `from`: returns 1, −1 if there was no room, 0 if nothing is there any
   * more.
   */
  #sendNext(q: number, t: number, resource: number, from: number, bytes: number, sink: PacketSink): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const u8 = this.#u8
    const state = this.#state
    const psn = i32[resource + Resource.next]!
    let wire: number = WireOpcode.RcReadResponseOnly
    const what = i32[resource + Resource.operation]
    if (what === resourceKind.atomic) wire = WireOpcode.RcAtomicAck
    else if (what === resourceKind.read) {
      const first = i32[resource + Resource.begun] === 0
      if (f64[(resource + Resource.jobLeft) >> 1]! > bytes)
        wire = first ? WireOpcode.RcReadResponseFirst : WireOpcode.RcReadResponseMiddle
      else if (!first) wire = WireOpcode.RcReadResponseLast
    }
    const header = headerLength[wire]!
    const pad = -bytes & 3
    const at = sink.open(q + Qp.av, header + bytes + pad)
    if (at < 0) return -1
    putBth(u8, at, wire, pad << BthFlag.padShift, i32[q + Qp.destQpNum]!, false, psn)
    if (wire !== WireOpcode.RcReadResponseMiddle) {
      u8[at + Bth.length + Aeth.syndrome] = ackSyndrome(i32, q, t)
      put24(u8, at + Bth.length + Aeth.msn, i32[t + TransportQp.msn]!)
    }
    if (what === resourceKind.atomic) {
      const extension = at + Bth.length + Aeth.length
      put32(u8, extension, i32[resource + Resource.va + 1]!)
      put32(u8, extension + 4, i32[resource + Resource.va]!)
    }
    if (bytes > 0) {
      if (!state.buffers.fetch(at + header, from, bytes, f64[(resource + Resource.jobLeft) >> 1]!)) return 0
      for (let i = 0; i < pad; i++) u8[at + header + bytes + i] = 0
      f64[(resource + Resource.jobVa) >> 1] = f64[(resource + Resource.jobVa) >> 1]! + bytes
      f64[(resource + Resource.jobLeft) >> 1] = f64[(resource + Resource.jobLeft) >> 1]! - bytes
    }
    sink.close(header + bytes + pad)
    i32[resource + Resource.begun] = 1
    i32[resource + Resource.next] = psnAdd(psn, 1)
    return 1
  }
}
