/** Layers from the BTH to the ICRC, field by field; management datagrams and connection messages included. */

import { timeText } from '../text/index.ts'
import {
  Bth,
  bthCodec,
  type CmMessage,
  cmCodecs,
  cmType,
  extensionCodecs,
  formatGid,
  formatIp,
  get64Big,
  type HeaderName,
  Icrc,
  isMalformed,
  Mad,
  type MadFields,
  MgmtClass,
  madAttributeName,
  madCodec,
  madMethodName,
  madName,
  OpBit,
  opcodeTable,
  parseCm,
  parseCma,
  RdmaPortSpace,
  rdmaPortOf,
  rejReasonText,
  syndromeText,
  u16,
  u32,
  u32le,
} from '../wire/index.ts'
import { computeIcrc, type Dissection } from './dissect.ts'
import { serviceNames } from './flow.ts'
import { hexNumber, type LayerField, type LayerList, named } from './layers.ts'
import { hexOf } from './row.ts'

/** Adds the layers of the packet whose BTH is at `at`, as far as they were captured. */
export function transportLayers(list: LayerList, d: Dissection, at: number): void {
  const { b, end } = list
  if (end - at < Bth.length) return
  const bth = bthCodec.read(b, at)
  const info = opcodeTable[bth.opcode]
  const opcode = info === undefined ? `no opcode ${hexNumber(bth.opcode, 2)}` : info.name.replaceAll('_', ' ')
  list.add(`BTH, ${opcode}, QP ${hexNumber(bth.destQp)}, PSN ${bth.psn}`, at, at + Bth.length, [
    ['Opcode', named(info?.name ?? serviceNames[bth.opcode >> 5], bth.opcode, 2)],
    ['Solicited event', yes(bth.solicited)],
    ['MigReq', yes(bth.migReq)],
    ['Pad', `${(b[at + 1]! >> 4) & 3} bytes`],
    ['Version', b[at + 1]! & 15],
    ['P_Key', hexNumber(bth.pkey, 4)],
    ['FECN', yes(bth.fecn)],
    ['BECN', yes(bth.becn)],
    ['Destination QP', `${hexNumber(bth.destQp, 6)} (${bth.destQp})`],
    ['Acknowledge request', yes(bth.ackReq)],
    ['PSN', bth.psn],
  ])
  // This holds for the packet that was dissected; a packet in another tunnel is shown only up to here.
  if (d.bth !== at) return
  let next = at + Bth.length
  for (const name of info?.headers ?? []) {
    const { length } = extensionCodecs[name][1]
    if (end - next < length) return
    extension(list, name, next)
    next += length
  }
  if (!d.complete) return
  const payloadEnd = Math.min(d.payload + d.payloadLength, end)
  if (payloadEnd > d.payload) payload(list, d, payloadEnd)
  if (d.pad > 0 && d.payload + d.payloadLength + d.pad <= Math.min(end, d.end))
    list.add('Pad', payloadEnd, payloadEnd + d.pad, [['Bytes', hexOf(b.subarray(payloadEnd, payloadEnd + d.pad))]])
  icrc(list, d)
}

function yes(value: boolean): string {
  return value ? 'yes' : 'no'
}

/** Returns a field's name as words: dmaLength becomes DMA length; QPN and the like stay capitals. */
function words(name: string): string {
  const text = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const known = text.replace(/\b(qpn|eecn|lid|gid|guid|cm|id|srq|rnr|dma|va|msn|qp|ee|psn|sap|rdc|ca|mtu)\b/g, (word) =>
    word.toUpperCase(),
  )
  return `${known[0]!.toUpperCase()}${known.slice(1)}`
    .replace(/\b(q|p|r)key\b/gi, (word) => `${word[0]!.toUpperCase()}_Key`)
    .replace('Srqn', 'SRQN')
    .replace(/^Src /, 'Source ')
}

function extension(list: LayerList, name: HeaderName, at: number): void {
  const [, codec] = extensionCodecs[name]
  const values = Object.entries(codec.read(list.b, at) as object)
  const fields = values.map(([key, value]): LayerField => ({ name: words(key), text: fieldText(key, value) }))
  list.add(`${name}${summary(name, Object.fromEntries(values))}`, at, at + codec.length, fields)
}

/** Returns the summary of a header's fields for its title. */
function summary(name: HeaderName, fields: Record<string, unknown>): string {
  switch (name) {
    case 'RETH':
      return `, ${fields.dmaLength} bytes at ${fieldText('va', fields.va)}`
    case 'AETH':
      return `, ${syndromeText(fields.syndrome as number)}`
    case 'DETH':
      return `, from QP ${hexNumber(fields.srcQp as number)}`
    case 'ImmDt':
      return `, ${fieldText('data', fields.data)}`
    default:
      return ''
  }
}

const hexadecimal =
  /key$|^va$|qpn$|qp$|eecn$|guid$|commid$|^requestid$|^transactionid$|^serviceid$|^srqn$|^data$|compare|original|^flowlabel$/i
const timeouts = /timeout$|^targetAckDelay$/i

/** Returns a field as text for people: keys and QPs in hexadecimal, GIDs as addresses, timeouts as the time of their codes. */
function fieldText(key: string, value: unknown): string {
  if (typeof value === 'boolean') return yes(value)
  if (value instanceof Uint8Array) {
    if (value.length !== 16 || !/gid$/i.test(key)) return value.some((byte) => byte !== 0) ? hexOf(value) : 'zeros'
    return formatGid(value)
  }
  if (key === 'syndrome') return `${hexNumber(value as number, 2)} (${syndromeText(value as number)})`
  if (timeouts.test(key)) return `${timeText(4096 * 2 ** (value as number))} (code ${value})`
  if (key === 'pathMtu') return `${mtuText(value as number)} (code ${value})`
  if (key === 'swapAdd') return `${hexNumber(value as bigint)} (${value})`
  if (key === 'serviceId') return serviceText(value as bigint)
  return hexadecimal.test(key) ? hexNumber(value as number | bigint) : String(value)
}

function mtuText(code: number): string {
  return code >= 1 && code <= 5 ? `${128 << code} bytes` : 'reserved'
}

function serviceText(serviceId: bigint): string {
  const port = rdmaPortOf(serviceId)
  if (port === undefined) return hexNumber(serviceId, 16)
  const space = Object.entries(RdmaPortSpace).find(([, value]) => value === port.portSpace)?.[0] ?? '?'
  return `${hexNumber(serviceId, 16)} (${space.toUpperCase()} port ${port.port})`
}

function payload(list: LayerList, d: Dissection, end: number): void {
  const { b } = list
  const start = d.payload
  if (d.destQp > 1 || (d.bits & OpBit.Deth) === 0 || end - start < Mad.length) {
    const first = hexOf(b.subarray(start, Math.min(end, start + 32)))
    const more = end - start > 32 ? '…' : ''
    list.add(`Payload, ${d.payloadLength} bytes`, start, end, [['Bytes', `${first}${more}`]])
    return
  }
  const mad = madCodec.read(b, start)
  const type = mad.mgmtClass === MgmtClass.comm ? cmType(mad.attributeId) : undefined
  list.add(`MAD, ${madName(mad.mgmtClass, mad.method, mad.attributeId)}`, start, start + Mad.length, madFields(mad))
  if (type === undefined && end - start === Mad.totalLength) {
    classLayer(list, mad, start)
    return
  }
  const message = type === undefined ? 'madClass' : parseCm(b, start, end)
  if (isMalformed(message)) {
    if (end > start + Mad.length)
      list.add('MAD data', start + Mad.length, end, [['Bytes', hexOf(b.subarray(start + Mad.length, end))]])
    return
  }
  connectionMessage(list, message, start + Mad.length, end)
}

function nameOf(table: Readonly<Record<string, number>>, value: number): string | undefined {
  return Object.entries(table).find(([, code]) => code === value)?.[0]
}

/**
 * Adds the part of the class after the header: keys and the route of subnet management, RMPP and mask of its administration; then the
 * attribute.
 */
function classLayer(list: LayerList, { mgmtClass }: MadFields, start: number): void {
  const { b } = list
  let data = start + Mad.length
  if (mgmtClass === MgmtClass.subnLid || mgmtClass === MgmtClass.subnDirected) {
    data = start + 64
    const isDirected = mgmtClass === MgmtClass.subnDirected
    const hops = Math.min(63, b[start + 7]!)
    const route = (from: number): string => Array.from(b.subarray(from, from + hops + 1)).join(', ')
    list.add(isDirected ? 'SMP, directed route' : 'SMP', start + Mad.length, data, [
      ['M_Key', hexNumber(get64Big(b, start + 24), 16)],
      ...(isDirected
        ? ([
            ['DrSLID', hexNumber(u16(b, start + 32), 4)],
            ['DrDLID', hexNumber(u16(b, start + 34), 4)],
            ['Initial path', route(start + 128)],
            ['Return path', route(start + 192)],
          ] as const)
        : []),
    ])
    list.add('SMP data, 64 bytes', data, data + 64, [['Bytes', hexOf(b.subarray(data, data + 64))]])
    return
  }
  if (mgmtClass === MgmtClass.subnAdm) {
    data = start + 56
    list.add('SA', start + Mad.length, data, [
      ['RMPP version', b[start + 24]!],
      ['RMPP type', ['none', 'data', 'ACK', 'STOP', 'ABORT'][b[start + 25]!] ?? String(b[start + 25])],
      ['RMPP flags', hexNumber(b[start + 26]! & 7)],
      ['RMPP status', b[start + 27]!],
      ['RMPP segment', u32(b, start + 28)],
      ['RMPP length or window', u32(b, start + 32)],
      ['SM_Key', hexNumber(get64Big(b, start + 36), 16)],
      ['Attribute offset', `${u16(b, start + 44) * 8} bytes`],
      ['Component mask', hexNumber(get64Big(b, start + 48), 16)],
    ])
  } else if (mgmtClass === MgmtClass.perf) data = start + 64
  const end = start + Mad.totalLength
  list.add(`MAD data, ${end - data} bytes`, data, end, [['Bytes', hexOf(b.subarray(data, end))]])
}

function madFields(mad: MadFields): (readonly [string, string | number])[] {
  const isDirected = mad.mgmtClass === MgmtClass.subnDirected
  return [
    ['Base version', mad.baseVersion],
    ['Management class', named(nameOf(MgmtClass, mad.mgmtClass), mad.mgmtClass, 2)],
    ['Class version', mad.classVersion],
    ['Method', named(madMethodName(mad.method), mad.method, 2)],
    ['Status', hexNumber(isDirected ? mad.status & 0x7fff : mad.status, 4)],
    ...(isDirected
      ? ([
          ['Direction', (mad.status & 0x8000) !== 0 ? 'back' : 'out'],
          ['Hop pointer', mad.classSpecific >> 8],
          ['Hop count', mad.classSpecific & 255],
        ] as const)
      : ([['Class specific', hexNumber(mad.classSpecific, 4)]] as const)),
    ['Transaction ID', hexNumber(mad.transactionId, 16)],
    ['Attribute ID', named(madAttributeName(mad.mgmtClass, mad.attributeId), mad.attributeId, 4)],
    ['Attribute modifier', hexNumber(mad.attributeModifier, 8)],
  ]
}

function connectionMessage(list: LayerList, message: CmMessage, start: number, end: number): void {
  const fields: LayerField[] = []
  const values = message as unknown as Record<string, unknown>
  for (const key of Object.keys(cmCodecs[message.type].fields)) {
    const value = values[key]
    if (typeof value === 'object' && !(value instanceof Uint8Array)) {
      const group = Object.entries(value as object)
      const isUnused = group.every(
        ([, inner]) => !inner || (inner instanceof Uint8Array && inner.every((byte) => byte === 0)),
      )
      fields.push({ name: `${words(key)} path`, text: isUnused ? 'none' : '' })
      if (isUnused) continue
      for (const [inner, part] of group) fields.push({ name: words(inner), text: fieldText(inner, part), depth: 1 })
    } else if (key === 'reason') fields.push({ name: 'Reason', text: `${value}, ${rejReasonText(value as number)}` })
    else fields.push({ name: words(key), text: fieldText(key, value) })
    if (key === 'privateData') fields.push(...cmaFields(message))
  }
  list.add(`CM ${message.type}`, start, end, fields)
}

/** Returns the fields that the RDMA CM puts before the private data of the program. */
function cmaFields(message: CmMessage): LayerField[] {
  if ((message.type !== 'REQ' && message.type !== 'SIDR_REQ') || rdmaPortOf(message.serviceId) === undefined) return []
  const cma = parseCma(message.privateData, 0, message.privateData.length)
  if (isMalformed(cma)) return []
  return [
    { name: 'RDMA CM header', text: '' },
    { name: 'Source', text: `${formatIp(cma.source)} port ${cma.port}`, depth: 1 },
    { name: 'Destination', text: formatIp(cma.destination), depth: 1 },
  ]
}

function icrc(list: LayerList, d: Dissection): void {
  const { b, end } = list
  if (d.cut || d.end < d.bth || d.end + Icrc.length > end) return
  const received = u32le(b, d.end)
  const computed = computeIcrc(b, d)
  const verdict = received === computed ? 'right' : `WRONG, should be ${hexNumber(computed, 8)}`
  list.add(`ICRC, ${received === computed ? 'right' : 'WRONG'}`, d.end, d.end + Icrc.length, [
    ['ICRC', `${hexNumber(received, 8)}, ${verdict}`],
  ])
}
