/** A capture as a script: packets one after the other, a microsecond apart, and what the analysis says of each. */
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import { Analysis, Dissection, dissect, Verdict } from '../../src/trace/index.ts'
import { type Row, rowOf } from '../../src/trace/row.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { aeth, type PacketSpec, reth, roceFrame } from './packets.ts'

export const A = '10.0.0.1'
export const B = '10.0.0.2'

export class Script {
  readonly analysis: Analysis
  readonly rows: Row[] = []
  readonly #d = new Dissection()
  readonly #v = new Verdict()
  #microseconds = 0

  /** @param ahead that of a script that is the same, and farther on */
  constructor(ahead?: Analysis) {
    this.analysis = new Analysis(ahead)
  }

  /** Hands a frame to the analysis, `after` µs behind the one before. */
  frame(bytes: Uint8Array, after = 1, linkType: number = LinkType.Ethernet): Row {
    const packet = new CapturedPacket()
    packet.bytes = bytes
    packet.view = new DataView(bytes.buffer)
    packet.length = packet.originalLength = bytes.length
    packet.number = this.rows.length + 1
    packet.linkType = linkType
    this.#microseconds += after
    packet.seconds = 1_700_000_000
    packet.nanoseconds = this.#microseconds * 1000
    packet.hasTime = true
    dissect(packet, this.#d, true)
    this.analysis.packet(packet, this.#d, this.#v)
    const row = rowOf(packet, this.#d, this.#v, this.analysis)
    this.rows.push(row)
    return row
  }

  /** From A's QP 0xa to B's QP 0xb, unless told otherwise. */
  request(spec: Partial<PacketSpec> & { psn: number }, after = 1): Row {
    const base = {
      ...this.#sent(),
      opcode: WireOpcode.RcSendOnly,
      source: A,
      destination: B,
      destQp: 0xb,
      payload: 8,
      ackReq: true,
    }
    return this.frame(roceFrame({ ...base, ...spec }), after)
  }

  read(psn: number, length: number, after = 1): Row {
    return this.request(
      { psn, opcode: WireOpcode.RcReadRequest, payload: 0, extension: reth(0x1000, 1, length) },
      after,
    )
  }

  /** From B's QP 0xb to A's QP 0xa. */
  ack(psn: number, syndrome = 0x1f, spec: Partial<PacketSpec> = {}, after = 1): Row {
    const base = {
      ...this.#sent(),
      opcode: WireOpcode.RcAck,
      source: B,
      destination: A,
      destQp: 0xa,
      psn,
      extension: aeth(syndrome, 1),
    }
    return this.frame(roceFrame({ ...base, ...spec }), after)
  }

  /** Each is another datagram, what is sent again, too. */
  #sent(): Pick<PacketSpec, 'identification'> {
    return { identification: this.rows.length + 1 }
  }

  response(psn: number, place: 'First' | 'Middle' | 'Last' | 'Only', payload: number): Row {
    return this.ack(psn, 0x1f, { opcode: WireOpcode[`RcReadResponse${place}`], payload })
  }

  get flow() {
    return this.analysis.table.flows[0]!
  }
}
