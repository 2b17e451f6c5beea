/** `verbena trace info` */
import type { Command } from 'commander'
import { endWith, note, paint, print, printJson, table } from '../../cli/terminal/index.ts'
import {
  analyseCapture,
  type CaptureInfo,
  type ConversationInfo,
  type DirectionInfo,
  duration,
  pairingText,
} from '../../trace/index.ts'
import {
  captureFile,
  countOf,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'

const help = `
A packet names only its destination QP. What tells which two directions belong together is, in order of trust: connection
messages (REQ, REP) in the capture; the TCP exchange of a pingpong program; the source QP in datagrams; else it is inferred
from PSNs, if exactly one flow has outstanding what an ACK acknowledges, or from there being only one flow each way. The line
of a conversation says which it was ("paired").

Latency: from the first transmission of a request that asks for an ACK to the response that acknowledges it, as seen where
the capture was made; for a READ, to its last response.
Missing: PSNs left out; late: those of them that came afterwards. Duplicate: sent again although acknowledged.

Examples:
  verbena trace info roce.pcap
  verbena trace info roce.pcap --json | jq '.conversations[] | select(.directions[].naks.psnSequence > 0)'`

export function configure(command: Command): void {
  readsCapture(command)
    .description('Follow the connections of a capture: messages, bytes, losses, NAKs, latencies.')
    .option('--top <count>', 'show so many conversations, those with most packets first', countOf('--top'), 20)
    .option('--json', 'print one JSON document, with all conversations')
    .addHelpText('after', help)
    .action(async (file: string, options: ReadOptions & { top: number; json?: boolean }) => {
      const stop = stopOnInterrupt()
      const info = await analyseCapture(captureFile(file), readingOf(options, stop))
      stop.dispose()
      mustBeCapture(file, info)
      if (options.json) printJson(info)
      else show(info, options.top)
      noteIfNothing(info)
      noteDamage(info)
      if (stop.signal.aborted) note(`Interrupted after packet ${info.packets}: the rest of the file was not read.`)
      endWith(exitCodeOf(stop, info.damageCount > 0))
    })
}

function show(info: CaptureInfo, top: number): void {
  const { packets, roce, durationSeconds, wireBytes, start } = info
  const since = start === null ? '' : `, from ${new Date(start * 1000).toISOString()}`
  print(`${packets} packets, ${roce} of RDMA, ${wireBytes} bytes, ${durationSeconds.toFixed(6)} s${since}`)
  for (const { name, linkType, packetsDropped } of info.interfaces)
    print(
      `${info.format}, ${linkType}${name === null ? '' : `, interface ${name}`}${packetsDropped === null ? '' : `, ${packetsDropped} packets dropped by the capture`}`,
    )
  const messages = Object.entries(info.connectionMessages).map(([type, count]) => `${count} ${type}`)
  if (messages.length > 0) print(`connection messages: ${messages.join(', ')}`)
  for (const [count, text] of [
    [info.icrcInvalid, 'with a wrong ICRC'],
    [info.malformed, 'malformed'],
    [info.cut, 'cut by the capture'],
    [info.uncounted, 'of flows for which there was no room'],
  ] as const)
    if (count > 0) print(paint('red', `${count} packets ${text}`))
  const sorted = info.conversations.toSorted((a, b) => weight(b) - weight(a)).slice(0, top)
  for (const conversation of sorted) showConversation(conversation)
  const rest = info.conversations.length - sorted.length
  if (rest > 0) print(`\n… and ${rest} conversations more: --top ${info.conversations.length} shows all`)
}

function weight({ directions }: ConversationInfo): number {
  return directions.reduce((sum, { packets }) => sum + packets, 0)
}

function showConversation({ number, service, paired, pathMtu, directions }: ConversationInfo): void {
  print('')
  const mtu = pathMtu === null ? '' : `, path MTU ${pathMtu}`
  print(`${paint('bold', `#${number} ${service}`)}${mtu}; paired: ${pairingText(paired)}`)
  const rows: [string, (d: DirectionInfo) => string | number][] = [
    ['packets', ({ packets }) => packets],
    ['messages', ({ messages }) => messageText(messages)],
    ['payload', ({ bytes, readBytes }) => (readBytes > 0 ? `${bytes} B, READ ${readBytes} B` : bytes && `${bytes} B`)],
    ['retransmissions', ({ retransmissions }) => retransmissions],
    ['of them duplicates', ({ duplicates }) => duplicates],
    [
      'gaps',
      ({ gaps, missingPackets, latePackets }) =>
        gaps ? `${gaps} (${missingPackets} missing, ${latePackets} late)` : 0,
    ],
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
    ['latency', ({ latency }) => (latency === null ? 0 : `${latency.count} measured`)],
    ['  min', ({ latency }) => (latency === null ? 0 : duration(latency.minNs))],
    ['  50 %', ({ latency }) => (latency === null ? 0 : duration(latency.p50Ns))],
    ['  90 %', ({ latency }) => (latency === null ? 0 : duration(latency.p90Ns))],
    ['  99 %', ({ latency }) => (latency === null ? 0 : duration(latency.p99Ns))],
    ['  99.9 %', ({ latency }) => (latency === null ? 0 : duration(latency.p999Ns))],
    ['  max', ({ latency }) => (latency === null ? 0 : duration(latency.maxNs))],
  ]
  const cells = rows
    .map(([name, get]) => [name, ...directions.map((direction) => String(get(direction)))])
    // What is nowhere is not worth a line, but for packets.
    .filter(([name, ...values]) => name === 'packets' || values.some((value) => value !== '0'))
    .map(([name, ...values]) => [name!, ...values.map((value) => (value === '0' ? '–' : value))])
  print(table(['', ...directions.map(directionText)], cells))
}

function directionText({ source, sourceQp, destination, destinationQp }: DirectionInfo): string {
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
