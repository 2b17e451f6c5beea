/**
 * One end of a connection with everything that traffic needs, and the parameters that the conformance list gives:
 * messages of 1024 bytes, path MTU 1024, RNR timer code 12, 7 retries, timeout code 14, Q_Key 0x11111111.
 */
import { expect } from 'vitest'
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type ConnectOptions,
  type Context,
  incRkey,
  type MemoryRegion,
  type MemoryWindow,
  MwType,
  Opcode,
  type ProtectionDomain,
  type QpCap,
  type QpEndpoint,
  QpState,
  type QpType,
  type QueuePair,
  SendFlag,
  type SendWrInit,
  type Sge,
  type SharedReceiveQueue,
} from '../../src/index.ts'
import type { Completion, Setup } from './rig.ts'

/** All that an adapter can grant: every flag of `Access` that is a permission. */
export const fullAccess =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind
const remoteAccess = Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic

export const defaults = {
  message: 1024,
  bytes: 16384,
  qkey: 0x11111111,
  cap: { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 } as QpCap,
  cqe: 256,
  connect: {
    pathMtu: 1024,
    accessFlags: fullAccess & ~Access.MwBind,
    timeout: 14,
    retryCnt: 7,
    rnrRetry: 7,
    minRnrTimer: 12,
    maxRdAtomic: 4,
    maxDestRdAtomic: 4,
    qkey: 0x11111111,
  } as ConnectOptions,
} as const

export interface EndOptions {
  cap?: Partial<QpCap>
  sqSigAll?: boolean
  /** Access of the memory region. */
  access?: number
  /** Size of buffer and region. */
  bytes?: number
  cqe?: number
  /** Completion events of both CQs arrive at a channel. */
  events?: boolean
  /** An object to share instead of a new one. */
  pd?: ProtectionDomain
  cq?: CompletionQueue
  srq?: SharedReceiveQueue
}

/** What a test may say about a request; the rest is derived from the two ends. */
export interface Fields {
  wrId?: number
  sendFlags?: number
  sgList?: readonly Sge[]
  /** Where in the local buffer, and in the remote one, and how much. */
  offset?: number
  remoteOffset?: number
  length?: number
  [field: string]: unknown
}

export class End<T extends QpType = QpType> {
  readonly context: Context
  readonly pd: ProtectionDomain
  readonly channel: CompletionChannel | null
  readonly sendCq: CompletionQueue
  readonly recvCq: CompletionQueue
  readonly buffer: Uint8Array
  readonly mr: MemoryRegion
  readonly qp: QueuePair<T>
  endpoint!: QpEndpoint

  constructor(t: Setup, context: Context, type: T, options: EndOptions) {
    this.context = context
    this.pd = options.pd ?? t.own(context.allocPd())
    this.channel = options.events ? t.own(context.createCompChannel()) : null
    const cqe = options.cqe ?? defaults.cqe
    const init = this.channel ? { channel: this.channel } : {}
    this.sendCq = options.cq ?? t.own(context.createCq(cqe, init))
    this.recvCq = options.cq ?? t.own(context.createCq(cqe, init))
    this.buffer = t.alloc(context, options.bytes ?? defaults.bytes)
    this.mr = this.region(t, options.access ?? fullAccess)
    const { srq, sqSigAll } = options
    const cap = { ...defaults.cap, ...options.cap }
    const { sendCq, recvCq } = this
    const extra = { ...(srq ? { srq } : {}), ...(sqSigAll === undefined ? {} : { sqSigAll }) }
    this.qp = t.own(this.pd.createQp({ type, sendCq, recvCq, cap, ...extra }))
    this.endpoint = t.endpoint(this as unknown as End)
  }

  /** Another region over the buffer, or over a part of it. */
  region(t: Setup, access: number, buffer: Uint8Array = this.buffer): MemoryRegion {
    return t.own(this.pd.regMr(buffer, access))
  }

  sge(offset = 0, length: number = defaults.message): Sge {
    return { addr: this.mr.addr + offset, length, lkey: this.mr.lkey }
  }

  recv(wrId = 1, offset = 0, length: number = defaults.message): void {
    this.qp.postRecv({ wrId, sgList: [this.sge(offset, length)] })
  }

  /** A signaled request with wrId 1 between the two buffers, as `fields` change it. */
  request(opcode: number, to: End | null, fields: Fields = {}): SendWrInit<T> {
    const { offset = 0, remoteOffset = 0, ...rest } = fields
    const isAtomic =
      opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd || opcode === Opcode.AtomicWrite
    const { length = isAtomic ? 8 : defaults.message, ...given } = rest
    const hasData = opcode !== Opcode.LocalInv && opcode !== Opcode.BindMw && opcode !== Opcode.Flush
    return {
      wrId: 1,
      opcode,
      sendFlags: SendFlag.Signaled,
      sgList: hasData ? [this.sge(offset, length)] : [],
      ...(to && usesRemoteAddress.has(opcode) ? { remoteAddr: to.mr.addr + remoteOffset, rkey: to.mr.rkey } : {}),
      ...given,
    } as unknown as SendWrInit<T>
  }

  post(opcode: number, to: End | null, fields: Fields = {}): void {
    this.qp.postSend(this.request(opcode, to, fields))
  }

  /** What a datagram to `to` needs in addition. */
  datagram(t: Setup, to: End): Fields {
    return { ah: t.ah(this as unknown as End, to), remoteQpn: to.qp.qpNum, remoteQkey: defaults.qkey }
  }

  /** Binds a window over part of the buffer and gives its rkey. */
  async bind(t: Setup, mw: MemoryWindow, fields: BindFields = {}): Promise<{ completion: Completion; rkey: number }> {
    const { mr = this.mr, addr = this.mr.addr, length = this.buffer.length, accessFlags = remoteAccess } = fields
    const info = { mr, addr, length, accessFlags }
    if (mw.type === MwType.Type1) {
      this.qp.bindMw(mw, info, { wrId: 7, sendFlags: SendFlag.Signaled })
      const completion = await t.pollOne(this.sendCq)
      return { completion, rkey: mw.rkey }
    }
    const rkey = fields.rkey ?? incRkey(mw.rkey)
    const completion = await t.run(this as unknown as End, Opcode.BindMw, null, {
      wrId: 7,
      bindMw: { ...info, mw, rkey },
    })
    // As in libibverbs, it is for the consumer to note the key of a type 2 window.
    if (completion.status === 'Success') mw.rkey = rkey
    return { completion, rkey }
  }

  /** The same, and it must succeed. */
  async bound(t: Setup, type: MwType, fields: BindFields = {}): Promise<{ mw: MemoryWindow; rkey: number }> {
    const mw = t.own(this.pd.allocMw(type))
    const { completion, rkey } = await this.bind(t, mw, fields)
    expect(completion).toMatchObject({ wrId: 7, status: 'Success', opcode: 'BindMw' })
    return { mw, rkey }
  }

  expectState(state: keyof typeof QpState): void {
    expect(this.qp.query().attr.state).toBe(QpState[state])
    expect(this.qp.state).toBe(QpState[state])
  }
}

export interface BindFields {
  mr?: MemoryRegion
  addr?: number
  length?: number
  accessFlags?: number
  rkey?: number
}

const usesRemoteAddress: ReadonlySet<number> = new Set([
  Opcode.Write,
  Opcode.WriteWithImm,
  Opcode.Read,
  Opcode.AtomicCmpAndSwp,
  Opcode.AtomicFetchAndAdd,
  Opcode.AtomicWrite,
  Opcode.Flush,
])

/** Bytes that are different at every place and for every `seed`. */
export function pattern(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 7 + (i >>> 8) * 13 + seed * 31) & 0xff
  return bytes
}

/** Compares without the cost of a structural comparison of large arrays. */
export function expectBytes(actual: Uint8Array, expected: Uint8Array): void {
  const same = Buffer.compare(actual, expected) === 0
  if (same) return
  const at = actual.findIndex((byte, i) => byte !== expected[i])
  expect.fail(`bytes differ from ${at} of ${expected.length}: got ${actual[at]}, expected ${expected[at]}`)
}

export function read64(buffer: Uint8Array, offset = 0): bigint {
  return new BigUint64Array(buffer.buffer, buffer.byteOffset + offset, 1)[0]!
}

export function write64(buffer: Uint8Array, offset: number, value: bigint): void {
  new BigUint64Array(buffer.buffer, buffer.byteOffset + offset, 1)[0] = value
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}
