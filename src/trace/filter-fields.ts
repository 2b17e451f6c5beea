/**
 * Fields of a filter: those that have a name of their own, and every value of a row by its place in the JSON, such as `reth.va` (or
 * `headers.reth.va`), `covers.packets` and `cm.localQpn`.
 */
import { cmCodecs, extensionCodecs } from '../wire/index.ts'
import { isBad, operationText } from './describe.ts'
import {
  address,
  answer,
  brokenRule,
  byteString,
  cmType,
  duration,
  flag,
  icrcState,
  madText,
  moment,
  operation,
  packetKind,
  place,
  service,
  size,
  tunnel,
  type Value,
  type ValueKind,
  verb,
  whole,
} from './filter-values.ts'
import type { Row } from './row.ts'

/** Field that filters know. */
export interface FilterField {
  text: string
  kind: ValueKind
  /** Name of the field in the rows of --json, if that is another one. */
  json?: string
  /** Returns the value of the field; of several values, one has to match. */
  get(row: Row): Value | readonly Value[]
}

const bits = (count: number): ValueKind => whole(2 ** count - 1)
const mark = (text: string, get: (row: Row) => boolean | undefined): FilterField => ({
  text,
  kind: flag,
  get: (row) => get(row) === true,
})

/** Fields with names of their own, in the order of the help. */
export const filterFields: Readonly<Record<string, FilterField>> = {
  number: { text: 'packet number, from 1', kind: whole(), get: (row) => row.number },
  time: { text: 'since the first packet; in s, or units ns, us, ms', kind: duration('s'), get: (row) => row.time },
  delta: { text: 'since the packet before; in s, or units ns, us, ms', kind: duration('s'), get: (row) => row.delta },
  epoch: { text: "time of the day's clock: a date, or seconds since 1970", kind: moment, get: (row) => row.epoch },
  length: { text: 'bytes on the wire', kind: size(), get: (row) => row.length },
  kind: { text: 'RoCEv2, RoCEv1, InfiniBand, other', kind: packetKind, get: (row) => row.kind },
  src: { text: 'source address, or its network', json: 'source', kind: address, get: (row) => row.source },
  dst: {
    text: 'destination address, or its network',
    json: 'destination',
    kind: address,
    get: (row) => row.destination,
  },
  addr: { text: 'either address, or its network', kind: address, get: (row) => [row.source, row.destination] },
  conv: {
    text: 'conversation, from 1: both directions of a connection',
    json: 'conversation',
    kind: whole(),
    get: (row) => row.conversation,
  },
  srcqp: { text: 'sending QP, where known', json: 'srcQp', kind: bits(24), get: (row) => row.srcQp },
  dstqp: { text: 'destination QP', json: 'destQp', kind: bits(24), get: (row) => row.destQp },
  qp: { text: 'either QP', kind: bits(24), get: (row) => [row.srcQp, row.destQp] },
  service: { text: 'RC, UC, RD, UD, XRC, CNP', kind: service, get: (row) => row.service },
  opcode: { text: 'opcode of the BTH, as a number', kind: bits(8), get: (row) => row.opcode },
  op: {
    text: 'the operation as shown, such as "SEND Last"',
    kind: operation,
    get: (row) => (row.destQp === undefined ? undefined : operationText(row)),
  },
  operation: { text: 'the operation alone, such as SEND or READ_REQUEST', kind: verb, get: (row) => row.operation },
  place: { text: 'first, middle, last or only packet of its message', kind: place, get: (row) => row.place },
  psn: { text: 'packet sequence number', kind: bits(24), get: (row) => row.psn },
  payload: { text: 'payload bytes', kind: size(), get: (row) => row.payload },
  pad: { text: 'pad bytes', kind: bits(2), get: (row) => row.pad },
  ackreq: mark('AckReq: requests an ACK', (row) => row.ackReq),
  solicited: mark('requests a solicited event', (row) => row.solicited),
  migreq: mark('MigReq: the migration bit', (row) => row.migReq),
  fecn: mark('FECN: congestion on the path of this packet', (row) => row.fecn),
  becn: mark('BECN: congestion on the return path', (row) => row.becn),
  pkey: { text: 'P_Key', kind: bits(16), get: (row) => row.pkey },
  va: {
    text: 'virtual address in RETH or AtomicETH',
    kind: whole(2n ** 64n - 1n),
    get: (row) => row.headers?.reth?.va ?? row.headers?.atomicEth?.va,
  },
  rkey: {
    text: 'R_Key in RETH, AtomicETH or IETH',
    kind: bits(32),
    get: (row) => row.headers?.reth?.rkey ?? row.headers?.atomicEth?.rkey ?? row.headers?.ieth?.rkey,
  },
  dmalen: {
    text: 'DMA length in the RETH, in bytes',
    kind: size(2 ** 32 - 1),
    get: (row) => row.headers?.reth?.dmaLength,
  },
  imm: { text: 'immediate data', kind: bits(32), get: (row) => row.headers?.immDt?.data },
  qkey: { text: 'Q_Key of a datagram', kind: bits(32), get: (row) => row.headers?.deth?.qkey },
  msn: { text: 'message sequence number of a response', kind: bits(24), get: (row) => row.headers?.aeth?.msn },
  syndrome: { text: 'syndrome of a response, as a number', kind: bits(8), get: (row) => row.headers?.aeth?.syndrome },
  latency: {
    text: 'from a request to its response; in ns, or units us, ms, s',
    json: 'latencyNs',
    kind: duration('ns'),
    get: (row) => row.latencyNs,
  },
  refers: {
    text: 'number of the packet that it repeats or responds to',
    json: 'refersTo',
    kind: whole(),
    get: (row) => row.refersTo,
  },
  answer: { text: 'meaning of the AETH, such as ~ "PSN sequence"', kind: answer, get: (row) => row.answer },
  request: mark('a request', (row) => row.operation !== undefined && !isResponse(row) && !row.cnp),
  response: mark('an ACK, a NAK or a READ response', isResponse),
  retransmission: mark('a request sent again', (row) => row.retransmission),
  duplicate: mark('sent again although it was acknowledged', (row) => row.duplicate),
  repeat: mark('a response sent before', (row) => row.repeat),
  gap: mark('PSNs are missing before it', (row) => row.missing !== undefined),
  missing: { text: 'how many PSNs are missing before it', kind: bits(24), get: (row) => row.missing },
  late: mark('fills a gap', (row) => row.late),
  copy: mark('the capture already has this packet', (row) => row.copy),
  overtaken: mark('a request whose ACK was recorded before it', (row) => row.overtaken),
  restart: mark('the QP was connected again', (row) => row.restart),
  unseen: mark('acknowledges requests that the capture does not have', (row) => row.unseen),
  unpaired: mark('a response whose requests are not in the capture', (row) => row.unpaired),
  nak: mark('a NAK other than RNR NAK', (row) => row.nak),
  rnr: mark('an RNR NAK', (row) => row.rnr),
  cnp: mark('a congestion notification', (row) => row.cnp),
  ecn: { ...mark('marked "congestion experienced"', (row) => row.marked), json: 'marked' },
  mad: {
    text: 'a management datagram, such as ~ "PathRecord"',
    json: 'mad.name',
    kind: madText,
    get: (row) => row.mad?.name,
  },
  cm: { text: 'a connection message; cm == REQ, REP, …', json: 'cm.type', kind: cmType, get: (row) => row.cm?.type },
  icrc: { text: 'valid, invalid, or unknown where it was not captured', kind: icrcState, get: (row) => row.icrc },
  malformed: { text: 'breaks a rule of `check`; malformed == NAME', kind: brokenRule, get: (row) => row.malformed },
  bad: mark('the ICRC is wrong or a rule is broken', isBad),
  tunnel: {
    text: 'the tunnel around it: VXLAN, Geneve, GRE, ERSPAN, IP, MPLS, PPPoE, VXLAN-GPE, GTP-U, TZSP',
    kind: tunnel,
    get: (row) => row.tunnel,
  },
  cut: mark('cut by the capture', (row) => row.cut),
  roce: mark('RDMA of any kind', (row) => row.kind !== 'other'),
}

function isResponse({ operation: does }: Row): boolean {
  return does === 'ACK' || does === 'READ_RESPONSE' || does === 'ATOMIC_ACK'
}

const named: ReadonlyMap<string, FilterField> = new Map(
  Object.entries(filterFields).flatMap(([name, field]) => [
    [name, field] as const,
    ...(field.json === undefined ? [] : [[field.json.toLowerCase(), field] as const]),
  ]),
)

let nested: ReadonlyMap<string, FilterField> | undefined

/** Returns the field of that name or of that path in the JSON, in any case; undefined if there is none. */
export function fieldNamed(name: string): FilterField | undefined {
  const wanted = name.toLowerCase().replace(/^headers\./, '')
  nested ??= nestedFields()
  return named.get(wanted) ?? nested.get(wanted)
}

/** Returns the fields of extension headers and CM messages, as their codecs define them, and of `covers`. */
function nestedFields(): ReadonlyMap<string, FilterField> {
  const fields = new Map<string, FilterField>()
  for (const key of ['from', 'to'] as const)
    fields.set(`covers.${key}`, { text: 'a PSN', kind: bits(24), get: (row) => row.covers?.[key] })
  for (const key of ['packets', 'messages'] as const)
    fields.set(`covers.${key}`, { text: 'a count', kind: whole(), get: (row) => row.covers?.[key] })
  /** Largest value of each field: if two messages have a field of the same name, the wider one counts. */
  const limits = new Map<string, number>()
  const add = (name: string, path: readonly string[], most: unknown): void => {
    if (typeof most === 'object' && !(most instanceof Uint8Array)) {
      for (const [key, inner] of Object.entries(most as object)) add(`${name}.${key}`, [...path, key], inner)
      return
    }
    const limit = most instanceof Uint8Array ? most.length : Number(most)
    const known = name.toLowerCase()
    if (limit <= (limits.get(known) ?? -1)) return
    limits.set(known, limit)
    fields.set(known, { text: path.at(-1)!, kind: kindOf(most), get: (row) => valueAt(row, path) })
  }
  for (const [header, codec] of Object.values(extensionCodecs))
    add(header, ['headers', header], codec.read(ones(codec.length), 0))
  for (const codec of Object.values(cmCodecs)) add('cm', ['cm'], codec.read(ones(codec.length), 0))
  add('mad', ['mad'], {
    ...{ mgmtClass: 0xff, method: 0xff, attributeId: 0xffff, attributeModifier: 0xffff_ffff, status: 0xffff },
    ...{ transactionId: 2n ** 64n - 1n, hopPointer: 0xff, hopCount: 0xff, returns: true },
  })
  add('cm.transactionId', ['cm', 'transactionId'], 2n ** 64n - 1n)
  return fields
}

/** Returns bytes from which a codec reads the largest values that its fields can have. */
function ones(length: number): Uint8Array {
  return new Uint8Array(length).fill(0xff)
}

function kindOf(most: unknown): ValueKind {
  if (typeof most === 'boolean') return flag
  if (most instanceof Uint8Array) return byteString(most.length)
  return whole(most as number | bigint)
}

function valueAt(row: Row, path: readonly string[]): Value {
  let value: unknown = row
  for (const key of path) value = (value as Record<string, unknown> | undefined)?.[key]
  return value as Value
}
