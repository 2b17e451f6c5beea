/**
 * Work requests as the rxe provider writes them (`rxe_send_wqe`, `rxe_recv_wqe`) into those of this process. There is one object of
 * this for all queues of a door; nothing is allocated for a request but the operands of atomics, which are of 64 bits. What a queue holds
 * is translated to a list, which is posted as a whole: many short requests cost hardly more than one then.
 *
 * A program can write anything into its queues, also while they are read. So each field is read once, what is read is checked, and a
 * request that no adapter could execute is posted as one that fails: it ends its queue pair, in its turn.
 */
import {
  Access,
  type Context,
  type FlushSelectivity,
  nameOf,
  Opcode,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  RecvWorkRequest,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
  type SharedReceiveQueue,
} from '../../verbs/index.ts'
import {
  hasOpcode,
  inlineOpcodes,
  legalOpcodes,
  operandKind,
  operandsOf,
  remoteOpcodes,
} from '../../verbs/provider/index.ts'
import { safe } from '../struct.ts'
import type { ProgramAh } from './plain-objects.ts'
import type { Ring } from './ring.ts'
import { Recv, sgeWords, Wqe } from './work-words.ts'

const kept = SendFlag.Fence | SendFlag.Solicited
const maxSges = 32
/** Bytes of inline data of a request; more than the adapter allows is rejected before. */
const stagingBytes = 1024
/** Maximum number of requests that are posted together. */
const most = 32
/** Rights that a window grants: remote rights, and `ZeroBased`. */
const windowAccess = Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.ZeroBased
/** Rights that the kernel accepts in a request as well, and that mean nothing for a window. */
const ignoredAccess =
  Access.LocalWrite | Access.MwBind | Access.FlushGlobal | Access.FlushPersistent | Access.RelaxedOrdering

/** Properties of the queue pair that a translation uses. */
export interface Translated {
  readonly qp: QueuePair
  readonly pd: ProtectionDomain
  readonly maxSendSge: number
  readonly maxInlineData: number
  /** Address handles of the program, by number. */
  readonly ahs: readonly (ProgramAh | undefined)[]
}

/** A request with room for its elements. */
class Slot<Request> {
  readonly wr: Request
  readonly sges: readonly ScatterGather[] = Array.from({ length: maxSges }, () => new ScatterGather(0, 0, 0))
  readonly #first: ScatterGather[][] = []

  constructor(wr: Request) {
    this.wr = wr
  }

  /** Returns the first `count` elements. */
  first(count: number): ScatterGather[] {
    this.#first[count] ??= this.sges.slice(0, count)
    return this.#first[count]
  }
}

/** Requests of one kind that are posted together. */
class RequestList<Request extends { next: Request | null }> {
  readonly slots: readonly Slot<Request>[]
  count = 0

  constructor(make: () => Request) {
    this.slots = Array.from({ length: most }, () => new Slot(make()))
  }

  get isFull(): boolean {
    return this.count === most
  }

  /** Appends a request to the list. */
  add(): Slot<Request> {
    const { slots, count } = this
    const slot = slots[count]!
    slot.wr.next = null
    if (count > 0) slots[count - 1]!.wr.next = slot.wr
    this.count = count + 1
    return slot
  }

  /** Returns the first request and empties the list; null if it is empty. */
  take(): Request | null {
    if (this.count === 0) return null
    this.count = 0
    return this.slots[0]!.wr
  }
}

export class Translation {
  readonly #sends = new RequestList(() => new SendWorkRequest(0, Opcode.Send, 0, []))
  /** Receives; may be requested while requests are posted. */
  readonly #receives = new RequestList(() => new RecvWorkRequest(0, []))
  /** Slot of the request that is being translated. */
  #slot = this.#sends.slots[0]!
  /** Address of the buffer in which inline data of each request are assembled; the adapter reads them when the list is posted. */
  readonly #staging: number
  readonly #stagingWords: Int32Array
  /** Operation of the request that was posted last; whether it stands for one that cannot be executed; then the reason. */
  opcode = 0
  failing = false
  reason = ''
  /** Number of requests posted since the start. */
  posted = 0

  constructor(context: Context) {
    const staging = context.alloc(most * stagingBytes)
    this.#staging = staging.byteOffset
    this.#stagingWords = new Int32Array(staging.buffer, staging.byteOffset, (most * stagingBytes) / 4)
  }

  /** True if the added requests have to be posted before there is room for more. */
  get isFull(): boolean {
    return this.#sends.isFull
  }

  /** Posts the requests that were added, which are all of one queue pair. */
  post(qp: QueuePair): void {
    this.posted += this.#sends.count
    const first = this.#sends.take()
    if (first !== null) qp.postSend(first)
  }

  /** Adds the request at word `w`, with this `wrId`, to those that `post` posts. */
  add(to: Translated, { i32, u32 }: Ring, w: number, wrId: number): void {
    this.#slot = this.#sends.add()
    const { wr } = this.#slot
    const { type } = to.qp
    const opcode = u32[w + Wqe.opcode]!
    const flags = i32[w + Wqe.flags]!
    this.opcode = opcode
    if (!hasOpcode(legalOpcodes[type], opcode)) {
      this.reason = `queue pairs of type ${nameOf(QpType, type)} do not execute operation ${opcode}`
      this.#makeFailing(to, wrId)
      return
    }
    wr.wrId = wrId
    wr.opcode = opcode as Opcode
    wr.sendFlags = flags & kept
    wr.ah = null
    const immOrRkey = u32[w + Wqe.immOrRkey]!
    const operands = operandsOf[opcode]!
    if (operands === operandKind.immediate) wr.immData = swapped(immOrRkey)
    else if (operands === operandKind.key) wr.invalidateRkey = immOrRkey
    else if (operands !== operandKind.none && !this.#rare(u32, w, operands)) {
      this.#makeFailing(to, wrId)
      return
    }
    if (operands <= operandKind.key && hasOpcode(remoteOpcodes, opcode)) {
      wr.remoteAddr = safe(u32[w + Wqe.address]!, u32[w + Wqe.address + 1]!)
      wr.rkey = u32[w + Wqe.rkey]!
    }
    if ((type === QpType.UD && !this.#address(to, u32, w)) || !this.#data(to, i32, u32, w, flags)) {
      this.#makeFailing(to, wrId)
      return
    }
    this.failing = false
  }

  /** Sets the path of a datagram; false if there is none. */
  #address(to: Translated, u32: Uint32Array, w: number): boolean {
    const { wr } = this.#slot
    const number = u32[w + Wqe.ahNumber]!
    const ah = to.ahs[number]
    if (ah === undefined) return this.#fails(`ah ${number} is no address handle of this context`)
    if (ah.ah.pd !== to.pd) return this.#fails(`ah ${number} is of another protection domain than the queue pair`)
    wr.ah = ah.ah
    wr.remoteQpn = u32[w + Wqe.remoteQpn]! & 0xffffff
    wr.remoteQkey = u32[w + Wqe.remoteQkey]!
    return true
  }

  /** Sets the request's scatter/gather list; false if it exceeds the limits of its queue pair. */
  #data(to: Translated, i32: Int32Array, u32: Uint32Array, w: number, flags: number): boolean {
    const { wr } = this.#slot
    const { opcode } = wr
    const count = u32[w + Wqe.sges]!
    const length = u32[w + Wqe.length]!
    if (opcode === Opcode.LocalInv || opcode === Opcode.BindMw || opcode === Opcode.Flush) {
      wr.sgList = this.#slot.first(0)
      return true
    }
    const mayBeInline = hasOpcode(inlineOpcodes, opcode)
    // The extended calls put data in line without the flag: what has a length and no elements.
    if (
      opcode === Opcode.AtomicWrite ||
      ((flags & SendFlag.Inline) !== 0 && mayBeInline) ||
      (count === 0 && length > 0)
    )
      return mayBeInline
        ? this.#inline(to, i32, w, opcode === Opcode.AtomicWrite ? 8 : length)
        : this.#fails(
            `a request of ${length} bytes has no scatter/gather elements, and its operation takes no inline data`,
          )
    if (count > to.maxSendSge)
      return this.#fails(`num_sge is ${count}; the queue pair has max_send_sge ${to.maxSendSge}`)
    const { sges } = this.#slot
    for (let i = 0, s = w + Wqe.data; i < count; i++, s += sgeWords) {
      const sge = sges[i]!
      sge.addr = safe(u32[s]!, u32[s + 1]!)
      sge.length = u32[s + 2]!
      sge.lkey = i32[s + 3]!
      if (sge.length > 0x7fffffff) return this.#fails(`sg_list[${i}].length is ${sge.length}; at most ${0x7fffffff}`)
    }
    wr.sgList = this.#slot.first(count)
    return true
  }

  #inline(to: Translated, i32: Int32Array, w: number, length: number): boolean {
    if (length > Math.max(8, to.maxInlineData))
      return this.#fails(`${length} bytes of inline data; the queue pair has max_inline_data ${to.maxInlineData}`)
    const { wr } = this.#slot
    const words = this.#stagingWords
    const at = (this.#sends.count - 1) * stagingBytes
    const data = w + Wqe.data
    for (let i = 0; i < (length + 3) >> 2; i++) words[at / 4 + i] = i32[data + i]!
    const sge = this.#slot.sges[0]!
    sge.addr = this.#staging + at
    sge.length = length
    sge.lkey = 0
    wr.sgList = this.#slot.first(1)
    wr.sendFlags |= SendFlag.Inline
    return true
  }

  #rare(u32: Uint32Array, w: number, operands: number): boolean {
    const { wr } = this.#slot
    wr.remoteAddr = safe(u32[w + Wqe.address]!, u32[w + Wqe.address + 1]!)
    switch (operands) {
      case operandKind.swap:
      case operandKind.add:
        wr.rkey = u32[w + Wqe.atomicRkey]!
        wr.compareAdd = long(u32, w + Wqe.compareAdd)
        wr.swap = long(u32, w + Wqe.swap)
        return true
      case operandKind.flush: {
        const type = u32[w + Wqe.flushType]!
        wr.rkey = u32[w + Wqe.flushRkey]!
        wr.flushLength = u32[w + Wqe.length]!
        wr.placement = type & 0xff
        wr.selectivity = ((type >>> 8) & 0xff) as FlushSelectivity
        return wr.placement >= 1 && wr.placement <= 3 && wr.selectivity <= 1
          ? true
          : this.#fails(`a FLUSH of type ${wr.placement} and level ${wr.selectivity}; types are 1 to 3, levels 0 and 1`)
      }
      case operandKind.bind:
        wr.bindAddr = wr.remoteAddr
        wr.bindLength = safe(u32[w + Wqe.windowLength]!, u32[w + Wqe.windowLength + 1]!)
        wr.mrLkey = u32[w + Wqe.regionKey]!
        wr.mwRkey = u32[w + Wqe.windowKey]!
        wr.mwNewRkey = u32[w + Wqe.newWindowKey]!
        return this.#windowRights(u32[w + Wqe.windowAccess]!)
      default:
        return false
    }
  }

  #windowRights(access: number): boolean {
    this.#slot.wr.bindAccess = access & windowAccess
    const unknown = access & ~(windowAccess | ignoredAccess)
    return unknown === 0
      ? true
      : this.#fails(`mw_access_flags has bits 0x${unknown.toString(16)}, which windows do not have`)
  }

  /** Records why the request cannot be executed. */
  #fails(reason: string): false {
    this.reason = reason
    return false
  }

  /**
   * Makes it a request that fails: on a connected queue pair it invalidates a key that does not exist, on UD it sends memory that is not
   * registered.
   */
  #makeFailing(to: Translated, wrId: number): void {
    const { wr } = this.#slot
    this.failing = true
    wr.wrId = wrId
    wr.sendFlags = 0
    if (to.qp.type === QpType.UD) {
      const sge = this.#slot.sges[0]!
      sge.addr = 0
      sge.length = 1
      sge.lkey = 0
      wr.opcode = Opcode.Send
      wr.sgList = this.#slot.first(1)
      wr.ah = { attr: {}, pdRef: to.pd.ref, copyTo() {} } as unknown as SendWorkRequest['ah']
    } else {
      wr.opcode = Opcode.LocalInv
      wr.invalidateRkey = 0
      wr.sgList = this.#slot.first(0)
    }
  }

  /** True if the added receives have to be posted before there is room for more. */
  get receivesFull(): boolean {
    return this.#receives.isFull
  }

  /** Posts the receives that were added, which are all of one queue. */
  postReceives(to: QueuePair | SharedReceiveQueue): void {
    const first = this.#receives.take()
    if (first !== null) to.postRecv(first)
  }

  /** Adds the receive at word `w` to those that `postReceives` posts. One with more elements than there may be fails when a message comes. */
  addReceive(_to: QueuePair | SharedReceiveQueue, maxSge: number, { i32, u32 }: Ring, w: number, wrId: number): void {
    const slot = this.#receives.add()
    const { wr, sges } = slot
    let count = u32[w + Recv.sges]!
    wr.wrId = wrId
    if (count > maxSge) {
      count = Math.min(1, maxSge)
      sges[0]!.addr = 0
      sges[0]!.length = 0x7fffffff
      sges[0]!.lkey = 0
    } else
      for (let i = 0, s = w + Recv.data; i < count; i++, s += sgeWords) {
        const sge = sges[i]!
        sge.addr = safe(u32[s]!, u32[s + 1]!)
        sge.length = i32[s + 2]! & 0x7fffffff
        sge.lkey = i32[s + 3]!
      }
    wr.sgList = slot.first(count)
  }
}

/** Returns a word in the other byte order: immediate data is big endian in memory, and a number here. */
export function swapped(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}

function long(u32: Uint32Array, at: number): bigint {
  return (BigInt(u32[at + 1]!) << 32n) | BigInt(u32[at]!)
}
