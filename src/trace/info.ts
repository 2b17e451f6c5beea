/** `verbena trace info`: statistics of each conversation of a capture. The result is plain data, for JSON as it is. */
import {
  type CapturedPacket,
  type CaptureParser,
  type CaptureSource,
  type Damage,
  linkTypeName,
} from '../capture/index.ts'
import { Analysis, mostRingBytes } from './analysis.ts'
import { Datagrams } from './datagrams.ts'
import { Dissection, type TraceOptions } from './dissect.ts'
import { type Basis, basisTexts, type Flow, serviceNames } from './flow.ts'
import type { LatencySummary } from './latencies.ts'
import { Verdict } from './verdict.ts'

/** One direction: the requests of one end, and its responses to the other's. */
export interface DirectionInfo {
  source: string
  /** Number of the sending QP; null while it is not known. */
  sourceQp: number | null
  destination: string
  destinationQp: number
  packets: number
  /** Copies of packets that the capture contains more than once, without the first: nothing else counts them. */
  copies: number
  wireBytes: number
  messages: {
    total: number
    send: number
    write: number
    read: number
    atomic: number
    atomicWrite: number
    flush: number
  }
  /** Payload of the requests, each byte once. */
  bytes: number
  /** Payload that its READs returned. */
  readBytes: number
  retransmissions: number
  /** Retransmissions of packets that were acknowledged already. */
  duplicates: number
  gaps: number
  missingPackets: number
  /** Missing packets that came later. */
  latePackets: number
  /** Requests that were recorded after their acknowledgement: neither lost nor repeated. */
  overtaken: number
  restarts: number
  /** PSNs that were sent and, at the end of the capture, not acknowledged. */
  unacknowledged: number
  acks: number
  repeatedAnswers: number
  naks: {
    psnSequence: number
    invalidRequest: number
    remoteAccess: number
    remoteOperational: number
    invalidRdRequest: number
    other: number
  }
  rnrNaks: number
  readResponses: number
  atomicAcks: number
  cnps: number
  ecnMarked: number
  icrcInvalid: number
  malformed: number
  firstSeconds: number
  lastSeconds: number
  /** Time from a request's first transmission to the response that acknowledges it; null without any. */
  latency: LatencySummary | null
  /** Responses whose time stamps are before their requests': the clock went back, or there were two. Their latencies are not known. */
  latenciesUnmeasured: number
}

/** Two queue pairs that communicate, or one direction if the other is not known. */
export interface ConversationInfo {
  number: number
  service: string
  /** Evidence that the two directions belong together; null if there is only one. */
  paired: Basis | null
  /** Bytes; null if the capture does not contain it. */
  pathMtu: number | null
  directions: DirectionInfo[]
}

/** Summary of a capture: totals, and each conversation. */
export interface CaptureInfo {
  format: string | null
  interfaces: { name: string | null; linkType: string; packetsDropped: number | null }[]
  packets: number
  roce: number
  /** Packets, among those counted above, that the capture contains more than once (without the first): nothing else counts them. */
  copies: number
  wireBytes: number
  /** Seconds since 1970 of the first packet, and seconds from it to the last; null without time stamps. */
  start: number | null
  durationSeconds: number
  icrcInvalid: number
  malformed: number
  cut: number
  /** Number of connection messages of each type. */
  connectionMessages: Record<string, number>
  conversations: ConversationInfo[]
  /** Packets of flows that exceeded the maximum number of flows. */
  uncounted: number
  damage: readonly Damage[]
  damageCount: number
}

/** Analyses a capture to its end. Throws the system's error if it cannot be opened or read. */
export async function analyseCapture(source: CaptureSource, options: TraceOptions = {}): Promise<CaptureInfo> {
  // Few captures have copies. Searching all packets for them would be a sixth of the work: a source that can be read again is searched only
  // if a sample has some.
  const sampled = source.repeatable ? await analyse(source, options, true) : undefined
  return sampled ?? (await analyse(source, options, false))!
}

/** Returns undefined if a sample of the packets has copies. */
async function analyse(
  source: CaptureSource,
  options: TraceOptions,
  samplesCopies: boolean,
): Promise<CaptureInfo | undefined> {
  const analysis = new Analysis(undefined, { rings: { bytesLeft: mostRingBytes }, samplesCopies })
  const d = new Dissection(options)
  const v = new Verdict()
  const datagrams = new Datagrams()
  const follow = (packet: CapturedPacket): void => analysis.packet(packet, d, v)
  const parser = await source.read((packet) => {
    datagrams.each(packet, d, true, follow)
    return !(samplesCopies && analysis.copies > 0)
  }, options)
  if (samplesCopies && analysis.copies > 0) return undefined
  analysis.finish()
  return captureInfo(analysis, parser)
}

/** Returns the results so far of an analysis of the capture that `parser` reads. */
export function captureInfo(analysis: Analysis, parser: CaptureParser): CaptureInfo {
  const { uncounted, damage, damageCount, ...totals } = captureTotals(analysis, parser)
  return { ...totals, conversations: conversationsOf(analysis), uncounted, damage, damageCount }
}

/** Returns the same without the conversations. */
export function captureTotals(analysis: Analysis, parser: CaptureParser): Omit<CaptureInfo, 'conversations'> {
  return {
    format: parser.format ?? null,
    interfaces: parser.interfaces.map(({ name, linkType, dropped }) => ({
      name: name ?? null,
      linkType: linkTypeName(linkType),
      packetsDropped: dropped ?? null,
    })),
    packets: analysis.packets,
    roce: analysis.roce,
    copies: analysis.copies,
    wireBytes: analysis.wireBytes,
    start: analysis.firstSeconds < 0 ? null : analysis.firstSeconds + analysis.firstNanoseconds / 1e9,
    durationSeconds: analysis.lastNs / 1e9,
    icrcInvalid: analysis.icrcInvalid,
    malformed: analysis.malformed,
    cut: analysis.cut,
    connectionMessages: Object.fromEntries(analysis.management),
    uncounted: analysis.table.overflow,
    damage: parser.damage.list,
    damageCount: parser.damage.count,
  }
}

function conversationsOf(analysis: Analysis): ConversationInfo[] {
  const numbers = analysis.conversationNumbers()
  const conversations: ConversationInfo[] = []
  for (const flow of analysis.table.flows)
    if (isFirstOfPair(flow)) conversations.push(conversationInfo(flow, numbers[flow.index]!, analysis))
  return conversations
}

/** True for the one of two flows that belong together that was seen first: it represents the conversation. */
export function isFirstOfPair({ index, peer }: Flow): boolean {
  return peer === undefined || peer.index >= index
}

/** Returns the conversation that begins with `flow`. */
export function conversationInfo(flow: Flow, number: number, analysis: Analysis): ConversationInfo {
  const { peer } = flow
  const both = peer === undefined || peer === flow ? [flow] : [flow, peer]
  const mtu = Math.max(...both.map((one) => one.mtu))
  return {
    number,
    service: serviceNames[flow.service]!,
    paired: peer === undefined ? null : (flow.basis ?? null),
    pathMtu: mtu > 0 ? mtu : null,
    directions: both.map((one) => directionOf(one, analysis)),
  }
}

function directionOf(flow: Flow, analysis: Analysis): DirectionInfo {
  const { addresses } = analysis
  const [psnSequence, invalidRequest, remoteAccess, remoteOperational, invalidRdRequest, other] = flow.naks
  return {
    source: addresses.text(flow.source),
    sourceQp: flow.srcQp >= 0 ? flow.srcQp : null,
    destination: addresses.text(flow.destination),
    destinationQp: flow.destQp,
    packets: flow.packets,
    copies: flow.copies,
    wireBytes: flow.wireBytes,
    messages: {
      total: flow.messages,
      send: flow.sends,
      write: flow.writes,
      read: flow.reads,
      atomic: flow.atomics,
      atomicWrite: flow.atomicWrites,
      flush: flow.flushes,
    },
    bytes: flow.requestBytes,
    readBytes: flow.readBytes,
    retransmissions: flow.retransmissions,
    duplicates: flow.duplicates,
    gaps: flow.gaps,
    missingPackets: flow.missing,
    latePackets: flow.late,
    overtaken: flow.overtaken,
    restarts: flow.restarts,
    unacknowledged: isAnswered(flow) ? flow.unacknowledged : 0,
    acks: flow.acks,
    repeatedAnswers: flow.ackRepeats + flow.responseRepeats,
    naks: {
      psnSequence: psnSequence!,
      invalidRequest: invalidRequest!,
      remoteAccess: remoteAccess!,
      remoteOperational: remoteOperational!,
      invalidRdRequest: invalidRdRequest!,
      other: other!,
    },
    rnrNaks: flow.rnrNaks,
    readResponses: flow.readResponses,
    atomicAcks: flow.atomicAcks,
    cnps: flow.cnps,
    ecnMarked: flow.marked,
    icrcInvalid: flow.icrcInvalid,
    malformed: flow.malformed,
    firstSeconds: flow.firstNs / 1e9,
    lastSeconds: flow.lastNs / 1e9,
    latency: flow.latencies.summary() ?? null,
    latenciesUnmeasured: flow.latencies.unmeasured,
  }
}

/** True for services that acknowledge, with the other direction in the capture: without it nothing is known of acknowledgements. */
function isAnswered(flow: Flow): boolean {
  const name = serviceNames[flow.service]
  return (name === 'RC' || name === 'XRC') && flow.peer !== undefined
}

/** Returns the evidence that joined the two directions of a conversation, as a sentence. */
export function pairingText(basis: Basis | null): string {
  return basis === null ? 'one direction only, or not known which belongs to it' : basisTexts[basis]
}
