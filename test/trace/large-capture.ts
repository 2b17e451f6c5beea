/** A large capture of many connections, quickly: SENDs and their ACKs, of which each connection's are the same but for their PSNs. */
import { PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { fileSink } from '../../src/files/index.ts'
import { icrcOfRoceV2, put24, put32le, WireOpcode } from '../../src/wire/index.ts'
import { aeth, roceFrame } from './packets.ts'

export interface LargeCapture {
  packets: number
  /** Payload of each SEND in bytes; default: 8. */
  payload?: number
  connections?: number
  /** Each so manieth SEND is in the capture twice, its ACK behind the second; default: none. */
  againEvery?: number
  pcapng?: boolean
}

/** Writes it; a packet a microsecond, what is sent again a little later. Returns how many of the packets were sent again. */
export function writeLargeCapture(path: string, capture: LargeCapture): number {
  const { packets, payload = 8, connections = 64, againEvery = 0, pcapng = false } = capture
  const sink = fileSink(path)
  const writer = pcapng ? new PcapngWriter(sink) : new PcapWriter(sink)
  if (writer instanceof PcapngWriter) writer.addInterface()
  const send = roceFrame({ opcode: WireOpcode.RcSendOnly, payload, ackReq: true })
  const ack = roceFrame({
    opcode: WireOpcode.RcAck,
    extension: aeth(0x1f, 0),
    source: '10.0.0.2',
    destination: '10.0.0.1',
  })
  const bth = 14 + 20 + 8
  let number = 0
  let us = 0
  const add = (frame: Uint8Array, turn: number): void => {
    put24(frame, bth + 5, 0x100 + (turn % connections))
    const psn = Math.floor(turn / connections) & 0xffffff
    put24(frame, bth + 9, psn)
    if (frame === ack) put24(frame, bth + 13, (psn + 1) & 0xffffff)
    put32le(frame, frame.length - 4, icrcOfRoceV2(frame, 14, bth, frame.length - 4))
    writer.packet(frame, 0, frame.length, 1_700_000_000 + Math.floor(us / 1e6), (us % 1e6) * 1000)
    number++
    us++
  }
  let again = 0
  for (let turn = 0; number < packets; turn++) {
    add(send, turn)
    if (againEvery > 0 && turn % againEvery === againEvery - 1 && number < packets) {
      // Sooner it would be a copy of the packet, not the packet sent again.
      us += 10
      add(send, turn)
      again++
    }
    if (number < packets) add(ack, turn)
  }
  writer.close()
  return again
}
