/** Two connected ends in one thread whose buffers lie in the segment, in one of two other processes, or wherever a test wants. */
import { expect } from 'vitest'
import {
  Access,
  type CompletionQueue,
  type ConnectOptions,
  type Context,
  connectQp,
  endpointOf,
  type MemoryRegion,
  QpType,
  type QueuePair,
  type SharedReceiveQueue,
  type VerbsObject,
  WcStatus,
  type WorkCompletion,
  workCompletions,
} from '../../../src/index.ts'
import type { MemoryProcess } from '../../memory/memory-process.ts'

export const allAccess =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind | Access.FlushGlobal

/** A registered range and its bytes. */
export interface Place {
  readonly mr: MemoryRegion
  peek(offset: number, length: number): Uint8Array
  poke(offset: number, bytes: ArrayLike<number>): void
}

export interface SideOptions {
  type?: QpType
  hosted?: boolean
  srq?: 'plain' | 'hosted'
  cqe?: number
}

export class Side {
  readonly context: Context
  readonly pd: ReturnType<Context['allocPd']>
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  readonly srq: SharedReceiveQueue | null
  readonly qp: QueuePair
  readonly #regions: VerbsObject[] = []
  readonly #buffers: Uint8Array[] = []
  readonly #wc = workCompletions(64)

  constructor(context: Context, { type = QpType.RC, hosted = false, srq, cqe = 256 }: SideOptions = {}) {
    this.context = context
    this.pd = context.allocPd()
    this.sendCq = context.createCq(cqe)
    this.recvCq = context.createCq(cqe)
    this.srq = srq === undefined ? null : this.pd.createSrq({ maxWr: 64, maxSge: 8, hosted: srq === 'hosted' })
    this.qp = this.pd.createQp({
      type,
      sendCq: this.sendCq,
      recvCq: this.recvCq,
      cap: { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 8, maxRecvSge: 8, maxInlineData: 64 },
      hosted,
      ...(this.srq === null ? {} : { srq: this.srq }),
    })
  }

  /** A region of the segment. */
  inSegment(length: number, access = allAccess): Place {
    const buffer = this.context.alloc(length)
    this.#buffers.push(buffer)
    const mr = this.adopt(this.pd.regMr(buffer, access))
    return {
      mr,
      peek: (offset, length) => buffer.slice(offset, offset + length),
      poke: (offset, bytes) => buffer.set(bytes, offset),
    }
  }

  /** All of what a process has. */
  inProcess(process: MemoryProcess, access = allAccess): Place {
    const mr = this.adopt(this.pd.regProcessMr(process.range, access))
    return {
      mr,
      peek: (offset, length) => process.peek(offset, length),
      poke: (offset, bytes) => process.poke(offset, Uint8Array.from(bytes)),
    }
  }

  adopt<T extends VerbsObject>(made: T): T {
    this.#regions.push(made)
    return made
  }

  postRecv(request: Parameters<QueuePair['postRecv']>[0]): void {
    if (this.srq !== null) this.srq.postRecv(request)
    else this.qp.postRecv(request)
  }

  /** The completions that are there now, copied. */
  completions(cq: CompletionQueue): WorkCompletion[] {
    const n = cq.poll(this.#wc)
    return this.#wc.slice(0, Math.max(0, n)).map((wc) => Object.assign(Object.create(Object.getPrototypeOf(wc)), wc))
  }

  /** The only completion of a send; it has this status. */
  sent(status: number = WcStatus.Success): WorkCompletion {
    const all = this.completions(this.sendCq)
    expect(all).toMatchObject([{ status }])
    return all[0]!
  }

  /** The only completion of a receive; it has this status. */
  received(status: number = WcStatus.Success): WorkCompletion {
    const all = this.completions(this.recvCq)
    expect(all).toMatchObject([{ status }])
    return all[0]!
  }

  nothingReceived(): void {
    expect(this.completions(this.recvCq)).toEqual([])
  }

  close(): void {
    this.qp.close()
    this.srq?.close()
    for (const region of this.#regions) if (!region.closed) region.close()
    this.sendCq.close()
    this.recvCq.close()
    this.pd.close()
    for (const buffer of this.#buffers) this.context.free(buffer)
  }
}

export const timing = { timeout: 10, retryCnt: 3, rnrRetry: 7, minRnrTimer: 1, accessFlags: allAccess }

/** For packets: an ACK timeout of a second. */
export const patientTiming = { timeout: 18, retryCnt: 7 }

export function connectSides(a: Side, b: Side, options: ConnectOptions = {}): void {
  const [toA, toB] = [endpointOf(a.qp), endpointOf(b.qp)]
  connectQp(a.qp, toA, a.qp.type === QpType.UD ? null : toB, { ...timing, ...options })
  connectQp(b.qp, toB, b.qp.type === QpType.UD ? null : toA, { ...timing, ...options })
}

export const sge = ({ mr }: Place, offset: number, length: number): { addr: number; length: number; lkey: number } => ({
  addr: mr.addr + offset,
  length,
  lkey: mr.lkey,
})
