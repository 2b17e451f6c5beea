/**
 * The builder of extended queue pairs (`ibv_wr_start`, `ibv_wr_send`, …, `ibv_wr_complete`): requests are collected and
 * posted together. Wrong values are kept and thrown once, by `complete`: the checks are those of a literal that is posted.
 *
 *     qp.wr.start()
 *     qp.wr.wrId = 1
 *     qp.wr.rdmaWrite(rkey, remoteAddr)
 *     qp.wr.setSge(mr.lkey, mr.addr, 64)
 *     qp.wr.complete()
 */
import { checkObject, describe } from '../provider/arguments.ts'
import type { AddressHandleLike } from '../provider/attributes.ts'
import { type FlushSelectivity, MwType, Opcode } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import type { MwBind } from '../provider/operations.ts'
import { fillBind, ScatterGather, SendWorkRequest, sgesOf } from '../provider/work-request.ts'
import { isRight, wrongIn } from '../provider/work-request-checks.ts'

/** The builder of a queue pair, `qp.wr`; for one thread at a time. */
export class WorkRequestBuilder {
  readonly #post: (wr: SendWorkRequest) => void
  #first: SendWorkRequest | null = null
  #last: SendWorkRequest | null = null
  #started = false
  #error: VerbsError | null = null
  /** The request that `#error` is about. */
  #errorAt: SendWorkRequest | null = null
  /** `wrId` of the requests that follow; an integer from 0 to 2^53 − 1. */
  wrId = 0
  /** Bits of `SendFlag` for the requests that follow. */
  wrFlags = 0

  /** @internal `post` posts a list of requests. */
  constructor(post: (wr: SendWorkRequest) => void) {
    this.#post = post
  }

  /** `ibv_wr_start`: begins a list. EINVAL if one was begun and not ended. */
  start(): void {
    if (this.#started) throw new VerbsError('EINVAL', 'wr.start', 'already started: complete or abort first')
    this.#started = true
    this.#first = null
    this.#last = null
    this.#error = null
  }

  #add(verb: string, opcode: Opcode): SendWorkRequest {
    if (!this.#started) throw new VerbsError('EINVAL', verb, 'call wr.start first')
    const wr = new SendWorkRequest(this.wrId, opcode, this.wrFlags, [])
    if (this.#last) this.#last.next = wr
    else this.#first = wr
    this.#last = wr
    return wr
  }

  #current(verb: string): SendWorkRequest {
    if (!this.#started || !this.#last) throw new VerbsError('EINVAL', verb, 'begin a request first, as with wr.send()')
    return this.#last
  }

  #remote(verb: string, opcode: Opcode, rkey: number, remoteAddr: number): SendWorkRequest {
    const wr = this.#add(verb, opcode)
    wr.rkey = rkey
    wr.remoteAddr = remoteAddr
    return wr
  }

  /** `ibv_wr_send`. */
  send(): void {
    this.#add('wr.send', Opcode.Send)
  }
  /** `ibv_wr_send_imm`; the immediate has 32 bits. */
  sendImm(immData: number): void {
    this.#add('wr.sendImm', Opcode.SendWithImm).immData = immData
  }
  /** `ibv_wr_send_inv`: SEND that invalidates a window of the peer. */
  sendInv(invalidateRkey: number): void {
    this.#add('wr.sendInv', Opcode.SendWithInv).invalidateRkey = invalidateRkey
  }
  /** `ibv_wr_rdma_write`. */
  rdmaWrite(rkey: number, remoteAddr: number): void {
    this.#remote('wr.rdmaWrite', Opcode.Write, rkey, remoteAddr)
  }
  /** `ibv_wr_rdma_write_imm`. */
  rdmaWriteImm(rkey: number, remoteAddr: number, immData: number): void {
    this.#remote('wr.rdmaWriteImm', Opcode.WriteWithImm, rkey, remoteAddr).immData = immData
  }
  /** `ibv_wr_rdma_read`. */
  rdmaRead(rkey: number, remoteAddr: number): void {
    this.#remote('wr.rdmaRead', Opcode.Read, rkey, remoteAddr)
  }
  /** `ibv_wr_atomic_cmp_swp`, of 8 bytes. */
  atomicCmpSwp(rkey: number, remoteAddr: number, compare: bigint, swap: bigint): void {
    const wr = this.#remote('wr.atomicCmpSwp', Opcode.AtomicCmpAndSwp, rkey, remoteAddr)
    wr.compareAdd = compare
    wr.swap = swap
  }
  /** `ibv_wr_atomic_fetch_add`, of 8 bytes. */
  atomicFetchAdd(rkey: number, remoteAddr: number, add: bigint): void {
    this.#remote('wr.atomicFetchAdd', Opcode.AtomicFetchAndAdd, rkey, remoteAddr).compareAdd = add
  }
  /** `ibv_wr_atomic_write`: the scatter/gather element (or inline data) holds the 8 bytes. */
  atomicWrite(rkey: number, remoteAddr: number): void {
    this.#remote('wr.atomicWrite', Opcode.AtomicWrite, rkey, remoteAddr)
  }
  /** `ibv_wr_flush`: `length` bytes; `placement` has bits of `FlushPlacement`, at least one. */
  flush(rkey: number, remoteAddr: number, length: number, placement: number, selectivity: FlushSelectivity): void {
    const wr = this.#remote('wr.flush', Opcode.Flush, rkey, remoteAddr)
    wr.flushLength = length
    wr.placement = placement
    wr.selectivity = selectivity
  }
  /** `ibv_wr_local_inv`. */
  localInv(invalidateRkey: number): void {
    this.#add('wr.localInv', Opcode.LocalInv).invalidateRkey = invalidateRkey
  }
  /** `ibv_wr_bind_mw`: binds a window of type 2, which gets the key `rkey`. */
  bindMw(mw: { rkey: number; type: MwType }, rkey: number, info: MwBind): void {
    const verb = 'wr.bindMw'
    const wr = this.#add(verb, Opcode.BindMw)
    this.#keep(() => {
      checkObject(verb, 'mw', mw)
      checkObject(verb, 'info', info)
      checkObject(verb, 'info.mr', info.mr)
      if (mw.type !== MwType.Type2)
        throw new VerbsError('EINVAL', verb, 'it takes windows of type 2; bind a type 1 window with qp.bindMw')
      fillBind(wr, mw, rkey, info.mr.lkey, info.addr, info.length, info.accessFlags, verb)
    })
  }

  /** `ibv_wr_set_sge`: the only element of the present request; `length` in bytes. */
  setSge(lkey: number, addr: number, length: number): void {
    this.#current('wr.setSge').sgList = [new ScatterGather(addr, length, lkey)]
  }
  /** `ibv_wr_set_sge_list`. */
  setSgeList(list: readonly { addr: number; length: number; lkey: number }[]): void {
    const wr = this.#current('wr.setSgeList')
    this.#keep(() => {
      if (!Array.isArray(list))
        throw new VerbsError('EINVAL', 'wr.setSgeList', `list must be an array, not ${describe(list)}`)
      wr.sgList = sgesOf('wr.setSgeList', list)
    })
  }
  /** `ibv_wr_set_ud_addr`: the destination of the present UD request. */
  setUdAddr(ah: AddressHandleLike, remoteQpn: number, remoteQkey: number): void {
    const wr = this.#current('wr.setUdAddr')
    wr.ah = ah
    wr.remoteQpn = remoteQpn
    wr.remoteQkey = remoteQkey
  }

  /** Returns the error of a request; the error of an earlier builder call takes precedence. */
  #wrong(wr: SendWorkRequest): VerbsError {
    if (this.#error !== null && this.#errorAt !== null)
      for (let at: SendWorkRequest | null = this.#errorAt; at !== null; at = at.next) if (at === wr) return this.#error
    return wrongIn(wr)
  }

  #keep(body: () => void): void {
    try {
      body()
    } catch (error) {
      if (this.#error !== null) return
      this.#error = error as VerbsError
      this.#errorAt = this.#last
    }
  }

  /** `ibv_wr_complete`: posts what was collected, in one list. If a call since `start` was wrong it throws the first error, and posts nothing. */
  complete(): void {
    if (!this.#started) throw new VerbsError('EINVAL', 'wr.complete', 'call wr.start first')
    this.#started = false
    // The values are looked at here, in one loop: a check in each call would keep V8 from inlining these.
    for (let wr = this.#first; wr !== null; wr = wr.next) if (!isRight(wr)) throw this.#wrong(wr)
    if (this.#error) throw this.#error
    if (this.#first) this.#post(this.#first)
  }

  /** `ibv_wr_abort`: forgets what was collected since `start`. */
  abort(): void {
    this.#started = false
  }
}
