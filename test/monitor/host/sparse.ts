import { PcapWriter } from '../../../src/capture/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { roceFrame } from '../../trace/packets.ts'

/** A pcap file with one SEND in each second. */
export function sparseCapture(packets: number): Uint8Array {
  const chunks: Uint8Array[] = []
  const writer = new PcapWriter({ write: (bytes) => chunks.push(bytes.slice()) })
  for (let psn = 0; psn < packets; psn++) {
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, psn, destQp: 0xb, payload: 8 })
    writer.packet(frame, 0, frame.length, 1_700_000_000 + psn, 0)
  }
  writer.close()
  return new Uint8Array(Buffer.concat(chunks))
}
