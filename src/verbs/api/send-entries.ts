/** Writes a send work request into an entry of the send queue, and determines why it cannot be written. */
import { nameOf, Opcode, QpType, SendFlag } from '../provider/constants.ts'
import type { Host } from '../provider/host.ts'
import { Qp, Sg, Wqe } from '../provider/layout.ts'
import { hasOpcode, inlineOpcodes, legalOpcodes, operandKind, operandsOf } from '../provider/operations.ts'
import type { SendWorkRequest } from '../provider/work-request.ts'
import type { AddressHandle } from './objects.ts'

/** Reasons why a request cannot be posted; 0 is none of these. */
export const badFull = 1
const badOpcode = 2
export const badSges = 3
const badAh = 4
const badAhPd = 5
const badInline = 6
const badInlineAddress = 7
const badInlineOpcode = 8
export const badField = 9
export const badGone = 10

export class SendEntries {
  readonly maxSendWr: number
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #type: QpType
  readonly #pdRef: number
  readonly #ring: number
  readonly #mask: number
  readonly #stride: number
  readonly #maxSendSge: number
  readonly #maxInlineData: number
  readonly #legal: number
  readonly #datagram: boolean

  /** Makes the writer for the QP whose record begins at `q`. */
  constructor(host: Host, q: number, type: QpType, pdRef: number) {
    const { i32 } = host
    this.#host = host
    this.#i32 = i32
    this.#f64 = host.f64
    this.#type = type
    this.#pdRef = pdRef
    this.#ring = i32[q + Qp.sqRing]!
    this.#mask = i32[q + Qp.sqMask]!
    this.#stride = i32[q + Qp.sqStride]!
    this.maxSendWr = i32[q + Qp.maxSendWr]!
    this.#maxSendSge = i32[q + Qp.maxSendSge]!
    this.#maxInlineData = i32[q + Qp.maxInlineData]!
    this.#legal = legalOpcodes[type]
    this.#datagram = type === QpType.UD || type === QpType.GSI
  }

  /** First word of the entry with this index. */
  entry(index: number): number {
    return this.#ring + (index & this.#mask) * this.#stride
  }

  /** Writes one request into the entry at `w`; 0, or a reason for which it cannot be posted. */
  write(w: number, wr: SendWorkRequest): number {
    const i32 = this.#i32
    const f64 = this.#f64
    const { opcode, sendFlags, sgList } = wr
    if ((opcode & 15) !== opcode || !hasOpcode(this.#legal, opcode)) return badOpcode
    const sges = sgList.length
    if (sges > this.#maxSendSge) return badSges
    i32[w + Wqe.opcode] = opcode
    i32[w + Wqe.flags] = sendFlags
    f64[(w + Wqe.wrId) >> 1] = wr.wrId
    i32[w + Wqe.sges] = sges
    const operands = operandsOf[opcode]!
    if (operands === operandKind.immediate) i32[w + Wqe.immData] = wr.immData
    else if (operands !== operandKind.none) this.#writeRare(w, wr, operands)
    if (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm) {
      f64[(w + Wqe.remoteAddr) >> 1] = wr.remoteAddr
      i32[w + Wqe.rkey] = wr.rkey
    }
    if (this.#datagram) {
      const { ah } = wr
      if (ah === null) return badAh
      // IBA C10-10: an address handle serves the QPs of its protection domain; others get an immediate error.
      if (ah.pdRef !== this.#pdRef) return badAhPd
      i32[w + Wqe.remoteQpn] = wr.remoteQpn
      i32[w + Wqe.remoteQkey] = wr.remoteQkey
      ;(ah as AddressHandle).copyTo(i32, w + Wqe.av)
    }
    if ((sendFlags & SendFlag.Inline) !== 0) return this.#writeInline(w, wr)
    for (let i = 0, s = w + Wqe.data; i < sges; i++, s += Sg.words) {
      const sge = sgList[i]!
      f64[s >> 1] = sge.addr
      i32[s + Sg.length] = sge.length
      i32[s + Sg.lkey] = sge.lkey
    }
    return 0
  }

  #writeRare(w: number, wr: SendWorkRequest, operands: number): void {
    const i32 = this.#i32
    const { b64 } = this.#host.segment
    switch (operands) {
      case operandKind.key:
        i32[w + Wqe.immData] = wr.invalidateRkey
        break
      case operandKind.swap:
      case operandKind.add:
        b64[(w + Wqe.compareAdd) >> 1] = wr.compareAdd
        b64[(w + Wqe.swap) >> 1] = wr.swap
        break
      case operandKind.flush:
        this.#f64[(w + Wqe.length) >> 1] = wr.flushLength
        i32[w + Wqe.access] = wr.placement | (wr.selectivity << 4)
        break
      case operandKind.bind:
        i32[w + Wqe.immData] = wr.mwNewRkey
        wr.rkey = wr.mwRkey
        wr.remoteAddr = wr.bindAddr
        this.#f64[(w + Wqe.length) >> 1] = wr.bindLength
        i32[w + Wqe.access] = wr.bindAccess
        i32[w + Wqe.mrKey] = wr.mrLkey
        break
    }
  }

  #writeInline(w: number, wr: SendWorkRequest): number {
    if (!hasOpcode(inlineOpcodes, wr.opcode)) return badInlineOpcode
    const { segment } = this.#host
    let at = (w + Wqe.data) * 4
    let length = 0
    for (const sge of wr.sgList) {
      length += sge.length
      if (length > this.#maxInlineData) return badInline
      if (!(sge.addr >= segment.heapStart && sge.length >= 0 && sge.addr + sge.length <= segment.sizeBytes))
        return badInlineAddress
      segment.copy(at, sge.addr, sge.length)
      at += sge.length
    }
    this.#i32[w + Wqe.inlineLength] = length
    return 0
  }

  reason(failed: number, wr: SendWorkRequest): string {
    switch (failed) {
      case badFull:
        return `the send queue is full with ${this.maxSendWr} requests: poll their completions first (unsignaled ones need a signaled one after them)`
      case badOpcode:
        return `a ${nameOf(QpType, this.#type)} QP cannot execute ${nameOf(Opcode, wr.opcode)}`
      case badSges:
        return `${wr.sgList.length} scatter/gather elements are more than cap.maxSendSge ${this.#maxSendSge}`
      case badAh:
        return 'a UD request needs ah, remoteQpn and remoteQkey'
      case badAhPd:
        return 'ah belongs to another protection domain'
      case badInline:
        return `inline data is longer than cap.maxInlineData ${this.#maxInlineData}`
      case badGone:
        return 'the QP was reset or destroyed by another thread'
      case badField:
        return 'a field of the work request has a value of the wrong type'
      case badInlineAddress:
        return 'inline data lies outside the memory of the device'
      default:
        return `${nameOf(Opcode, wr.opcode)} cannot be inline`
    }
  }
}
