/** Row as one line for people: addresses, connection, operation, and notes. */
import { timeText } from '../text/index.ts'
import {
  type CmMessage,
  type CmPath,
  formatIp,
  isMalformed,
  opcodeTable,
  parseCma,
  RdmaPortSpace,
  rdmaPortOf,
  rejReasonText,
} from '../wire/index.ts'
import { hexNumber } from './layers.ts'
import { problemRules } from './problems.ts'
import type { MadRow, Row } from './row.ts'
import { type LinePart, type Paint, plain } from './style.ts'
import { type TimeFormat, TimeTexts } from './time-text.ts'

/** Options of the format of lines. */
export interface LineOptions {
  /** Format of the times. Default: relative. */
  time?: TimeFormat
  paint?: Paint
}

/** Printer of lines whose columns grow with their contents, so that lines stay aligned without knowing the capture beforehand. */
export class LinePrinter {
  readonly #times: TimeTexts
  readonly #paint: Paint
  #number = 5
  #time = 11
  #ends = 21
  #qps = 14

  constructor({ time, paint = plain }: LineOptions = {}) {
    this.#times = new TimeTexts(time)
    this.#paint = paint
  }

  line(row: Row): string {
    const number = String(row.number)
    const time = this.#times.of(row)
    this.#number = Math.max(this.#number, number.length)
    this.#time = Math.max(this.#time, time.length)
    const head = `${number.padStart(this.#number)} ${time.padStart(this.#time)}`
    if (row.kind === 'other') return this.#paint('dim', `${head}  ${row.length} B, no RDMA`)
    const ends = `${row.source ?? '?'} → ${row.destination ?? '?'}`
    this.#ends = Math.max(this.#ends, ends.length)
    return `${head}  ${ends.padEnd(this.#ends)}  ${this.#what(row)}`.trimEnd()
  }

  #what(row: Row): string {
    const part = partOf(row)
    const painted = (text: string): string => (part === undefined ? text : this.#paint(part, text.trimEnd()))
    if (row.destQp === undefined) return painted(`${row.kind}, ${row.length} B${tail(notesOf(row))}`)
    const conversation = row.conversation === undefined ? '' : `#${row.conversation} `
    const qps = `${conversation}${row.srcQp === undefined ? '' : hexNumber(row.srcQp)}→${hexNumber(row.destQp)}`
    this.#qps = Math.max(this.#qps, qps.length)
    const what = `${row.service} ${operationText(row)}`
    const numbers = row.operation === 'CNP' ? '' : `PSN ${row.psn}`
    const size = row.payload ? `${row.payload} B` : ''
    const rest = `${what.padEnd(20)} ${numbers.padEnd(12)} ${size.padStart(6)}${tail(notesOf(row))}`
    return `${qps.padEnd(this.#qps)}  ${painted(rest)}`
  }
}

/** Returns the part of a line, and so the colour, that fits a row; undefined if it is not highlighted. */
export function partOf(row: Row): LinePart | undefined {
  if (isBad(row)) return 'bad'
  if (row.retransmission || row.missing || row.late || row.restart || row.nak || row.rnr) return 'warning'
  if (row.cnp || row.marked) return 'congestion'
  return row.cm === undefined ? undefined : 'connection'
}

function tail(notes: readonly string[]): string {
  return notes.length === 0 ? '' : `  ${notes.join('; ')}`
}

const operationTexts: Record<NonNullable<Row['operation']>, string> = {
  SEND: 'SEND',
  WRITE: 'WRITE',
  READ_REQUEST: 'READ Request',
  READ_RESPONSE: 'READ Resp',
  ACK: 'ACK',
  ATOMIC_ACK: 'Atomic ACK',
  COMPARE_SWAP: 'CMP SWAP',
  FETCH_ADD: 'FETCH ADD',
  RESYNC: 'RESYNC',
  FLUSH: 'FLUSH',
  ATOMIC_WRITE: 'ATOMIC WRITE',
  CNP: 'CNP',
}

/** Returns the text of the operation: SEND Last+Imm, ACK, … */
export function operationText(row: Row): string {
  if (row.cm !== undefined) return `CM ${row.cm.type}`
  if (row.mad !== undefined) return row.mad.name
  if (row.operation === undefined) return `opcode 0x${(row.opcode ?? 0).toString(16).padStart(2, '0')}`
  if (row.nak) return 'NAK'
  if (row.rnr) return 'RNR NAK'
  const headers = opcodeTable[row.opcode!]!.headers
  const placed = row.operation === 'SEND' || row.operation === 'WRITE' || row.operation === 'READ_RESPONSE'
  const place = placed ? ` ${row.place![0]!.toUpperCase()}${row.place!.slice(1)}` : ''
  const more = headers.includes('ImmDt') ? '+Imm' : headers.includes('IETH') ? '+Inv' : ''
  return `${operationTexts[row.operation]}${place}${more}`
}

/** Returns the notes after the columns of a line, the important ones first. */
export function notesOf(row: Row): string[] {
  const notes: string[] = []
  if (row.icrc === 'invalid') notes.push('ICRC WRONG')
  for (const name of row.malformed ?? []) notes.push(`MALFORMED: ${problemText(name)}`)
  if (row.tunnel) notes.push(`in ${row.tunnel}`)
  if (row.cut) notes.push('cut by the capture')
  if (row.copy) notes.push(`COPY of packet ${row.refersTo}: the capture has it twice`)
  if (row.restart) notes.push('the QP was connected again')
  if (row.missing) notes.push(`GAP: ${row.missing} PSN${row.missing === 1 ? '' : 's'} missing before`)
  if (row.retransmission) notes.push(repetition(row))
  if (row.late) notes.push('LATE: fills a gap')
  if (row.overtaken) notes.push('its ACK was recorded before it')
  notes.push(...answer(row))
  if (row.cnp) notes.push('congestion: slow down')
  if (row.marked) notes.push('ECN: congestion experienced')
  if (row.fecn && !row.cnp) notes.push('FECN')
  if (row.becn && !row.cnp) notes.push('BECN')
  notes.push(...headerNotes(row))
  if (row.ackReq) notes.push('AckReq')
  if (row.solicited) notes.push('solicited')
  if (row.cm !== undefined) notes.push(...cmNotes(row.cm))
  else if (row.mad !== undefined) notes.push(...madNotes(row.mad))
  return notes
}

function problemText(name: string): string {
  return problemRules.find((rule) => rule.name === name)?.text ?? name
}

function repetition(row: Row): string {
  const of = row.refersTo === undefined ? '' : ` of packet ${row.refersTo}`
  if (row.service === 'UC') return `REPEATED or out of order${of}`
  return row.duplicate ? `DUPLICATE${of}: acknowledged already` : `RETRANSMISSION${of}`
}

function answer(row: Row): string[] {
  if (row.answer === undefined || row.copy) return []
  const notes: string[] = []
  if (row.nak || row.rnr) {
    notes.push(row.answer.replace(/^(RNR )?NAK, /, row.rnr ? 'no receive posted, try again in ' : ''))
    if (row.nak && row.answer.includes('PSN sequence')) notes.push(`wants PSN ${row.psn} again`)
    else if (row.refersTo !== undefined) notes.push(`rejects packet ${row.refersTo}`)
  } else if (row.answer !== 'ACK') notes.push(row.answer.replace(/^ACK, /, ''))
  if (row.repeat) notes.push(row.operation === 'ACK' ? 'acknowledged before' : 'REPEATED response')
  if (row.unpaired) notes.push('of requests that the capture does not have')
  if (row.unseen) notes.push('covers requests that the capture does not have before it')
  if (row.covers !== undefined && row.operation !== 'READ_RESPONSE') notes.push(coverage(row.covers))
  if (row.operation === 'READ_RESPONSE' && row.latencyNs === undefined && row.refersTo !== undefined)
    notes.push(`response to packet ${row.refersTo}`)
  if (row.latencyNs !== undefined) notes.push(`${timeText(row.latencyNs)} after packet ${row.refersTo}`)
  if (row.headers?.aeth !== undefined) notes.push(`MSN ${row.headers.aeth.msn}`)
  return notes
}

function coverage({ from, to, packets, messages }: NonNullable<Row['covers']>): string {
  const which = from === to ? `PSN ${to}` : `PSN ${from} to ${to}`
  const counts = [
    packets > 1 ? `${packets} packets` : '',
    messages > 1 ? `${messages} messages` : packets > 1 ? '1 message' : '',
  ]
    .filter((text) => text !== '')
    .join(', ')
  const rest = messages === 0 ? 'no whole message' : counts
  return `covers ${which}${rest === '' ? '' : ` (${rest})`}`
}

function headerNotes(row: Row): string[] {
  const { headers } = row
  if (headers === undefined) return []
  const { reth, atomicEth, atomicAckEth, immDt, ieth, deth, feth, xrceth } = headers
  const notes: string[] = []
  if (feth !== undefined)
    notes.push(
      `${[feth.placement & 1 ? 'global visibility' : '', feth.placement & 2 ? 'persistence' : ''].filter(Boolean).join(' and ') || 'no placement'} of ${feth.selectivity === 1 ? 'the whole region' : 'the range'}`,
    )
  if (reth !== undefined) notes.push(`${reth.dmaLength} B at ${hexNumber(reth.va)} rkey ${hexNumber(reth.rkey)}`)
  if (atomicEth !== undefined) {
    const { va, rkey, swapAdd, compare } = atomicEth
    const operands =
      row.operation === 'FETCH_ADD' ? `add ${swapAdd}` : `if ${hexNumber(compare)} then ${hexNumber(swapAdd)}`
    notes.push(`${operands} at ${hexNumber(va)} rkey ${hexNumber(rkey)}`)
  }
  if (atomicAckEth !== undefined) notes.push(`was ${hexNumber(atomicAckEth.original)}`)
  if (immDt !== undefined) notes.push(`imm ${hexNumber(immDt.data)}`)
  if (ieth !== undefined) notes.push(`invalidates rkey ${hexNumber(ieth.rkey)}`)
  if (xrceth !== undefined) notes.push(`SRQ ${hexNumber(xrceth.srqn)}`)
  if (deth !== undefined && row.cm === undefined && row.mad === undefined) notes.push(`Q_Key ${hexNumber(deth.qkey)}`)
  return notes
}

function madNotes({
  transactionId,
  attributeModifier,
  status,
  hopPointer,
  hopCount,
  returns,
  route,
}: MadRow): string[] {
  const notes = [`TID ${hexNumber(transactionId)}`]
  if (attributeModifier !== 0) notes.push(`modifier ${hexNumber(attributeModifier)}`)
  if (status !== 0) notes.push(`status ${hexNumber(status, 4)}`)
  if (hopCount !== undefined)
    notes.push(
      `directed route ${route?.join(',') ?? '?'}, hop ${hopPointer} of ${hopCount}${returns ? ', on its way back' : ''}`,
    )
  return notes
}

function cmNotes(message: CmMessage): string[] {
  switch (message.type) {
    case 'REQ':
      return [
        ...ids(message),
        `QP ${hexNumber(message.localQpn)} expects PSN ${message.startingPsn}`,
        ...service(message.serviceId, message.privateData),
        `path MTU ${message.pathMtu >= 1 && message.pathMtu <= 5 ? 128 << message.pathMtu : `code ${message.pathMtu}`}`,
        `serves ${message.responderResources} and sends ${message.initiatorDepth} READs at a time`,
        `retry ${message.retryCount}, RNR retry ${message.rnrRetryCount}, ACK timeout ${timeout(message.primary)}`,
      ]
    case 'REP':
      return [
        ...ids(message),
        `QP ${hexNumber(message.localQpn)} expects PSN ${message.startingPsn}`,
        `serves ${message.responderResources} and sends ${message.initiatorDepth} READs at a time`,
        `RNR retry ${message.rnrRetryCount}`,
      ]
    case 'REJ':
      return [...ids(message), `reason ${message.reason}, ${rejReasonText(message.reason)}`]
    case 'DREQ':
    case 'LAP':
      return [...ids(message), `remote QP ${hexNumber(message.remoteQpn)}`]
    case 'SIDR_REQ':
      return [`request ${hexNumber(message.requestId)}`, ...service(message.serviceId, message.privateData)]
    case 'SIDR_REP':
      return [
        `request ${hexNumber(message.requestId)}`,
        message.status === 0
          ? `QP ${hexNumber(message.qpn)}, Q_Key ${hexNumber(message.qkey)}`
          : `rejected, status ${message.status}`,
      ]
    default:
      return ids(message)
  }
}

function ids(message: { localCommId: number; remoteCommId?: number }): string[] {
  const { localCommId, remoteCommId } = message
  return [`id ${hexNumber(localCommId)}${remoteCommId === undefined ? '' : ` to ${hexNumber(remoteCommId)}`}`]
}

function service(serviceId: bigint, privateData: Uint8Array): string[] {
  const port = rdmaPortOf(serviceId)
  if (port === undefined) return [`service ${hexNumber(serviceId)}`]
  const space = Object.entries(RdmaPortSpace).find(([, value]) => value === port.portSpace)?.[0] ?? '?'
  const notes = [`${space.toUpperCase()} port ${port.port}`]
  const cma = parseCma(privateData, 0, privateData.length)
  if (!isMalformed(cma)) notes.push(`from ${formatIp(cma.source)} port ${cma.port} to ${formatIp(cma.destination)}`)
  return notes
}

function timeout({ localAckTimeout }: CmPath): string {
  return timeText(4096 * 2 ** localAckTimeout)
}

/** True if a row has anything that `trace check` would report. */
export function isBad(row: Row): boolean {
  return row.icrc === 'invalid' || row.malformed !== undefined
}
