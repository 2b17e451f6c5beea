/** A record as a line of `--trace`, as strace writes system calls: `12:34:56.123456 name[1234] ibv_create_cq(cqe=16) = cq=1`. */
import type {
  CmEventRecord,
  CompletionRecord,
  MadRecord,
  ProgramRecord,
  RequestRecord,
  TraceSge,
  TraceValue,
} from './records.ts'

/** Maximum number of fields of a result that are shown; the JSON form has all. */
const shownResults = 8

export function textOf(record: ProgramRecord): string {
  return `${clock(record.timeUs)} ${record.program}[${record.pid}] ${bodyOf(record)}`
}

function bodyOf(record: ProgramRecord): string {
  switch (record.type) {
    case 'command': {
      const { verb, args, result, errno, reason } = record
      const call = `${verb}(${fields(args)})`
      if (errno !== undefined) return `${call} = -1 ${errno} (${withoutVerb(verb, reason ?? '')})`
      return `${call} = ${results(result)}`
    }
    case 'request':
      return requestText(record)
    case 'receive': {
      const of = record.srq === undefined ? `qp ${hex(record.qpNum ?? 0)}` : `srq ${record.srq}`
      return `  ${of} takes receive wr_id=${record.wrId} length=${record.length} ${sges(record.sges)}`
    }
    case 'completion':
      return completionText(record)
    case 'event':
      return `  event ${record.event} ${record.element}${record.lost ? ', dropped: nobody reads them' : ''}${because(record.reason)}`
    case 'cm-event':
      return cmEventText(record)
    case 'mad':
      return madText(record)
    case 'note':
      return `  note: ${record.reason}`
  }
}

function requestText({ qpNum, wrId, opcode, flags, fields: own, length, sges: list, reason }: RequestRecord): string {
  const parts = [`wr_id=${wrId}`, opcode, flags, fields(own, ' '), `length=${length}`, sges(list)].filter(
    (part) => part !== '',
  )
  return `  qp ${hex(qpNum)} takes ${parts.join(' ')}${because(reason)}`
}

function completionText(record: CompletionRecord): string {
  const { cq, qpNum, wrId, status, opcode, byteLen, imm, srcQp, lost, reason } = record
  const parts = [`wr_id=${wrId}`, status, opcode, `byte_len=${byteLen}`]
  if (imm !== undefined) parts.push(`imm=${imm}`)
  if (srcQp !== undefined) parts.push(`src_qp=${hex(srcQp)}`)
  return `  cq ${cq} gets qp ${hex(qpNum)} ${parts.join(' ')}${lost ? ', dropped: the queue is full' : ''}${because(reason)}`
}

function cmEventText({ event, id, listenId, status, privateDataLength, reason }: CmEventRecord): string {
  const listener = listenId === undefined ? '' : ` listen_id=${listenId}`
  return `  event ${event} id=${id}${listener} status=${status} private_data_len=${privateDataLength}${because(reason)}`
}

const directions = { sent: 'sends', received: 'gets', unanswered: 'has no response to' } as const

function madText({ direction, name, transactionId, status, lid, qpNum, route, length, reason }: MadRecord): string {
  const parts = [`tid=${transactionId}`, `status=0x${status.toString(16)}`, route === undefined ? '' : `route=${route}`]
  parts.push(`lid=${lid}`, `qp=${qpNum}`, `length=${length}`)
  return `  ${directions[direction]} ${name} ${parts.filter((part) => part !== '').join(' ')}${because(reason)}`
}

const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (${reason})`)

/** The verb stands in front already. */
const withoutVerb = (verb: string, reason: string): string =>
  reason.startsWith(`${verb}: `) ? reason.slice(verb.length + 2) : reason

function sges(list: readonly TraceSge[]): string {
  return `[${list.map(({ addr, length, lkey }) => `{${addr}, ${length}, ${lkey}}`).join(', ')}]`
}

const fields = (values: Readonly<Record<string, TraceValue>>, between = ', '): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(between)

function results(values: Readonly<Record<string, TraceValue>>): string {
  const all = Object.entries(values)
  if (all.length === 0) return '0'
  const shown = fields(Object.fromEntries(all.slice(0, shownResults)))
  return all.length > shownResults ? `${shown}, …` : shown
}

function valueText(value: TraceValue): string {
  return typeof value === 'object' ? `{${fields(value)}}` : String(value)
}

const hex = (value: number): string => `0x${value.toString(16).padStart(6, '0')}`

/** Local time of day, as strace -tt has it. */
export function clock(timeUs: number): string {
  const date = new Date(timeUs / 1000)
  const two = (value: number): string => String(value).padStart(2, '0')
  const micros = String(timeUs % 1_000_000).padStart(6, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`
}
