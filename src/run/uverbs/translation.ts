/**
 * Work requests as the rxe provider writes them (`rxe_send_wqe`, `rxe_recv_wqe`) into those of this process. There is one object of
 * this for all queues of a door; nothing is allocated for a request but the operands of atomics, which are of 64 bits.
 *
 * A program can write anything into its queues, also while they are read. So each field is read once, what is read is checked, and a
 * request that no adapter could execute is posted as one that fails: it ends its queue pair, in its turn.
 */
import {
  Access,
  type Context,
  type FlushSelectivity,
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
import { safe } from '../struct.ts'
import type { ProgramAh } from './plain-objects.ts'
import type { Ring } from './ring.ts'

/** Words of a send request in the queue; the operation's own fields begin at the sixth, and are named for each. */
const Wqe = {
  wrIdLow: 0,
  wrIdHigh: 1,
  opcode: 3,
  flags: 4,
  immOrRkey: 5,
  /** 64 bits: where the operation reads or writes at the peer, or where a window begins. */
  address: 6,
  rkey: 8,
  compareAdd: 8,
  swap: 10,
  atomicRkey: 12,
  remoteQpn: 6,
  remoteQkey: 7,
  ahNumber: 9,
  windowLength: 8,
  regionKey: 10,
  windowKey: 11,
  newWindowKey: 12,
  windowAccess: 13,
  flushRkey: 9,
  /** Two bytes: placement, selectivity. */
  flushType: 10,
  length: 46,
  sges: 49,
  data: 52,
} as const

/** Words of a receive request. */
const Recv = { wrIdLow: 0, wrIdHigh: 1, sges: 7, data: 10 } as const

const sgeWords = 4
const kept = SendFlag.Fence | SendFlag.Solicited
const maxSges = 32
/** More than the adapter allows is cut off before. */
const stagingBytes = 1024
/** What a window opens: remote rights, and `ZeroBased`. */
const windowAccess = Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.ZeroBased
/** Rights that the kernel takes in a request as well, and that mean nothing for a window. */
const ignoredAccess =
  Access.LocalWrite | Access.MwBind | Access.FlushGlobal | Access.FlushPersistent | Access.RelaxedOrdering

const bits = (...opcodes: Opcode[]): number => opcodes.reduce<number>((mask, opcode) => mask | (1 << opcode), 0)
const ucOpcodes = bits(
  Opcode.Send,
  Opcode.SendWithImm,
  Opcode.Write,
  Opcode.WriteWithImm,
  Opcode.LocalInv,
  Opcode.BindMw,
)
const rcOnly = bits(
  Opcode.SendWithInv,
  Opcode.Read,
  Opcode.AtomicCmpAndSwp,
  Opcode.AtomicFetchAndAdd,
  Opcode.Flush,
  Opcode.AtomicWrite,
)
/** Which operations queue pairs of each type execute. */
const legal: Readonly<Record<number, number>> = {
  [QpType.RC]: ucOpcodes | rcOnly,
  [QpType.UC]: ucOpcodes,
  [QpType.UD]: bits(Opcode.Send, Opcode.SendWithImm),
}
const inlineOpcodes = bits(
  Opcode.Send,
  Opcode.SendWithImm,
  Opcode.SendWithInv,
  Opcode.Write,
  Opcode.WriteWithImm,
  Opcode.AtomicWrite,
)

const makeSges = (): ScatterGather[] => Array.from({ length: maxSges }, () => new ScatterGather(0, 0, 0))
/** The first 0, 1, … of them. */
const listsOf = (sges: readonly ScatterGather[]): ScatterGather[][] =>
  Array.from({ length: maxSges + 1 }, (_, count) => sges.slice(0, count))

/** What a translation needs to know of the queue pair. */
export interface Translated {
  readonly qp: QueuePair
  readonly pd: ProtectionDomain
  readonly maxSendSge: number
  readonly maxInlineData: number
  /** Address handles of the program, by number. */
  readonly ahs: readonly (ProgramAh | undefined)[]
}

export class Translation {
  readonly #send = new SendWorkRequest(0, Opcode.Send, 0, [])
  readonly #receive = new RecvWorkRequest(0, [])
  readonly #sges = makeSges()
  readonly #lists = listsOf(this.#sges)
  /** Of receives: these may be asked for while a request is posted. */
  readonly #recvSges = makeSges()
  readonly #recvLists = listsOf(this.#recvSges)
  /** Where inline data is put together for the adapter, which takes it from there at once. */
  readonly #staging: number
  readonly #stagingWords: Int32Array
  /** Of the request that was posted last: its operation, and whether it stands for one that cannot be executed. */
  opcode = 0
  failing = false

  constructor(context: Context) {
    const staging = context.alloc(stagingBytes)
    this.#staging = staging.byteOffset
    this.#stagingWords = new Int32Array(staging.buffer, staging.byteOffset, stagingBytes / 4)
  }

  /** Posts the request at word `w`, with this `wrId`. */
  post(to: Translated, { i32, u32 }: Ring, w: number, wrId: number): void {
    const wr = this.#send
    const { type } = to.qp
    const opcode = u32[w + Wqe.opcode]!
    const flags = i32[w + Wqe.flags]!
    this.opcode = opcode
    if ((opcode & 15) !== opcode || ((legal[type]! >>> opcode) & 1) === 0) {
      this.#postFailing(to, wrId)
      return
    }
    wr.wrId = wrId
    wr.opcode = opcode as Opcode
    wr.sendFlags = flags & kept
    wr.ah = null
    const immOrRkey = u32[w + Wqe.immOrRkey]!
    switch (opcode) {
      case Opcode.Send:
        break
      case Opcode.SendWithImm:
        wr.immData = swapped(immOrRkey)
        break
      case Opcode.SendWithInv:
      case Opcode.LocalInv:
        wr.invalidateRkey = immOrRkey
        break
      case Opcode.WriteWithImm:
        wr.immData = swapped(immOrRkey)
        wr.remoteAddr = safe(u32[w + Wqe.address]!, u32[w + Wqe.address + 1]!)
        wr.rkey = u32[w + Wqe.rkey]!
        break
      case Opcode.Write:
      case Opcode.Read:
      case Opcode.AtomicWrite:
        wr.remoteAddr = safe(u32[w + Wqe.address]!, u32[w + Wqe.address + 1]!)
        wr.rkey = u32[w + Wqe.rkey]!
        break
      default:
        if (!this.#rare(u32, w)) {
          this.#postFailing(to, wrId)
          return
        }
    }
    if ((type === QpType.UD && !this.#address(to, u32, w)) || !this.#data(to, i32, u32, w, flags)) {
      this.#postFailing(to, wrId)
      return
    }
    this.failing = false
    to.qp.postSend(wr)
  }

  /** The path of a datagram; false if there is none. */
  #address(to: Translated, u32: Uint32Array, w: number): boolean {
    const wr = this.#send
    const ah = to.ahs[u32[w + Wqe.ahNumber]!]
    if (ah === undefined || ah.ah.pd !== to.pd) return false
    wr.ah = ah.ah
    wr.remoteQpn = u32[w + Wqe.remoteQpn]! & 0xffffff
    wr.remoteQkey = u32[w + Wqe.remoteQkey]!
    return true
  }

  /** Where the request's bytes are; false if it has more than its queue pair may. */
  #data(to: Translated, i32: Int32Array, u32: Uint32Array, w: number, flags: number): boolean {
    const wr = this.#send
    const { opcode } = wr
    const count = u32[w + Wqe.sges]!
    const length = u32[w + Wqe.length]!
    if (opcode === Opcode.LocalInv || opcode === Opcode.BindMw || opcode === Opcode.Flush) {
      wr.sgList = this.#lists[0]!
      return true
    }
    const mayBeInline = ((inlineOpcodes >>> opcode) & 1) !== 0
    // The extended calls put data in line without the flag: what has a length and no elements.
    if (
      opcode === Opcode.AtomicWrite ||
      ((flags & SendFlag.Inline) !== 0 && mayBeInline) ||
      (count === 0 && length > 0)
    )
      return mayBeInline && this.#inline(to, i32, w, opcode === Opcode.AtomicWrite ? 8 : length)
    if (count > to.maxSendSge) return false
    const sges = this.#sges
    for (let i = 0, s = w + Wqe.data; i < count; i++, s += sgeWords) {
      const sge = sges[i]!
      sge.addr = safe(u32[s]!, u32[s + 1]!)
      sge.length = u32[s + 2]!
      sge.lkey = i32[s + 3]!
      if (sge.length > 0x7fffffff) return false
    }
    wr.sgList = this.#lists[count]!
    return true
  }

  #inline(to: Translated, i32: Int32Array, w: number, length: number): boolean {
    if (length > Math.max(8, to.maxInlineData)) return false
    const wr = this.#send
    const words = this.#stagingWords
    const data = w + Wqe.data
    for (let i = 0; i < (length + 3) >> 2; i++) words[i] = i32[data + i]!
    const sge = this.#sges[0]!
    sge.addr = this.#staging
    sge.length = length
    sge.lkey = 0
    wr.sgList = this.#lists[1]!
    wr.sendFlags |= SendFlag.Inline
    return true
  }

  #rare(u32: Uint32Array, w: number): boolean {
    const wr = this.#send
    wr.remoteAddr = safe(u32[w + Wqe.address]!, u32[w + Wqe.address + 1]!)
    switch (wr.opcode) {
      case Opcode.AtomicCmpAndSwp:
      case Opcode.AtomicFetchAndAdd:
        wr.rkey = u32[w + Wqe.atomicRkey]!
        wr.compareAdd = long(u32, w + Wqe.compareAdd)
        wr.swap = long(u32, w + Wqe.swap)
        return true
      case Opcode.Flush: {
        const type = u32[w + Wqe.flushType]!
        wr.rkey = u32[w + Wqe.flushRkey]!
        wr.flushLength = u32[w + Wqe.length]!
        wr.placement = type & 0xff
        wr.selectivity = ((type >>> 8) & 0xff) as FlushSelectivity
        return wr.placement >= 1 && wr.placement <= 3 && wr.selectivity <= 1
      }
      case Opcode.BindMw:
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
    this.#send.bindAccess = access & windowAccess
    return (access & ~(windowAccess | ignoredAccess)) === 0
  }

  /** Posts a request that fails: on a connected queue pair it invalidates a key that nothing has, on UD it sends what nobody registered. */
  #postFailing(to: Translated, wrId: number): void {
    const wr = this.#send
    this.failing = true
    wr.wrId = wrId
    wr.sendFlags = 0
    if (to.qp.type === QpType.UD) {
      const sge = this.#sges[0]!
      sge.addr = 0
      sge.length = 1
      sge.lkey = 0
      wr.opcode = Opcode.Send
      wr.sgList = this.#lists[1]!
      wr.ah = { attr: {}, pdRef: to.pd.ref, copyTo() {} } as unknown as SendWorkRequest['ah']
    } else {
      wr.opcode = Opcode.LocalInv
      wr.invalidateRkey = 0
      wr.sgList = this.#lists[0]!
    }
    to.qp.postSend(wr)
  }

  /** Posts the receive at word `w`. One with more elements than there may be fails when a message comes. */
  postReceive(to: QueuePair | SharedReceiveQueue, maxSge: number, { i32, u32 }: Ring, w: number, wrId: number): void {
    const wr = this.#receive
    const sges = this.#recvSges
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
    wr.sgList = this.#recvLists[count]!
    to.postRecv(wr)
  }
}

/** The other order of bytes: immediate data is big endian in memory, and a number here. */
export function swapped(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}

function long(u32: Uint32Array, at: number): bigint {
  return (BigInt(u32[at + 1]!) << 32n) | BigInt(u32[at]!)
}
