/** `verbena trace check`: every packet by itself, at the speed of the disk. */
import {
  type CapturedPacket,
  type CaptureSource,
  type Damage,
  type InterfaceInfo,
  unreadLinkTypes,
} from '../capture/index.ts'
import { Datagrams } from './datagrams.ts'
import { Dissection, IcrcState, Kind, type TraceOptions } from './dissect.ts'

/** Options of `checkCapture`. */
export interface CheckOptions extends TraceOptions {
  /** Flag: ICRCs are checked. Default: true. */
  checkIcrc?: boolean
}

/** Maximum length of a list of bad packets; packets above it are only counted. */
export const longestList = 1_000_000
const longestExamples = 1000

/** Problems of a capture, packet by packet. */
export interface CheckResult {
  packets: number
  /** Number of RoCEv2, RoCEv1 and InfiniBand packets. */
  roce: number
  roceV1: number
  infiniBand: number
  icrcValid: number
  icrcInvalidCount: number
  /** Packet numbers from 1. */
  icrcInvalid: number[]
  malformedCount: number
  malformed: number[]
  /** Rules that the first of the malformed packets break, as Problem bits. */
  examples: { packet: number; problems: number }[]
  /** RDMA packets of which the capture has only the beginning: their ICRC cannot be checked. */
  cut: number
  format: string | undefined
  interfaces: readonly InterfaceInfo[]
  /** Link types that are not supported, as text. */
  unread: readonly string[]
  damage: readonly Damage[]
  damageCount: number
  elapsedMs: number
}

/** Checks the packets of a capture to its end. Throws the system's error if it cannot be opened or read. */
export async function checkCapture(source: CaptureSource, options: CheckOptions = {}): Promise<CheckResult> {
  const { checkIcrc = true } = options
  const d = new Dissection(options)
  const counts = { roce: 0, roceV1: 0, infiniBand: 0, icrcValid: 0, icrcInvalid: 0, malformed: 0, cut: 0 }
  const icrcInvalid: number[] = []
  const malformed: number[] = []
  const examples: CheckResult['examples'] = []
  const started = performance.now()
  const datagrams = new Datagrams()
  const check = (packet: CapturedPacket): void => {
    if (d.kind === Kind.Other) return
    counts.roce++
    if (d.kind === Kind.RoceV1) counts.roceV1++
    else if (d.kind === Kind.InfiniBand) counts.infiniBand++
    if (d.icrc === IcrcState.Valid) counts.icrcValid++
    else if (d.icrc === IcrcState.Invalid) {
      counts.icrcInvalid++
      if (icrcInvalid.length < longestList) icrcInvalid.push(packet.number)
    }
    if (d.cut) counts.cut++
    if (d.problems !== 0) {
      counts.malformed++
      if (malformed.length < longestList) malformed.push(packet.number)
      if (examples.length < longestExamples) examples.push({ packet: packet.number, problems: d.problems })
    }
  }
  const parser = await source.read((packet) => {
    datagrams.each(packet, d, checkIcrc, check)
    return undefined
  }, options)
  return {
    packets: parser.packets,
    roce: counts.roce,
    roceV1: counts.roceV1,
    infiniBand: counts.infiniBand,
    icrcValid: counts.icrcValid,
    icrcInvalidCount: counts.icrcInvalid,
    icrcInvalid,
    malformedCount: counts.malformed,
    malformed,
    examples,
    cut: counts.cut,
    format: parser.format,
    interfaces: parser.interfaces,
    unread: unreadLinkTypes(parser.interfaces),
    damage: parser.damage.list,
    damageCount: parser.damage.count,
    elapsedMs: performance.now() - started,
  }
}
