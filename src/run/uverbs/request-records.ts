/** Work requests in the queue of a program, in the form of records: its contents, valid or not. */
import { Opcode, QpType, SendFlag } from '../../verbs/index.ts'
import { hasOpcode, operandKind, operandsOf, remoteOpcodes } from '../../verbs/provider/index.ts'
import type { ReceiveRecord, RequestRecord, TraceSge, TraceValue } from '../watch/index.ts'
import type { Ring } from './ring.ts'
import { swapped, type Translated } from './translation.ts'
import { accessNames, hex, hex64, opcodeName, sendFlagNames } from './value-names.ts'
import { Recv, sgeWords, Wqe } from './work-words.ts'

/** More elements than an adapter has are not listed. */
const maxSges = 32

export type Request = Omit<RequestRecord, 'type' | 'timeUs' | 'pid' | 'program' | 'device' | 'reason'>
export type Receive = Omit<ReceiveRecord, 'type' | 'timeUs' | 'pid' | 'program' | 'device'>

function sgesAt({ u32 }: Ring, first: number, count: number): TraceSge[] {
  const list: TraceSge[] = []
  for (let i = 0, s = first; i < Math.min(count, maxSges) && s + sgeWords <= u32.length; i++, s += sgeWords)
    list.push({ addr: hex64(u32[s]!, u32[s + 1]!), length: u32[s + 2]!, lkey: hex(u32[s + 3]!) })
  return list
}

const sum = (list: readonly TraceSge[]): number => list.reduce((all, { length }) => all + length, 0)

/** The request at word `w`. */
export function requestAt(to: Translated, ring: Ring, w: number): Request {
  const { u32 } = ring
  const opcode = u32[w + Wqe.opcode]!
  const flags = u32[w + Wqe.flags]!
  const count = u32[w + Wqe.sges]!
  const isInline = (flags & SendFlag.Inline) !== 0 || count === 0
  const sges = isInline ? [] : sgesAt(ring, w + Wqe.data, count)
  return {
    qpNum: to.qp.qpNum,
    wrId: hex64(u32[w]!, u32[w + 1]!),
    opcode: opcodeName(opcode),
    flags: sendFlagNames(flags),
    fields: fieldsAt(to, ring, w, opcode),
    length: isInline ? (opcode === Opcode.AtomicWrite ? 8 : u32[w + Wqe.length]!) : sum(sges),
    sges,
  }
}

function fieldsAt(to: Translated, { u32 }: Ring, w: number, opcode: number): Record<string, TraceValue> {
  const word = (at: number): string => hex(u32[w + at]!)
  const long = (at: number): string => hex64(u32[w + at]!, u32[w + at + 1]!)
  const ud = to.qp.type === QpType.UD
  const address = ud
    ? { remote_qpn: word(Wqe.remoteQpn), remote_qkey: word(Wqe.remoteQkey), ah: u32[w + Wqe.ahNumber]! }
    : {}
  const imm = { imm: hex(swapped(u32[w + Wqe.immOrRkey]!)) }
  const remote = (key: number): Record<string, TraceValue> =>
    hasOpcode(remoteOpcodes, opcode) ? { remote_addr: long(Wqe.address), rkey: word(key) } : {}
  switch (operandsOf[opcode]) {
    case operandKind.none:
      return { ...address, ...remote(Wqe.rkey) }
    case operandKind.immediate:
      return { ...imm, ...address, ...remote(Wqe.rkey) }
    case operandKind.key:
      return { invalidate_rkey: word(Wqe.immOrRkey) }
    case operandKind.swap:
      return { ...remote(Wqe.atomicRkey), compare_add: long(Wqe.compareAdd), swap: long(Wqe.swap) }
    case operandKind.add:
      return { ...remote(Wqe.atomicRkey), compare_add: long(Wqe.compareAdd) }
    case operandKind.flush:
      return { ...remote(Wqe.flushRkey), type: u32[w + Wqe.flushType]! & 0xff }
    case operandKind.bind:
      return {
        ...{ addr: long(Wqe.address), length: long(Wqe.windowLength), mr_lkey: word(Wqe.regionKey) },
        ...{ mw_rkey: word(Wqe.windowKey), rkey: word(Wqe.newWindowKey) },
        access: accessNames(u32[w + Wqe.windowAccess]!),
      }
    default:
      return {}
  }
}

/** The receive at word `w`, of a queue pair with this number or of an SRQ with this handle. */
export function receiveAt(of: { qpNum: number } | { srq: number }, ring: Ring, w: number): Receive {
  const { u32 } = ring
  const sges = sgesAt(ring, w + Recv.data, u32[w + Recv.sges]!)
  return { ...of, wrId: hex64(u32[w]!, u32[w + 1]!), length: sum(sges), sges }
}
