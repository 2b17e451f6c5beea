/**
 * The messages of a capture. A message begins with its first packet and ends with its last; retransmitted packets are not
 * counted. It is completed when its last packet is acknowledged or its READ answered, if the capture has both directions.
 */
import type { CapturedPacket, CaptureParser, CaptureSource } from '../capture/index.ts'
import {
  type Analysis,
  Dissection,
  dissect,
  type Flow,
  IcrcState,
  Kind,
  Mark,
  readAhead,
  rethOffset,
  Service,
  type TraceOptions,
  Verdict,
} from '../trace/index.ts'
import { OpBit, opcodeTable, psnDiff, Reth, Syndrome, u32 } from '../wire/index.ts'
import { link } from './causes.ts'
import type { MessageGaps, MessageOp, TraceConnection, TraceMessage } from './message.ts'

/** Messages of a capture, in the order in which they begin, and counts of what could not be reconstructed. */
export interface TraceMessages {
  connections: TraceConnection[]
  messages: TraceMessage[]
  gaps: MessageGaps
  /** Time of the first message, in seconds since 1970. */
  start: number
  parser: CaptureParser
}

/** Maximum number of stored messages, some hundred bytes each; more are only counted. */
export const mostMessages = 2_000_000

/** Bytes of an atomic operand. */
const operandBytes = 8

interface Found {
  flow: Flow
  op: MessageOp
  bytes: number
  atNs: number
  endNs: number
  doneNs: number | null
}

/** Message whose last packet has not been seen yet. */
interface Open {
  message: Found
  firstPsn: number
  mtu: number
}

interface FlowState {
  open: Open | undefined
  /** Messages of RC that are not acknowledged, by the PSN of their last packet. */
  waiting: { lastPsn: number; message: Found }[]
  /** Number of messages at the start of `waiting` that are completed. */
  done: number
}

class Reconstruction {
  readonly found: Found[] = []
  readonly gaps: MessageGaps = {
    damagedPackets: 0,
    incomplete: 0,
    otherServices: 0,
    management: 0,
    retransmissions: 0,
    rejected: 0,
    withoutFlow: 0,
    beyond: 0,
  }
  readonly #states = new Map<Flow, FlowState>()

  packet(packet: CapturedPacket, d: Dissection, v: Verdict): void {
    if (d.kind === Kind.Other) return
    if (!d.complete || d.problems !== 0 || d.icrc === IcrcState.Invalid) {
      this.gaps.damagedPackets++
      return
    }
    const { flow } = v
    if (flow === undefined) {
      this.gaps.withoutFlow++
      return
    }
    if ((d.bits & OpBit.Response) !== 0) this.#response(flow, d, v)
    else if ((d.bits & OpBit.Request) !== 0) this.#request(flow, packet.bytes, d, v)
  }

  /** Counts messages whose end is missing as incomplete. */
  end(): void {
    for (const { open } of this.#states.values()) if (open !== undefined) this.gaps.incomplete++
  }

  #stateOf(flow: Flow): FlowState {
    let state = this.#states.get(flow)
    if (state === undefined) {
      state = { open: undefined, waiting: [], done: 0 }
      this.#states.set(flow, state)
    }
    return state
  }

  #request(flow: Flow, b: Uint8Array, d: Dissection, v: Verdict): void {
    const { gaps } = this
    const { bits, psn } = d
    if (flow.service === Service.UD && d.destQp === 1) {
      gaps.management++
      return
    }
    if ((v.marks & (Mark.Retransmission | Mark.Duplicate)) !== 0) {
      gaps.retransmissions++
      return
    }
    const isLast = (bits & (OpBit.Last | OpBit.Only)) !== 0
    if (flow.service !== Service.RC && flow.service !== Service.UC && flow.service !== Service.UD) {
      if (isLast) gaps.otherServices++
      return
    }
    const state = this.#stateOf(flow)
    if ((v.marks & Mark.Restart) !== 0) this.#giveUp(state)
    if ((bits & (OpBit.First | OpBit.Only)) !== 0) {
      this.#giveUp(state)
      const message = { flow, op: opOf(d.opcode), bytes: lengthOf(b, d), atNs: v.timeNs, endNs: v.timeNs, doneNs: null }
      if (isLast) this.#complete(state, message, lastPsnOf(flow, message, psn))
      else state.open = { message, firstPsn: psn, mtu: d.payloadLength }
      return
    }
    if (!isLast) return
    const { open } = state
    state.open = undefined
    const behind = open === undefined ? -1 : psnDiff(psn, open.firstPsn)
    if (open === undefined || behind < 1) {
      gaps.incomplete++
      return
    }
    const { message } = open
    // A WRITE states its length in its first packet. That of a SEND follows from the PSNs, even if packets between are missing.
    if ((bits & OpBit.Send) !== 0) message.bytes = behind * open.mtu + d.payloadLength
    message.op = opOf(d.opcode)
    message.endNs = v.timeNs
    this.#complete(state, message, psn)
  }

  #giveUp(state: FlowState): void {
    if (state.open !== undefined) this.gaps.incomplete++
    state.open = undefined
  }

  #complete(state: FlowState, message: Found, lastPsn: number): void {
    if (this.found.length >= mostMessages) {
      this.gaps.beyond++
      return
    }
    this.found.push(message)
    if (message.flow.service === Service.RC) state.waiting.push({ lastPsn, message })
  }

  #response(flow: Flow, d: Dissection, v: Verdict): void {
    if ((v.marks & Mark.Nak) !== 0 && d.syndrome !== Syndrome.PsnSequence) this.gaps.rejected++
    const requests = flow.peer
    if (requests === undefined || (v.marks & Mark.Covers) === 0) return
    const state = this.#states.get(requests)
    if (state === undefined) return
    const { waiting } = state
    while (state.done < waiting.length && psnDiff(requests.acked, waiting[state.done]!.lastPsn) >= 0)
      waiting[state.done++]!.message.doneNs = v.timeNs
    if (state.done > 1000) {
      waiting.splice(0, state.done)
      state.done = 0
    }
  }
}

/** Returns the PSN of the last packet of the exchange: that of the last response of a READ. */
function lastPsnOf(flow: Flow, { op, bytes }: Found, psn: number): number {
  if (op !== 'read') return psn
  const mtu = flow.mtu || flow.peer?.mtu || 4096
  return (psn + Math.max(1, Math.ceil(bytes / mtu)) - 1) & 0xffffff
}

function opOf(opcode: number): MessageOp {
  const info = opcodeTable[opcode]!
  const imm = info.headers.includes('ImmDt')
  switch (info.operation) {
    case 'WRITE':
      return imm ? 'write_with_imm' : 'write'
    case 'READ_REQUEST':
      return 'read'
    case 'COMPARE_SWAP':
      return 'compare_swap'
    case 'FETCH_ADD':
      return 'fetch_add'
    case 'ATOMIC_WRITE':
      return 'atomic_write'
    case 'FLUSH':
      return 'flush'
    default:
      return info.headers.includes('IETH') ? 'send_with_inv' : imm ? 'send_with_imm' : 'send'
  }
}

function lengthOf(b: Uint8Array, { bits, bth, payloadLength }: Dissection): number {
  if ((bits & OpBit.Atomic) !== 0) return operandBytes
  if ((bits & OpBit.Reth) !== 0) return u32(b, rethOffset(bits, bth) + Reth.dmaLength)
  return payloadLength
}

/** Reads the capture to its end. Throws the system's error if it cannot be read. */
export async function readMessages(source: CaptureSource, options: TraceOptions = {}): Promise<TraceMessages> {
  const d = new Dissection(options)
  const v = new Verdict()
  const reconstruction = new Reconstruction()
  let last: Analysis | undefined
  const parser = await readAhead(
    source,
    (packet, analysis) => {
      last = analysis
      dissect(packet, d, true)
      analysis.packet(packet, d, v)
      reconstruction.packet(packet, d, v)
      return undefined
    },
    options,
  )
  reconstruction.end()
  last?.finish()
  const { found, gaps } = reconstruction
  // A message is found at its end; the list is in the order of their beginnings.
  found.sort((a, b) => a.atNs - b.atNs)
  const startNs = found[0]?.atNs ?? 0
  const { connections, messages } = connect(found, startNs, last)
  link(messages)
  const start = last === undefined ? 0 : last.firstSeconds + (last.firstNanoseconds + startNs) / 1e9
  return { connections, messages, gaps, start, parser }
}

function connect(
  found: readonly Found[],
  startNs: number,
  analysis: Analysis | undefined,
): { connections: TraceConnection[]; messages: TraceMessage[] } {
  const connections: TraceConnection[] = []
  const places = new Map<Flow, { connection: number; from: 0 | 1 }>()
  const place = (flow: Flow): { connection: number; from: 0 | 1 } => {
    const known = places.get(flow)
    if (known !== undefined) return known
    const { peer } = flow
    const text = (address: number): string => analysis!.addresses.text(address)
    const connection = connections.length
    connections.push({
      type: flow.service === Service.RC ? 'RC' : flow.service === Service.UC ? 'UC' : 'UD',
      mtu: Math.max(flow.mtu, peer?.mtu ?? 0),
      ends: [
        { address: text(flow.source), qpn: flow.srcQp < 0 ? null : flow.srcQp },
        { address: text(flow.destination), qpn: flow.destQp },
      ],
      oneSided: peer === undefined,
    })
    if (peer !== undefined && peer !== flow) places.set(peer, { connection, from: 1 })
    const here = { connection, from: 0 as const }
    places.set(flow, here)
    return here
  }
  const messages = found.map(({ flow, op, bytes, atNs, endNs, doneNs }, id): TraceMessage => {
    const times = { atNs: atNs - startNs, endNs: endNs - startNs, doneNs: doneNs === null ? null : doneNs - startNs }
    return { id, ...place(flow), op, bytes, ...times, after: null, wait: null, thinkNs: 0 }
  })
  return { connections, messages }
}
