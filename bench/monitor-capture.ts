/** RoCE packets for measuring the monitor, a million a second: frames are made once, and what differs is put into them. */
import { PcapWriter } from '../src/capture/index.ts'
import { fileSink } from '../src/files/index.ts'
import {
  Bth,
  Ethernet,
  emitFrame,
  frameLength,
  Icrc,
  Ipv4,
  icrcOfRoceV2,
  type RoceV2Frame,
  Udp,
  WireOpcode,
} from '../src/wire/index.ts'

export const connections = 64
const hosts = 8
const pairs = 256
const firstQp = 2
const ip = Ethernet.length
const bth = ip + Ipv4.length + Udp.length
const mac = Uint8Array.of(2, 0, 0, 0, 0, 1)
const common = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, psn: 0 }

/** The packet of this number, from 0, as a frame that is valid until the next call. */
export type FrameOf = (number: number) => Uint8Array

/** A SEND of so many bytes and its ACK, of 64 connections between eight pairs of hosts, in turn. */
export function connectionFrames(payload: number): FrameOf {
  const frames = Array.from({ length: connections }, (_, connection) => {
    const here = Uint8Array.of(10, 0, connection % hosts, 1)
    const there = Uint8Array.of(10, 0, connection % hosts, 2)
    const send: RoceV2Frame['packet'] = {
      bth: { ...common, opcode: WireOpcode.RcSendOnly, destQp: 0x200 + connection, ackReq: true },
      payload: new Uint8Array(payload),
    }
    const ack: RoceV2Frame['packet'] = {
      bth: { ...common, opcode: WireOpcode.RcAck, destQp: 0x100 + connection, ackReq: false },
      aeth: { syndrome: 0x1f, msn: 0 },
      payload: new Uint8Array(0),
    }
    return [bytesOf(here, there, send), bytesOf(there, here, ack)]
  }).flat()
  return (number) => {
    const frame = frames[number % frames.length]!
    put24(frame, bth + Bth.psn, Math.floor(number / frames.length))
    return sealed(frame)
  }
}

/** SENDs of 8 bytes, each to another QP: 256 pairs of hosts have 2^24 − 2 QPs each. */
export function distinctFrames(): FrameOf {
  const frames = Array.from({ length: pairs }, (_, pair) =>
    bytesOf(Uint8Array.of(10, 0, pair, 1), Uint8Array.of(10, 0, pair, 2), {
      bth: { ...common, opcode: WireOpcode.RcSendOnly, destQp: 0, ackReq: true },
      payload: new Uint8Array(8),
    }),
  )
  return (number) => {
    const frame = frames[number % pairs]!
    put24(frame, bth + Bth.destQp, firstQp + Math.floor(number / pairs))
    put24(frame, bth + Bth.psn, number)
    return sealed(frame)
  }
}

/** Writes packets, one each microsecond. */
export function writeCapture(path: string, frameOf: FrameOf, packets: number): void {
  const writer = new PcapWriter(fileSink(path))
  for (let n = 0; n < packets; n++) {
    const frame = frameOf(n)
    writer.packet(frame, 0, frame.length, 1_700_000_000 + Math.floor(n / 1e6), (n % 1e6) * 1000)
  }
  writer.close()
}

function bytesOf(source: Uint8Array, destination: Uint8Array, packet: RoceV2Frame['packet']): Uint8Array {
  const frame: RoceV2Frame = {
    ethernet: { source: mac, destination: mac, tags: [] },
    ipv4: { tos: 2, identification: 0, dontFragment: true, ttl: 64, source, destination },
    ...{ sourcePort: 0xc000, udpChecksum: 0, packet },
  }
  const bytes = new Uint8Array(frameLength(frame))
  emitFrame(frame, bytes, 0)
  return bytes
}

function put24(b: Uint8Array, at: number, value: number): void {
  b[at] = value >>> 16
  b[at + 1] = value >>> 8
  b[at + 2] = value
}

/** The frame with its ICRC. */
function sealed(frame: Uint8Array): Uint8Array {
  const end = frame.length - Icrc.length
  const icrc = icrcOfRoceV2(frame, ip, bth, end)
  for (let i = 0; i < Icrc.length; i++) frame[end + i] = icrc >>> (8 * i)
  return frame
}
