/**
 * Work requests as objects of one shape, so that posting them is fast. Prepare one with `sendWr` or `recvWr`, post it as
 * often as you like and change its fields in between; a literal given to `postSend` is turned into one first.
 */
import { describe } from './arguments.ts'
import type { AddressHandleLike, RecvWrInit, SendWrInit, Sge } from './attributes.ts'
import { Access, FlushPlacement, MwType, nameOf, Opcode, type QpType, SendFlag } from './constants.ts'
import { VerbsError } from './errors.ts'
import { hasOpcode, operandKind, operandsOf, remoteOpcodes } from './operations.ts'

/** A scatter/gather element: `length` bytes at device address `addr`, in the region with this lkey. */
export class ScatterGather implements Sge {
  /** Device address of the first byte. */
  addr: number
  /** Bytes. */
  length: number
  /** The local key of the region that holds them. */
  lkey: number
  constructor(addr: number, length: number, lkey: number) {
    this.addr = addr
    this.length = length
    this.lkey = lkey
  }
}

/** `ibv_recv_wr`, prepared. */
export class RecvWorkRequest {
  /** ID that the completion returns. */
  wrId: number
  /** Scatter list for the message. */
  sgList: ScatterGather[]
  /** The next request of a list that is posted together. */
  next: RecvWorkRequest | null = null

  constructor(wrId: number, sgList: ScatterGather[]) {
    this.wrId = wrId
    this.sgList = sgList
  }
}

/** `ibv_send_wr`, prepared. Fields that its operation does not have keep their neutral value. */
export class SendWorkRequest {
  /** ID that the completion returns. */
  wrId: number
  /** The operation. */
  opcode: Opcode
  /** Bits of `SendFlag`. */
  sendFlags: number
  /** Gather list of the message, or scatter list of a response. */
  sgList: ScatterGather[]
  /** SEND and WRITE with immediate: 32 bits. */
  immData = 0
  /** SEND with invalidate, LOCAL_INV: the key that ends. */
  invalidateRkey = 0
  /** Address in the peer's memory region. */
  remoteAddr = 0
  /** The key of the peer's region or window. */
  rkey = 0
  /** Atomics: the value to compare with, or to add; 64 bits. */
  compareAdd = 0n
  /** Compare and swap: the new value; 64 bits. */
  swap = 0n
  /** UD: the path. */
  ah: AddressHandleLike | null = null
  /** UD: the QP number of the destination. */
  remoteQpn = 0
  /** UD: the destination's Q_Key. */
  remoteQkey = 0
  /** FLUSH: bytes from remoteAddr. */
  flushLength = 0
  /** FLUSH: bits of `FlushPlacement`. */
  placement = 0
  /** FLUSH: of `FlushSelectivity`. */
  selectivity = 0
  /** BIND_MW: the window's present key. */
  mwRkey = 0
  /** BIND_MW: the type of the window. */
  mwType = 0
  /** BIND_MW: the key that the window gets. */
  mwNewRkey = 0
  /** BIND_MW: the local key of the region. */
  mrLkey = 0
  /** BIND_MW: first address of the window. */
  bindAddr = 0
  /** BIND_MW: bytes of the window. */
  bindLength = 0
  /** BIND_MW: bits of `Access`. */
  bindAccess = 0
  /** The next request of a list that is posted together. */
  next: SendWorkRequest | null = null

  constructor(wrId: number, opcode: Opcode, sendFlags: number, sgList: ScatterGather[]) {
    this.wrId = wrId
    this.opcode = opcode
    this.sendFlags = sendFlags
    this.sgList = sgList
  }
}

/** The highest address, and the highest `wrId`. */
export const maxAddress: number = Number.MAX_SAFE_INTEGER

/** The value, if it is an integer from 0 to `max`; else EINVAL names it. */
export function integer(verb: string, name: string, value: unknown, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max)
    throw new VerbsError('EINVAL', verb, `${name} must be an integer from 0 to ${max}, not ${describe(value)}`)
  return value
}

/** A 32-bit key or immediate: both the signed and the unsigned form of a word are accepted. */
export function word(verb: string, name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < -0x80000000 || value > 0xffffffff)
    throw new VerbsError('EINVAL', verb, `${name} must be a 32-bit integer, not ${describe(value)}`)
  return value
}

/** The value cut to 64 bits, if it is a bigint; else EINVAL names it. */
export function long(verb: string, name: string, value: unknown): bigint {
  if (typeof value !== 'bigint')
    throw new VerbsError('EINVAL', verb, `${name} must be a bigint of 64 bits, not ${describe(value)}`)
  return BigInt.asUintN(64, value)
}

/** A checked copy of a scatter/gather list. */
export function sgesOf(verb: string, list: readonly Sge[] | undefined): ScatterGather[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) throw new VerbsError('EINVAL', verb, `sgList must be an array, not ${describe(list)}`)
  return list.map((sge, i) => {
    if (typeof sge !== 'object' || sge === null)
      throw new VerbsError('EINVAL', verb, `sgList[${i}] must be {addr, length, lkey}`)
    return new ScatterGather(
      integer(verb, `sgList[${i}].addr`, sge.addr, maxAddress),
      integer(verb, `sgList[${i}].length`, sge.length, 0x7fffffff),
      word(verb, `sgList[${i}].lkey`, sge.lkey),
    )
  })
}

/** Names of all fields of send and receive work requests. */
const fieldNames: ReadonlySet<string> = new Set([
  ...[
    'wrId',
    'opcode',
    'sendFlags',
    'sgList',
    'next',
    'immData',
    'invalidateRkey',
    'remoteAddr',
    'rkey',
    'ah',
    'remoteQpn',
  ],
  ...['remoteQkey', 'compareAdd', 'swap', 'flushLength', 'placement', 'selectivity', 'bindMw'],
])

/**
 * Number of requests of a thread that are searched for unknown field names; after them one of `searchedOneOf` is. A search of each would
 * cost half of the time to prepare it, and of one of 64 a tenth, as code that seldom runs is slow; one of 4096 costs nothing that can be
 * measured.
 */
const searchedFirst = 1000
const searchedOneOf = 4096
let searches = 0
let sinceSearch = 0
let searchAfter = 1

/**
 * A request may have a field by another name (`sge`, `send_flags`), and would do without it. EINVAL names a key that is none of a request's.
 * A misspelt name stands in the program, so the requests that it prepares first have it; one without `sgList` is always searched.
 */
function checkNames(verb: string, init: object): void {
  sinceSearch = 0
  if (++searches === searchedFirst) searchAfter = searchedOneOf
  for (const name in init) {
    if (fieldNames.has(name)) continue
    throw new VerbsError('EINVAL', verb, `a work request has no field '${name}', but ${[...fieldNames].join(', ')}`)
  }
}

/** Prepares a receive work request, with all that are linked to it. */
export function recvWr(init: RecvWrInit): RecvWorkRequest {
  const verb = 'postRecv'
  if (typeof init !== 'object' || init === null)
    throw new VerbsError('EINVAL', verb, `a work request must be an object, not ${describe(init)}`)
  const first = received(verb, init)
  let last = first
  for (let next = init.next; next; next = next.next) {
    if (next instanceof RecvWorkRequest) {
      last.next = next
      break
    }
    last.next = received(verb, next)
    last = last.next
  }
  return first
}

function received(verb: string, init: RecvWrInit): RecvWorkRequest {
  if (init.sgList === undefined || ++sinceSearch >= searchAfter) checkNames(verb, init)
  return new RecvWorkRequest(integer(verb, 'wrId', init.wrId ?? 0, maxAddress), sgesOf(verb, init.sgList))
}

/** Mask of all bits that `sendFlags` may have. */
export const allFlags: number = SendFlag.Fence | SendFlag.Signaled | SendFlag.Solicited | SendFlag.Inline
const opcodes: ReadonlySet<number> = new Set(Object.values(Opcode))

/** Prepares a send work request, with all that are linked to it; its errors name the field that is missing or wrong. */
export function sendWr<T extends QpType>(init: SendWrInit<T>): SendWorkRequest {
  const first = prepare(init as SendWrInit)
  let last = first
  for (let next = (init as SendWrInit).next; next; next = next.next) {
    if (next instanceof SendWorkRequest) {
      last.next = next
      break
    }
    last.next = prepare(next)
    last = last.next
  }
  return first
}

function prepare(init: SendWrInit): SendWorkRequest {
  const verb = 'postSend'
  if (typeof init !== 'object' || init === null)
    throw new VerbsError('EINVAL', verb, `a work request must be an object, not ${describe(init)}`)
  if (!opcodes.has(init.opcode))
    throw new VerbsError('EINVAL', verb, `opcode must be one of Opcode, not ${describe(init.opcode)}`)
  if (init.sgList === undefined || ++sinceSearch >= searchAfter) checkNames(verb, init)
  const flags = integer(verb, 'sendFlags', init.sendFlags ?? 0, 0xffff)
  if ((flags & ~allFlags) !== 0)
    throw new VerbsError('EINVAL', verb, `sendFlags has unknown bits 0x${(flags & ~allFlags).toString(16)}`)
  const wr = new SendWorkRequest(
    integer(verb, 'wrId', init.wrId ?? 0, maxAddress),
    init.opcode,
    flags,
    sgesOf(verb, init.sgList),
  )
  const fields = init as unknown as Record<string, unknown>
  switch (operandsOf[init.opcode]) {
    case operandKind.immediate:
      wr.immData = word(verb, 'immData', fields.immData)
      break
    case operandKind.key:
      wr.invalidateRkey = word(verb, 'invalidateRkey', fields.invalidateRkey)
      break
    case operandKind.swap:
      wr.swap = long(verb, 'swap', fields.swap)
      wr.compareAdd = long(verb, 'compareAdd', fields.compareAdd)
      break
    case operandKind.add:
      wr.compareAdd = long(verb, 'compareAdd', fields.compareAdd)
      break
    case operandKind.flush:
      wr.flushLength = integer(verb, 'flushLength', fields.flushLength, 0xffffffff)
      wr.placement = integer(verb, 'placement', fields.placement, FlushPlacement.Global | FlushPlacement.Persistent)
      if (wr.placement === 0) throw new VerbsError('EINVAL', verb, 'placement must have a bit of FlushPlacement')
      wr.selectivity = integer(verb, 'selectivity', fields.selectivity, 1)
      break
    case operandKind.bind:
      prepareBind(wr, init)
      break
  }
  if ('remoteAddr' in init) {
    wr.remoteAddr = integer(verb, 'remoteAddr', fields.remoteAddr, maxAddress)
    wr.rkey = word(verb, 'rkey', fields.rkey)
  } else if (hasOpcode(remoteOpcodes, (init as { opcode: number }).opcode))
    throw new VerbsError(
      'EINVAL',
      verb,
      `opcode ${nameOf(Opcode, (init as { opcode: number }).opcode)} needs remoteAddr and rkey`,
    )
  if ('ah' in init && init.ah) {
    wr.ah = init.ah
    wr.remoteQpn = integer(verb, 'remoteQpn', fields.remoteQpn, 0xffffff)
    wr.remoteQkey = word(verb, 'remoteQkey', fields.remoteQkey)
  }
  return wr
}

const bindAccessFlags = Access.RemoteRead | Access.RemoteWrite | Access.RemoteAtomic | Access.ZeroBased | Access.MwBind

function prepareBind(wr: SendWorkRequest, init: SendWrInit): void {
  const verb = 'postSend'
  const bind = (
    init as {
      bindMw?: {
        mw?: { rkey: number; type: MwType }
        rkey?: number
        mr?: { lkey: number }
        addr: number
        length: number
        accessFlags: number
      }
    }
  ).bindMw
  if (!bind?.mw || !bind.mr)
    throw new VerbsError('EINVAL', verb, 'bindMw needs mw, mr, rkey, addr, length and accessFlags')
  if (bind.mw.type !== MwType.Type2)
    throw new VerbsError('EINVAL', verb, 'BIND_MW takes windows of type 2; bind a type 1 window with qp.bindMw')
  fillBind(
    wr,
    bind.mw,
    word(verb, 'bindMw.rkey', bind.rkey),
    bind.mr.lkey,
    bind.addr,
    bind.length,
    bind.accessFlags,
    verb,
  )
}

/** Writes the fields of a bind; `newRkey` is the key that the window will have. */
export function fillBind(
  wr: SendWorkRequest,
  mw: { rkey: number; type: MwType },
  newRkey: number,
  mrLkey: number,
  addr: number,
  length: number,
  access: number,
  verb: string,
): void {
  wr.mwRkey = word(verb, 'mw.rkey', mw.rkey)
  wr.mwType = mw.type
  wr.mwNewRkey = word(verb, 'rkey', newRkey)
  wr.mrLkey = word(verb, 'mr.lkey', mrLkey)
  wr.bindAddr = integer(verb, 'addr', addr, maxAddress)
  wr.bindLength = integer(verb, 'length', length, maxAddress)
  wr.bindAccess = integer(verb, 'accessFlags', access, bindAccessFlags)
  if ((wr.bindAccess & ~bindAccessFlags) !== 0)
    throw new VerbsError('EINVAL', verb, 'accessFlags of a window can be remote rights and ZeroBased only')
}

/** The next key for a type 2 window: its low 8 bits belong to the user (`ibv_inc_rkey`). */
export function incRkey(rkey: number): number {
  if (typeof rkey !== 'number')
    throw new VerbsError('EINVAL', 'incRkey', `rkey must be a number, not ${describe(rkey)}`)
  return ((rkey & 0xffffff00) | ((rkey + 1) & 0xff)) >>> 0
}
