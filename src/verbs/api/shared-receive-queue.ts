/** Shared receive queues: one ring of receives for many QPs, with a limit event and resizing. */
import { checkInteger, checkObject, plural } from '../provider/arguments.ts'
import type { RecvWrInit, SrqAttr, SrqInit } from '../provider/attributes.ts'
import { VerbsError } from '../provider/errors.ts'
import type { Host } from '../provider/host.ts'
import { Pd, Qp, Rwqe, recordState, Sg, Srq } from '../provider/layout.ts'
import { destroySrq } from '../provider/lifetime.ts'
import { createRecord, isStale, slotOf } from '../provider/records.ts'
import { RecvWorkRequest, recvWr } from '../provider/work-request.ts'
import { Handle } from './handle.ts'
import type { ProtectionDomain, SharedReceiveQueue, SrqHandle } from './objects.ts'
import { reclaimSoon } from './reclaim-soon.ts'

/** Writes one receive request into a ring. */
export function writeReceive(i32: Int32Array, f64: Float64Array, r: number, wr: RecvWorkRequest): void {
  const { sgList } = wr
  f64[(r + Rwqe.wrId) >> 1] = wr.wrId
  i32[r + Rwqe.sges] = sgList.length
  for (let i = 0, s = r + Rwqe.data; i < sgList.length; i++, s += Sg.words) {
    const sge = sgList[i]!
    f64[s >> 1] = sge.addr
    i32[s + Sg.length] = sge.length
    i32[s + Sg.lkey] = sge.lkey
  }
}

const slotsFor = (maxWr: number): number => 2 ** Math.ceil(Math.log2(Math.max(2, maxWr)))

export class SharedReceiveQueueObject extends Handle implements SharedReceiveQueue {
  readonly pd: ProtectionDomain
  readonly slot: number
  readonly ref: number
  readonly #host: Host
  readonly #srq: number
  readonly #owned: boolean

  /** Use `pd.createSrq` or `context.importSrq`. */
  constructor(pd: ProtectionDomain, srq: number, owned: boolean) {
    super('SharedReceiveQueue')
    this.pd = pd
    this.#host = pd.context.device.host
    this.#srq = srq
    this.ref = this.#host.i32[srq + Srq.ref]!
    this.slot = slotOf(this.ref)
    this.#owned = owned
  }

  static create(pd: ProtectionDomain, init: SrqInit): SharedReceiveQueue {
    checkObject('createSrq', 'init', init)
    const { host, attr, index } = pd.context.device
    const maxSge = init.maxSge ?? 1
    checkInteger('createSrq', 'maxWr', init.maxWr, 1, attr.maxSrqWr)
    checkInteger('createSrq', 'maxSge', maxSge, 0, attr.maxSrqSge)
    checkInteger('createSrq', 'srqLimit', init.srqLimit ?? 0, 0, init.maxWr)
    const slots = slotsFor(init.maxWr)
    const stride = Math.ceil((Rwqe.data + maxSge * Sg.words) / 8) * 8
    const { i32 } = host
    const word = createRecord(host, 'srq', 'createSrq', slots * stride * 4, (srq, ring) => {
      pd.assertOpen('createSrq')
      i32[srq + Srq.pd] = pd.slot
      i32[srq + Srq.context] = pd.context.slot
      i32[srq + Srq.owner] = host.segment.me
      i32[srq + Srq.hosted] = init.hosted === true ? 1 : 0
      i32[srq + Srq.maxWr] = init.maxWr
      i32[srq + Srq.maxSge] = maxSge
      i32[srq + Srq.ring] = ring
      i32[srq + Srq.mask] = slots - 1
      i32[srq + Srq.stride] = stride
      i32[srq + Srq.limit] = init.srqLimit ?? 0
      i32[srq + Srq.device] = index
      i32[srq + Srq.state] = recordState.live
      Atomics.add(i32, pd.word + Pd.srqs, 1)
    })
    const srq = new SharedReceiveQueueObject(pd, word, true)
    pd.context.adopt('srq', srq)
    return srq
  }

  get handle(): SrqHandle {
    return { kind: 'srq', ref: this.ref }
  }

  protected override gone(): boolean {
    return isStale(this.#host, this.#srq, this.ref)
  }

  postRecv(wr: RecvWorkRequest | RecvWrInit): void {
    this.assertOpen('postRecv')
    const { i32, f64, segment } = this.#host
    const srq = this.#srq
    let request: RecvWorkRequest | null = wr instanceof RecvWorkRequest ? wr : recvWr(wr)
    let failed = ''
    let full = false
    let gone = false
    segment.enter()
    try {
      segment.lock(srq + Srq.postLock)
      try {
        const maxWr = i32[srq + Srq.maxWr]!
        const maxSge = i32[srq + Srq.maxSge]!
        const ring = i32[srq + Srq.ring]!
        const mask = i32[srq + Srq.mask]!
        const stride = i32[srq + Srq.stride]!
        let head = i32[srq + Srq.head]!
        gone = this.gone()
        while (!gone && request !== null) {
          full = ((head - Atomics.load(i32, srq + Srq.tail)) | 0) >= maxWr
          if (full) failed = `the SRQ is full with ${maxWr} requests`
          else if (request.sgList.length > maxSge)
            failed = `${request.sgList.length} scatter/gather elements are more than maxSge ${maxSge}`
          if (failed !== '') break
          writeReceive(i32, f64, ring + (head & mask) * stride, request)
          head = (head + 1) | 0
          segment.publish(srq + Srq.head, head)
          request = request.next
        }
      } catch {
        failed = 'a field of the work request has a value of the wrong type'
      }
      Atomics.store(i32, srq + Srq.postLock, 0)
    } finally {
      segment.leave()
    }
    if (gone) throw this.closedError('postRecv')
    if (Atomics.load(i32, srq + Srq.waiting) !== 0) this.#wake()
    if (failed !== '') {
      const error = new VerbsError(full ? 'ENOMEM' : 'EINVAL', 'postRecv', failed)
      error.badWr = request!
      throw error
    }
  }

  /** Lets the QPs whose requests wait for a receive here try again, in the order in which they came. */
  #wake(): void {
    const { i32, segment } = this.#host
    const srq = this.#srq
    const waiting: number[] = []
    segment.lock(srq + Srq.lock)
    // Taken apart under the lock: another thread may take a QP off the list meanwhile (`stopWaiting`).
    for (let slot = i32[srq + Srq.waiting]!; slot !== 0; ) {
      const q = this.#host.qpWord(slot - 1)
      waiting.push(slot - 1)
      slot = i32[q + Qp.nextWaiting]!
      i32[q + Qp.nextWaiting] = 0
      i32[q + Qp.waitingOn] = 0
    }
    i32[srq + Srq.waiting] = 0
    segment.unlock(srq + Srq.lock)
    for (const slot of waiting) this.pd.context.device.resume(slot)
  }

  modify(attr: SrqAttr): void {
    this.assertOpen('modify')
    checkObject('modify', 'attr', attr)
    const { i32, segment } = this.#host
    const srq = this.#srq
    if (attr.maxWr !== undefined) this.#resize(attr.maxWr)
    if (attr.srqLimit !== undefined) {
      checkInteger('modify', 'srqLimit', attr.srqLimit, 0, i32[srq + Srq.maxWr]!)
      segment.lock(srq + Srq.lock)
      i32[srq + Srq.limit] = attr.srqLimit
      segment.unlock(srq + Srq.lock)
    }
  }

  #resize(maxWr: number): void {
    const host = this.#host
    const { i32, segment } = host
    const srq = this.#srq
    checkInteger('modify', 'maxWr', maxWr, 1, this.pd.context.device.attr.maxSrqWr)
    const stride = i32[srq + Srq.stride]!
    const slots = slotsFor(maxWr)
    // Whichever thread resizes it, the memory goes with its owner.
    const ring = host.allocate(slots * stride * 4, 'modify', Math.max(0, i32[srq + Srq.owner]!)) / 4
    segment.lock(srq + Srq.postLock)
    segment.lock(srq + Srq.lock)
    const gone = this.gone()
    const head = i32[srq + Srq.head]!
    const tail = i32[srq + Srq.tail]!
    const old = i32[srq + Srq.ring]!
    const posted = (head - tail) | 0
    const limit = i32[srq + Srq.limit]!
    const fits = !gone && posted <= maxWr && limit <= maxWr
    if (fits) {
      for (let at = tail; at !== head; at = (at + 1) | 0) {
        const from = old + (at & i32[srq + Srq.mask]!) * stride
        i32.copyWithin(ring + (at & (slots - 1)) * stride, from, from + stride)
      }
      i32[srq + Srq.ring] = ring
      i32[srq + Srq.mask] = slots - 1
      i32[srq + Srq.maxWr] = maxWr
    }
    segment.unlock(srq + Srq.lock)
    segment.unlock(srq + Srq.postLock)
    segment.quiesce()
    segment.free((fits ? old : ring) * 4)
    if (gone) throw this.closedError('modify')
    if (!fits)
      throw new VerbsError(
        'EINVAL',
        'modify',
        `maxWr ${maxWr} is less than the ${posted} posted requests or the limit ${limit}`,
      )
  }

  query(): Required<SrqAttr> & { maxSge: number } {
    this.assertOpen('query')
    const { i32 } = this.#host
    return {
      maxWr: i32[this.#srq + Srq.maxWr]!,
      maxSge: i32[this.#srq + Srq.maxSge]!,
      srqLimit: i32[this.#srq + Srq.limit]!,
    }
  }

  close(): void {
    if (this.endsImport(this.#owned)) return
    this.assertOpen('close')
    const refs = destroySrq(this.#host, this.#srq, false)
    if (refs > 0) throw new VerbsError('EBUSY', 'close', `it is in use by ${plural(refs, 'QP')}`)
    this.markClosed()
    this.pd.context.disown('srq', this)
    reclaimSoon(this.#host)
  }
}
