/** Packets as the page's list and its detail show them. */
import { type CapturedPacket, linkTypeName } from '../../capture/index.ts'
import { timeText } from '../../text/index.ts'
import { type Dissection, layersOf, notesOf, operationText, partOf, type Row, utcText } from '../index.ts'
import type { PacketDetail, PacketLine } from './protocol.ts'

export function lineOf(row: Row): PacketLine {
  const head = { number: row.number, time: row.time.toFixed(6) }
  if (row.kind === 'other')
    return {
      ...head,
      ...{ ends: '', conversation: null, qps: '', what: 'no RDMA', psn: '', payload: '', notes: `${row.length} B` },
      part: 'dim',
    }
  const to = row.destQp === undefined ? '' : hex(row.destQp)
  return {
    ...head,
    ends: `${row.source ?? '?'} → ${row.destination ?? '?'}`,
    conversation: row.conversation ?? null,
    qps: to === '' ? '' : `${row.srcQp === undefined ? '' : hex(row.srcQp)} → ${to}`,
    what: row.destQp === undefined ? `${row.kind}, ${row.length} B` : `${row.service} ${operationText(row)}`,
    psn: row.psn === undefined || row.operation === 'CNP' ? '' : String(row.psn),
    payload: row.payload ? String(row.payload) : '',
    notes: notesOf(row).join('; '),
    part: (partOf(row) ?? null) as PacketLine['part'],
  }
}

export function detailOf(row: Row, packet: CapturedPacket, d: Dissection): PacketDetail {
  const cut = packet.length < packet.originalLength ? `, ${packet.length} captured` : ''
  const facts = [
    `${row.time.toFixed(9)} s since the first packet, ${timeText(row.delta * 1e9)} since the one before`,
    `link type ${linkTypeName(packet.linkType)}, interface ${packet.interfaceId}`,
  ]
  if (row.epoch !== undefined) facts.unshift(`captured ${utcText(row.epoch.seconds, row.epoch.nanoseconds)}`)
  return {
    number: row.number,
    conversation: row.conversation ?? null,
    title: `Packet ${row.number}, ${row.length} bytes${cut}`,
    facts,
    layers: layersOf(packet, d),
    notes: row.kind === 'other' ? [] : notesOf(row),
    bytes: packet.bytes.slice(packet.offset, packet.offset + packet.length),
  }
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
