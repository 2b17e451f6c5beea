/** `verbena trace info` */
import type { Command } from 'commander'
import { endWith, note, paint, print, printJson, table } from '../../cli/terminal/index.ts'
import {
  analyseCapture,
  type CaptureInfo,
  type ConversationInfo,
  copiesText,
  directionRows,
  directionText,
  pairingText,
  utcText,
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
A packet contains only its destination QP. Two directions are paired by one of these methods, the most reliable first: connection
messages (REQ, REP) in the capture; the TCP exchange of a pingpong program; the source QP in datagrams; otherwise by PSNs, if exactly
one flow has outstanding requests that an ACK acknowledges, or because there is only one flow in each direction. The line
of a conversation shows the method ("paired").

Latency: from the first transmission of a request with AckReq to the response that acknowledges it, as seen where
the capture was made; for a READ, to its last response.
Missing: PSNs that were skipped; late: those of them that came afterwards. Duplicate: sent again although acknowledged.

Examples:
  verbena trace info roce.pcap
  verbena trace info roce.pcap --json | jq '.conversations[] | select(.directions[].naks.psnSequence > 0)'`

export function configure(command: Command): void {
  readsCapture(command)
    .description('Follow the connections of a capture: messages, bytes, losses, NAKs, latencies.')
    .option(
      '--top <count>',
      'show this number of conversations, those with the most packets first',
      countOf('--top'),
      20,
    )
    .option('--json', 'print one JSON document, with all conversations')
    .addHelpText('after', help)
    .action(async (file: string, options: ReadOptions & { top: number; json?: boolean }) => {
      const stop = stopOnInterrupt()
      const info = await analyseCapture(captureFile(file), readingOf(options, stop))
      stop.dispose()
      mustBeCapture(file, info)
      if (options.json) printJson(info)
      else show(info, options.top)
      const unread = info.interfaces.map(({ linkType }) => linkType).filter((name) => name.endsWith('not read'))
      noteIfNothing({ ...info, unread: [...new Set(unread)] })
      noteDamage(info)
      if (stop.signal.aborted) note(`Interrupted after packet ${info.packets}: the rest of the file was not read.`)
      endWith(exitCodeOf(stop, info.damageCount > 0))
    })
}

function show(info: CaptureInfo, top: number): void {
  const { packets, roce, durationSeconds, wireBytes, start } = info
  const since = start === null ? '' : `, from ${utcText(start)}`
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
  if (info.copies > 0) {
    const which = info.copies === 1 ? '1 packet is a copy of another' : `${info.copies} packets are copies of others`
    print(`${which}, ${copiesText}: nothing else counts ${info.copies === 1 ? 'it' : 'them'}`)
  }
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
  print(table(['', ...directions.map(directionText)], directionRows(directions)))
}
