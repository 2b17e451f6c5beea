/**
 * The operations of a send queue: the fields of their requests, and a table with a row for each. The masks and arrays that the data
 * path reads are made of the rows when this is loaded: bit or index n is of opcode n.
 */
import { type FlushSelectivity, type MwType, Opcode, QpType, WcOpcode } from './constants.ts'

/** Operands of a request besides its elements and the address at the peer. */
export const operandKind = {
  none: 0,
  /** `immData` */
  immediate: 1,
  /** `invalidateRkey` */
  key: 2,
  /** `compareAdd` and `swap` */
  swap: 3,
  /** `compareAdd` */
  add: 4,
  /** `flushLength`, `placement`, `selectivity` */
  flush: 5,
  /** The fields of `bindMw` */
  bind: 6,
} as const
export type OperandKind = (typeof operandKind)[keyof typeof operandKind]

interface Operation {
  readonly opcode: Opcode
  /** Types of queue pair that execute it. */
  readonly types: readonly QpType[]
  /** The opcode of its completion. */
  readonly completion: WcOpcode
  readonly operands: OperandKind
  /** True if it names memory of the peer. */
  readonly isRemote?: true
  /** True if it takes a receive of the peer; it may solicit an event there. */
  readonly takesReceive?: true
  /** True if its elements may be copied into the request (`SendFlag.Inline`). */
  readonly isInlineable?: true
  /**
   * Kind of the response, for which the responder keeps a resource: one that fills the elements of the request, whose byte count is in the
   * completion, or an empty one.
   */
  readonly response?: 'fills' | 'empty'
}

type Opcodes = typeof Opcode
type Remote = {
  /** Address in the peer's memory region. */
  remoteAddr: number
  /** The key of the peer's region or window. */
  rkey: number
}

/** The fields that each operation needs, `ibv_send_wr` with its unions resolved. One opcode each: a QP type permits some of them. */
export type SendOperation =
  | { opcode: Opcodes['Send'] }
  | { opcode: Opcodes['SendWithImm']; immData: number }
  | { opcode: Opcodes['SendWithInv']; invalidateRkey: number }
  | ({ opcode: Opcodes['Write'] } & Remote)
  | ({ opcode: Opcodes['WriteWithImm']; immData: number } & Remote)
  | ({ opcode: Opcodes['Read'] } & Remote)
  | ({ opcode: Opcodes['AtomicCmpAndSwp']; compareAdd: bigint; swap: bigint } & Remote)
  | ({ opcode: Opcodes['AtomicFetchAndAdd']; compareAdd: bigint } & Remote)
  | ({ opcode: Opcodes['Flush']; flushLength: number; placement: number; selectivity: FlushSelectivity } & Remote)
  | ({ opcode: Opcodes['AtomicWrite'] } & Remote)
  | { opcode: Opcodes['LocalInv']; invalidateRkey: number }
  | { opcode: Opcodes['BindMw']; bindMw: MwBind & { mw: { rkey: number; type: MwType }; rkey: number } }

/** `ibv_mw_bind_info`: an empty `length` unbinds. */
export interface MwBind {
  /** The region that the window opens, with `Access.MwBind`. */
  mr: { lkey: number }
  /** First address of the window, in the region. */
  addr: number
  /** Bytes. */
  length: number
  /** Remote rights of `Access`. */
  accessFlags: number
}

/** Operations of UD, as in the table. */
export type UdOpcode = Opcodes['Send'] | Opcodes['SendWithImm']
/** Operations of UC, as in the table. */
export type UcOpcode = UdOpcode | Opcodes['Write'] | Opcodes['WriteWithImm'] | Opcodes['LocalInv'] | Opcodes['BindMw']

const { RC, UC, UD, GSI } = QpType
const { none, immediate, key, swap, add, flush, bind } = operandKind
const O = Opcode
const C = WcOpcode

/** A new operation is a row, its packets in `transport/requester.ts`, and what executes it: docs/internals/recipes.md has the steps. */
const operations: readonly Operation[] = [
  // IBA 9.4.3: RDMA WRITE, on reliable and unreliable connections.
  {
    ...{ opcode: O.Write, types: [RC, UC], completion: C.Write, operands: none },
    ...{ isRemote: true, isInlineable: true },
  },
  {
    ...{ opcode: O.WriteWithImm, types: [RC, UC], completion: C.Write, operands: immediate },
    ...{ isRemote: true, isInlineable: true, takesReceive: true },
  },
  // IBA 9.4.1: SEND, on all of them.
  {
    ...{ opcode: O.Send, types: [RC, UC, UD, GSI], completion: C.Send, operands: none },
    ...{ isInlineable: true, takesReceive: true },
  },
  {
    ...{ opcode: O.SendWithImm, types: [RC, UC, UD], completion: C.Send, operands: immediate },
    ...{ isInlineable: true, takesReceive: true },
  },
  // IBA 9.4.1.1: SEND with Invalidate, on reliable connections alone.
  {
    ...{ opcode: O.SendWithInv, types: [RC], completion: C.Send, operands: key },
    ...{ isInlineable: true, takesReceive: true },
  },
  // IBA 9.4.4: RDMA READ, on reliable connections alone.
  {
    ...{ opcode: O.Read, types: [RC], completion: C.Read, operands: none },
    ...{ isRemote: true, response: 'fills' },
  },
  // IBA 9.4.5: atomic operations, on reliable connections alone.
  {
    ...{ opcode: O.AtomicCmpAndSwp, types: [RC], completion: C.CompSwap, operands: swap },
    ...{ isRemote: true, response: 'fills' },
  },
  {
    ...{ opcode: O.AtomicFetchAndAdd, types: [RC], completion: C.FetchAdd, operands: add },
    ...{ isRemote: true, response: 'fills' },
  },
  // IBA A19.4.1.1: FLUSH, and ATOMIC WRITE, on reliable connections alone.
  {
    ...{ opcode: O.Flush, types: [RC], completion: C.Flush, operands: flush },
    ...{ isRemote: true, response: 'empty' },
  },
  {
    ...{ opcode: O.AtomicWrite, types: [RC], completion: C.AtomicWrite, operands: none },
    ...{ isRemote: true, isInlineable: true, response: 'empty' },
  },
  // The adapter executes these by itself: they make no packet.
  { opcode: O.LocalInv, types: [RC, UC], completion: C.LocalInv, operands: key },
  { opcode: O.BindMw, types: [RC, UC], completion: C.BindMw, operands: bind },
]

function maskOf(has: (operation: Operation) => boolean): number {
  return operations.reduce((mask, operation) => mask | (has(operation) ? 1 << operation.opcode : 0), 0)
}

function byOpcode(of: (operation: Operation) => number): Uint8Array {
  const values = new Uint8Array(16)
  for (const operation of operations) values[operation.opcode] = of(operation)
  return values
}

/** True if a mask has this opcode. A word that another process has written may be any number. */
export function hasOpcode(mask: number, opcode: number): boolean {
  return opcode >>> 0 < 16 && ((mask >>> opcode) & 1) !== 0
}

/** Operations that a type of queue pair executes. */
export const legalOpcodes: Readonly<Record<QpType, number>> = {
  [RC]: maskOf(({ types }) => types.includes(RC)),
  [UC]: maskOf(({ types }) => types.includes(UC)),
  [UD]: maskOf(({ types }) => types.includes(UD)),
  [GSI]: maskOf(({ types }) => types.includes(GSI)),
}

/** Operations whose payload may be inline. */
export const inlineOpcodes: number = maskOf(({ isInlineable }) => isInlineable === true)
/** Operations that name memory of the peer. */
export const remoteOpcodes: number = maskOf(({ isRemote }) => isRemote === true)
/** Operations that take a receive of the peer. */
export const receiveOpcodes: number = maskOf(({ takesReceive }) => takesReceive === true)
/** Operations that the responder answers with a response, for which it keeps a resource. */
export const answeredOpcodes: number = maskOf(({ response }) => response !== undefined)
/** Answered operations whose response fills the elements of the request. */
export const fillingOpcodes: number = maskOf(({ response }) => response === 'fills')
/** Atomic operations with an old value as the response. */
export const atomicOpcodes: number = maskOf(({ operands }) => operands === swap || operands === add)
/** Operations that the adapter executes by itself. */
export const localOpcodes: number = maskOf((o) => o.isRemote !== true && o.takesReceive !== true)

/** The completion's opcode (`WcOpcode`) of each opcode. */
export const completionOpcodes: Uint8Array = byOpcode(({ completion }) => completion)
/** The `operandKind` of each opcode. */
export const operandsOf: Uint8Array = byOpcode(({ operands }) => operands)
