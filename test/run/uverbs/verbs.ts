/** The verbs of `program.ts`: what ibv_… functions do with commands and queues. */
import type { Program, Queue } from './program.ts'

export interface Cq {
  handle: number
  queue: Queue
  cqe: number
  user: bigint
}

export interface Srq {
  handle: number
  queue: Queue
  maxWr: number
  number: number
}

export interface Qp {
  handle: number
  number: number
  send: Queue
  recv: Queue
  cap: { sendWr: number; recvWr: number; sendSge: number; recvSge: number; inline: number }
}

export interface Mr {
  handle: number
  lkey: number
  rkey: number
  addr: number
  length: number
  bytes: Uint8Array
}

export interface Wc {
  wrId: bigint
  status: number
  opcode: number
  byteLen: number
  imm: number
  invalidated: number
  qpNum: number
  srcQp: number
  flags: number
  slid: number
}

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value >>> 0, 4 * i)
  })
  return bytes
}
const u64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
/** A request that begins with the address of its response. */
export const request = (...parts: Uint8Array[]): Buffer => Buffer.concat([Buffer.alloc(8), ...parts])
export const words = u32
export const long = u64

export const allAccess = 1 | 2 | 4 | 8 | 16
let userHandles = 0x7f00_0000_0000n
const nextUser = (): bigint => {
  userHandles += 0x100n
  return userHandles
}

export function allocPd(program: Program): number {
  return program.invoke(3, request(), 4)[0].readUInt32LE(0)
}

export function regMr(program: Program, pd: number, length: number, access: number = allAccess): Mr {
  const { address, bytes } = program.buffer(length)
  return { ...regRange(program, pd, address, length, access), bytes }
}

export function regRange(
  program: Program,
  pd: number,
  addr: number,
  length: number,
  access: number,
): Omit<Mr, 'bytes'> {
  const [answer] = program.invoke(9, request(u64(addr), u64(length), u64(addr), u32(pd, access)), 12)
  return { handle: answer.readUInt32LE(0), lkey: answer.readUInt32LE(4), rkey: answer.readUInt32LE(8), addr, length }
}

export function allocMw(program: Program, pd: number, type: number): { handle: number; rkey: number } {
  const [answer] = program.invoke(14, request(u32(pd, type)), 8)
  return { handle: answer.readUInt32LE(0), rkey: answer.readUInt32LE(4) }
}

export function createChannel(program: Program): number {
  return program.invoke(17, request(), 4)[0].readInt32LE(0)
}

/** By ioctl, as libraries of today. */
export function createCq(program: Program, cqe: number, channel = -1): Cq {
  const user = nextUser()
  const answer = program.ioctl(3, 0, [
    { id: 0, handle: 0 },
    { id: 1, value: cqe, bytes: 4 },
    { id: 2, value: user, bytes: 8 },
    { id: 4, value: 0, bytes: 4 },
    { id: 6, out: 4 },
    { id: 0x1001, out: 16 },
    ...(channel >= 0 ? [{ id: 3, handle: channel }] : []),
  ])
  const queue = program.map(answer.out.get(0x1001)!)
  return { handle: answer.handles.get(0)!, queue, cqe: answer.out.get(6)!.readUInt32LE(0), user }
}

export function resizeCq(program: Program, cq: Cq, cqe: number): void {
  const [core, driver] = program.invoke(19, request(u32(cq.handle, cqe)), 8, 16)
  cq.cqe = core.readUInt32LE(0)
  cq.queue = program.map(driver)
}

/** Events that were reported: of the channel, asynchronous. */
export function destroyCq(program: Program, cq: Cq): [number, number] {
  const { out } = program.ioctl(3, 1, [
    { id: 0, handle: cq.handle },
    { id: 1, out: 8 },
  ])
  return [out.get(1)!.readUInt32LE(0), out.get(1)!.readUInt32LE(4)]
}

export function reqNotify(program: Program, cq: Cq, solicited = false): void {
  program.invoke(23, u32(cq.handle, solicited ? 1 : 0))
}

export function createSrq(program: Program, pd: number, maxWr: number, maxSge = 1, limit = 0): Srq {
  const answer = program.ioctl(5, 0, [
    { id: 0, handle: 0 },
    { id: 1, handle: pd },
    { id: 4, value: nextUser(), bytes: 8 },
    { id: 5, value: maxWr, bytes: 4 },
    { id: 6, value: maxSge, bytes: 4 },
    { id: 7, value: limit, bytes: 4 },
    { id: 9, value: 0, bytes: 4 },
    { id: 11, out: 4 },
    { id: 12, out: 4 },
    { id: 13, out: 4 },
    { id: 0x1001, out: 24 },
  ])
  const queue = program.map(answer.out.get(0x1001)!)
  return {
    handle: answer.handles.get(0)!,
    queue,
    maxWr: answer.out.get(11)!.readUInt32LE(0),
    number: answer.out.get(0x1001)!.readUInt32LE(16),
  }
}

export interface QpInit {
  type?: number
  sendWr?: number
  recvWr?: number
  sge?: number
  inline?: number
  sigAll?: boolean
  srq?: Srq
}

export function createQp(program: Program, pd: number, sendCq: Cq, recvCq: Cq, init: QpInit = {}): Qp {
  const { type = 2, sendWr = 16, recvWr = 16, sge = 1, inline = 0, sigAll = false, srq } = init
  const answer = program.ioctl(4, 0, [
    { id: 0, handle: 0 },
    { id: 2, handle: pd },
    { id: 4, handle: sendCq.handle },
    { id: 5, handle: recvCq.handle },
    ...(srq ? [{ id: 3, handle: srq.handle }] : []),
    { id: 7, value: nextUser(), bytes: 8 },
    { id: 8, data: u32(sendWr, recvWr, sge, sge, inline) },
    { id: 9, value: type, bytes: 4 },
    { id: 10, value: sigAll ? 1 << 12 : 0, bytes: 4 },
    { id: 13, out: 20 },
    { id: 14, out: 4 },
    { id: 0x1001, out: 32 },
  ])
  const maps = answer.out.get(0x1001)!
  const cap = answer.out.get(13)!
  return {
    handle: answer.handles.get(0)!,
    number: answer.out.get(14)!.readUInt32LE(0),
    recv: srq ? srq.queue : program.map(maps.subarray(0, 16)),
    send: program.map(maps.subarray(16, 32)),
    cap: {
      sendWr: cap.readUInt32LE(0),
      recvWr: cap.readUInt32LE(4),
      sendSge: cap.readUInt32LE(8),
      recvSge: cap.readUInt32LE(12),
      inline: cap.readUInt32LE(16),
    },
  }
}

export function destroy(program: Program, object: number, handle: number): number {
  const answers = object === 4 || object === 5
  const { out } = program.ioctl(object, answers || object === 7 ? 1 : 0, [
    { id: 0, handle },
    ...(answers ? [{ id: 1, out: 4 }] : []),
  ])
  return out.get(1)?.readUInt32LE(0) ?? 0
}
export const destroyQp = (program: Program, qp: Qp): number => destroy(program, 4, qp.handle)

/** Fields of MODIFY_QP by offset; those of one byte begin at 96. */
const modifyAt = {
  qkey: 72,
  rqPsn: 76,
  sqPsn: 80,
  destQpn: 84,
  access: 88,
  state: 96,
  curState: 97,
  mtu: 98,
  sqdNotify: 100,
  rdAtomic: 101,
  destRdAtomic: 102,
  minRnr: 103,
  port: 104,
  timeout: 105,
  retry: 106,
  rnr: 107,
  dlid: 20,
  avPort: 31,
} as const

export function modifyRequest(
  handle: number,
  mask: number,
  values: Partial<Record<keyof typeof modifyAt, number>>,
): Buffer {
  const bytes = Buffer.alloc(112)
  bytes.writeUInt32LE(handle, 64)
  bytes.writeUInt32LE(mask, 68)
  for (const [name, value] of Object.entries(values)) {
    const at = modifyAt[name as keyof typeof modifyAt]
    if (at === 20) bytes.writeUInt16LE(value, at)
    else if (at >= 96 || at === 31) bytes[at] = value
    else bytes.writeUInt32LE(value, at)
  }
  return bytes
}

export function modify(
  program: Program,
  qp: Qp,
  mask: number,
  values: Partial<Record<keyof typeof modifyAt, number>>,
): void {
  program.invoke(26, modifyRequest(qp.handle, mask, values))
}

export function toInit(program: Program, qp: Qp, type = 2): void {
  if (type === 4) modify(program, qp, 0x71, { state: 1, port: 1, qkey: 0x11111111 })
  else modify(program, qp, 0x39, { state: 1, port: 1, access: 1 | 2 | 4 | 8 | 256 })
}

export interface Connection {
  type?: number
  rnr?: number
  timeout?: number
}

/** From RESET to RTS with a peer of the same device. */
export function connect(
  program: Program,
  qp: Qp,
  peer: number,
  { type = 2, rnr = 7, timeout = 14 }: Connection = {},
): void {
  toInit(program, qp, type)
  toRts(program, qp, peer, { type, rnr, timeout })
}

export function toRts(
  program: Program,
  qp: Qp,
  peer: number,
  { type = 2, rnr = 7, timeout = 14 }: Connection = {},
): void {
  const dlid = program.context.queryPort(1).lid
  const path = { dlid, avPort: 1, mtu: 3, destQpn: peer, rqPsn: 1 }
  if (type === 2) {
    modify(program, qp, 0x1 | 0x80 | 0x100 | 0x1000 | 0x8000 | 0x20000 | 0x100000, {
      ...{ state: 2, destRdAtomic: 4, minRnr: 1 },
      ...path,
    })
    modify(program, qp, 0x1 | 0x200 | 0x400 | 0x800 | 0x2000 | 0x10000, {
      ...{ state: 3, timeout, retry: 7, rnr, sqPsn: 1, rdAtomic: 4 },
    })
  } else if (type === 3) {
    modify(program, qp, 0x1 | 0x80 | 0x100 | 0x1000 | 0x100000, { state: 2, ...path })
    modify(program, qp, 0x10001, { state: 3, sqPsn: 1 })
  } else {
    modify(program, qp, 1, { state: 2 })
    modify(program, qp, 0x10001, { state: 3, sqPsn: 1 })
  }
}

export function queryState(program: Program, qp: Qp): number {
  return program.invoke(25, request(u32(qp.handle, 1)), 128)[0][108]!
}

export interface SendWr {
  wrId?: bigint
  opcode: number
  flags?: number
  imm?: number
  /** Of SEND_INV and LOCAL_INV. */
  rkey?: number
  remote?: { addr: number; rkey: number }
  atomic?: { addr: number; rkey: number; compareAdd: bigint; swap?: bigint }
  ud?: { qpn: number; qkey: number; ah: number }
  mw?: { addr: number; length: number; lkey: number; rkey: number; newRkey: number; access: number }
  flush?: { addr: number; rkey: number; length: number; type: number; level: number }
  sges?: readonly { addr: number; length: number; lkey: number }[]
  inline?: Uint8Array
}

export const signaled = 2
export const solicited = 4
export const inlineFlag = 8

/** `rxe_post_send` without the doorbell; false if the queue is full. */
export function writeSend(qp: Qp, wr: SendWr): boolean {
  return qp.send.push((e) => {
    e.writeBigUInt64LE(wr.wrId ?? 0n, 0)
    e.writeUInt32LE(wr.opcode, 12)
    e.writeUInt32LE(wr.flags ?? signaled, 16)
    if (wr.imm !== undefined) e.writeUInt32BE(wr.imm, 20)
    if (wr.rkey !== undefined) e.writeUInt32LE(wr.rkey, 20)
    if (wr.remote) {
      e.writeBigUInt64LE(BigInt(wr.remote.addr), 24)
      e.writeUInt32LE(wr.remote.rkey, 32)
    }
    if (wr.atomic) {
      e.writeBigUInt64LE(BigInt(wr.atomic.addr), 24)
      e.writeBigUInt64LE(wr.atomic.compareAdd, 32)
      e.writeBigUInt64LE(wr.atomic.swap ?? 0n, 40)
      e.writeUInt32LE(wr.atomic.rkey, 48)
    }
    if (wr.ud) {
      e.writeUInt32LE(wr.ud.qpn, 24)
      e.writeUInt32LE(wr.ud.qkey, 28)
      e.writeUInt32LE(wr.ud.ah, 36)
    }
    if (wr.mw) {
      e.writeBigUInt64LE(BigInt(wr.mw.addr), 24)
      e.writeBigUInt64LE(BigInt(wr.mw.length), 32)
      e.writeUInt32LE(wr.mw.lkey, 40)
      e.writeUInt32LE(wr.mw.rkey, 44)
      e.writeUInt32LE(wr.mw.newRkey, 48)
      e.writeUInt32LE(wr.mw.access, 52)
    }
    if (wr.flush) {
      e.writeBigUInt64LE(BigInt(wr.flush.addr), 24)
      e.writeUInt32LE(wr.flush.rkey, 36)
      e[40] = wr.flush.type
      e[41] = wr.flush.level
      e.writeUInt32LE(wr.flush.length, 184)
    }
    if (wr.inline) {
      e.writeUInt32LE(wr.inline.length, 184)
      e.set(wr.inline, 208)
    }
    const sges = wr.sges ?? []
    if (sges.length > 0)
      e.writeUInt32LE(
        sges.reduce((sum, { length }) => sum + length, 0),
        184,
      )
    e.writeUInt32LE(sges.length, 196)
    sges.forEach(({ addr, length, lkey }, i) => {
      e.writeBigUInt64LE(BigInt(addr), 208 + 16 * i)
      e.writeUInt32LE(length, 216 + 16 * i)
      e.writeUInt32LE(lkey, 220 + 16 * i)
    })
  })
}

export function postSend(program: Program, qp: Qp, ...wrs: SendWr[]): void {
  for (const wr of wrs) if (!writeSend(qp, wr)) throw new Error('the send queue is full')
  program.ring(qp.handle)
}

/** `rxe_post_recv`: nobody is told. */
export function postRecv(
  queue: Queue,
  wrId: bigint,
  ...sges: { addr: number; length: number; lkey: number }[]
): boolean {
  return queue.push((e) => {
    e.writeBigUInt64LE(wrId, 0)
    e.writeUInt32LE(
      sges.reduce((sum, { length }) => sum + length, 0),
      16,
    )
    e.writeUInt32LE(sges.length, 28)
    sges.forEach(({ addr, length, lkey }, i) => {
      e.writeBigUInt64LE(BigInt(addr), 40 + 16 * i)
      e.writeUInt32LE(length, 48 + 16 * i)
      e.writeUInt32LE(lkey, 52 + 16 * i)
    })
  })
}

export const sge = (mr: Omit<Mr, 'bytes'>, offset = 0, length: number = mr.length - offset) => ({
  addr: mr.addr + offset,
  length,
  lkey: mr.lkey,
})

export function poll({ queue }: Cq): Wc | null {
  const e = queue.pop()
  if (e === null) return null
  return {
    wrId: e.readBigUInt64LE(0),
    status: e.readUInt32LE(8),
    opcode: e.readUInt32LE(12),
    byteLen: e.readUInt32LE(20),
    imm: e.readUInt32BE(24),
    invalidated: e.readUInt32LE(24),
    qpNum: e.readUInt32LE(28),
    srcQp: e.readUInt32LE(32),
    flags: e.readUInt32LE(36),
    slid: e.readUInt16LE(42),
  }
}

export function pollAll(cq: Cq): Wc[] {
  const all: Wc[] = []
  for (let wc = poll(cq); wc !== null; wc = poll(cq)) all.push(wc)
  return all
}

export function createAh(
  program: Program,
  pd: number,
  dlid: number = program.context.queryPort(1).lid,
  gid?: Uint8Array,
): number {
  const bytes = Buffer.alloc(56)
  bytes.writeUInt32LE(pd, 16)
  bytes.writeUInt16LE(dlid, 48)
  bytes[54] = 1
  if (gid) {
    bytes.set(gid, 24)
    bytes[53] = 1
  }
  return program.invoke(5, bytes, 4, 8)[1].readUInt32LE(0)
}
