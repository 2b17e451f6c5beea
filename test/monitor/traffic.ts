/** Packets for an observer, with what happens to them: each goes a microsecond after the one before, unless told otherwise. */
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import {
  type MonitorConfig,
  type MonitorOptions,
  monitorConfig,
  Observer,
  type Window,
  type Witness,
} from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { aeth, type PacketSpec, reth, roceFrame } from '../trace/packets.ts'

export const A = '10.0.0.1'
export const B = '10.0.0.2'
export const seconds = 1_700_000_000

export class Traffic {
  readonly windows: Window[] = []
  readonly observer: Observer
  readonly config: MonitorConfig
  readonly #packet = new CapturedPacket()
  nowNs = 0
  /** Packets are only counted, as in overload. */
  overloaded = false

  constructor(options: MonitorOptions & { agent?: string; run?: string; witness?: Witness } = {}) {
    this.config = monitorConfig({ seed: 1, memoryBytes: 2 ** 23, ...options })
    this.observer = new Observer({
      ...{ config: this.config, agent: options.agent ?? 'test', run: options.run ?? 'run' },
      onWindow: (window) => this.windows.push(window),
      ...(options.witness && { witness: options.witness }),
    })
  }

  /** @param wireLength of the packet, if the capture has only its beginning */
  frame(bytes: Uint8Array, afterNs = 1000, wireLength: number = bytes.length): void {
    const packet = this.#packet
    packet.bytes = bytes
    packet.view = new DataView(bytes.buffer)
    packet.length = bytes.length
    packet.originalLength = wireLength
    packet.number++
    packet.linkType = LinkType.Ethernet
    this.nowNs += afterNs
    packet.seconds = seconds + Math.floor(this.nowNs / 1e9)
    packet.nanoseconds = this.nowNs - Math.floor(this.nowNs / 1e9) * 1e9
    packet.hasTime = true
    if (this.overloaded) this.observer.count(packet)
    else this.observer.packet(packet)
  }

  /** Each is another datagram, also what is sent again. */
  packet(spec: Partial<PacketSpec>, afterNs = 1000): void {
    const identification = (this.#packet.number + 1) & 0xffff
    this.frame(
      roceFrame({ opcode: WireOpcode.RcSendOnly, source: A, destination: B, identification, ...spec }),
      afterNs,
    )
  }

  /** A SEND from A's QP 0xa to B's QP 0xb. */
  send(psn: number, spec: Partial<PacketSpec> = {}, afterNs = 1000): void {
    this.packet({ psn, destQp: 0xb, payload: 8, ackReq: true, tos: 2, ...spec }, afterNs)
  }

  /** The response to that. */
  ack(psn: number, syndrome = 0x1f, spec: Partial<PacketSpec> = {}, afterNs = 1000): void {
    const back = { source: B, destination: A, destQp: 0xa, tos: 2 }
    this.packet({ ...back, opcode: WireOpcode.RcAck, psn, extension: aeth(syndrome, 1), ...spec }, afterNs)
  }

  read(psn: number, length: number, rkey = 0x77): void {
    this.send(psn, { opcode: WireOpcode.RcReadRequest, payload: 0, extension: reth(0x1000, rkey, length) })
  }

  response(psn: number, payload: number, place: 'First' | 'Middle' | 'Last' | 'Only' = 'Only'): void {
    this.ack(psn, 0x1f, { opcode: WireOpcode[`RcReadResponse${place}`], payload })
  }

  /** The only window. */
  end(): Window {
    this.observer.finish()
    if (this.windows.length !== 1) throw new Error(`there are ${this.windows.length} windows`)
    return this.windows[0]!
  }
}
