/** Directions of a conversation as text: printed by `info` and shown by the page. */

import { timeText } from '../text/index.ts'
import type { DirectionInfo } from './info.ts'

/** Returns a row for each figure: its name, then a text for each direction. Figures that are 0 in all directions are left out. */
export function directionRows(directions: readonly DirectionInfo[]): string[][] {
  const rows: [string, (d: DirectionInfo) => string | number][] = [
    ['packets', ({ packets }) => packets],
    ['recorded again', ({ copies }) => copies],
    ['messages', ({ messages }) => messageText(messages)],
    ['payload', ({ bytes, readBytes }) => (readBytes > 0 ? `${bytes} B, READ ${readBytes} B` : bytes && `${bytes} B`)],
    ['retransmissions', ({ retransmissions }) => retransmissions],
    ['of them duplicates', ({ duplicates }) => duplicates],
    [
      'gaps',
      ({ gaps, missingPackets, latePackets }) =>
        gaps ? `${gaps} (${missingPackets} missing, ${latePackets} late)` : 0,
    ],
    ['recorded after their ACK', ({ overtaken }) => overtaken],
    ['QP restarts', ({ restarts }) => restarts],
    ['unacknowledged', ({ unacknowledged }) => unacknowledged],
    ['ACKs', ({ acks }) => acks],
    ['READ responses', ({ readResponses }) => readResponses],
    ['atomic ACKs', ({ atomicAcks }) => atomicAcks],
    ['responses repeated', ({ repeatedAnswers }) => repeatedAnswers],
    ['NAKs', ({ naks }) => nakText(naks)],
    ['RNR NAKs', ({ rnrNaks }) => rnrNaks],
    ['CNPs', ({ cnps }) => cnps],
    ['ECN marked', ({ ecnMarked }) => ecnMarked],
    ['ICRC wrong', ({ icrcInvalid }) => icrcInvalid],
    ['malformed', ({ malformed }) => malformed],
    ['stamped before their request', ({ latenciesUnmeasured }) => latenciesUnmeasured],
    ['latency', ({ latency }) => (latency === null ? 0 : `${latency.count} measured`)],
    ['  min', ({ latency }) => (latency === null ? 0 : timeText(latency.minNs))],
    ['  50 %', ({ latency }) => (latency === null ? 0 : timeText(latency.p50Ns))],
    ['  90 %', ({ latency }) => (latency === null ? 0 : timeText(latency.p90Ns))],
    ['  99 %', ({ latency }) => (latency === null ? 0 : timeText(latency.p99Ns))],
    ['  99.9 %', ({ latency }) => (latency === null ? 0 : timeText(latency.p999Ns))],
    ['  max', ({ latency }) => (latency === null ? 0 : timeText(latency.maxNs))],
  ]
  return (
    rows
      .map(([name, get]) => [name, ...directions.map((direction) => String(get(direction)))])
      // A figure that is 0 everywhere is not worth a line, except packets.
      .filter(([name, ...values]) => name === 'packets' || values.some((value) => value !== '0'))
      .map(([name, ...values]) => [name!, ...values.map((value) => (value === '0' ? '–' : value))])
  )
}

/** Returns the two ends of a direction: 10.77.0.3 QP 0x15 → 10.77.0.2 QP 0x15. */
export function directionText({ source, sourceQp, destination, destinationQp }: DirectionInfo): string {
  const from = sourceQp === null ? '' : ` QP 0x${sourceQp.toString(16)}`
  return `${source}${from} → ${destination} QP 0x${destinationQp.toString(16)}`
}

function messageText(messages: DirectionInfo['messages']): string {
  const { total, ...kinds } = messages
  if (total === 0) return '0'
  const names = {
    send: 'SEND',
    write: 'WRITE',
    read: 'READ',
    atomic: 'atomic',
    atomicWrite: 'ATOMIC WRITE',
    flush: 'FLUSH',
  }
  const parts = Object.entries(kinds).filter(([, count]) => count > 0)
  return parts.map(([kind, count]) => `${count} ${names[kind as keyof typeof names]}`).join(', ')
}

function nakText(naks: DirectionInfo['naks']): string {
  const names = {
    psnSequence: 'PSN sequence error',
    invalidRequest: 'invalid request',
    remoteAccess: 'remote access error',
    remoteOperational: 'remote operational error',
    invalidRdRequest: 'invalid RD request',
    other: 'reserved',
  }
  const parts = Object.entries(naks).filter(([, count]) => count > 0)
  return parts.length === 0
    ? '0'
    : parts.map(([kind, count]) => `${count} ${names[kind as keyof typeof names]}`).join(', ')
}
