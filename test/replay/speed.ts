/**
 * How many packets a second are rewritten: `npx tsx test/replay/speed.ts [packets]`. A capture of small packets (SENDs of 8 bytes
 * and their ACKs) in memory; reading it, rewriting MAC, IP and queue pair with the ICRC again, and writing it into memory.
 */
import { bytesSource, CaptureCopy, PcapWriter } from '../../src/capture/index.ts'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { parseMapping, replayPackets } from '../../src/replay/index.ts'
import { icrcOfRoceV2, put24, put32le, useCrc32, WireOpcode } from '../../src/wire/index.ts'
import { aeth, roceFrame } from '../trace/packets.ts'

const packets = Number(process.argv[2] ?? 2_000_000)
const chunks: Uint8Array[] = []
const writer = new PcapWriter({ write: (bytes) => void chunks.push(bytes.slice()) })
const send = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 8, ackReq: true })
const ends = { source: '10.0.0.2', destination: '10.0.0.1' }
const ack = roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x1f, 0), ...ends })
for (let i = 0; i < packets; i++) {
  const frame = i & 1 ? ack : send
  put24(frame, 14 + 28 + 9, (i >> 1) & 0xffffff)
  put32le(frame, frame.length - 4, icrcOfRoceV2(frame, 14, 42, frame.length - 4))
  writer.packet(frame, 0, frame.length, 1_700_000_000 + Math.floor(i / 1e6), (i % 1e6) * 1000)
}
writer.close()
const source = bytesSource(Buffer.concat(chunks))
useCrc32(nativeCrc32())

const few = [parseMapping('mac', '02:00:00:00:00:01=02:00:00:00:00:99'), parseMapping('qpn', '0x100=0x200')]
const addresses = [parseMapping('ip', '10.0.0.0/24=192.168.7.0/24'), parseMapping('dscp', '26')]
const numbers = [parseMapping('psn', '+1000'), parseMapping('msn', '+7'), parseMapping('pkey', '0x8001')]
for (const [what, mappings] of [
  ['nothing: read, check, write', []],
  ['MAC and QPN', few],
  ['MAC, QPN, IP, DSCP', [...few, ...addresses]],
  ['MAC, QPN, IP, DSCP, PSN, MSN, P_Key', [...few, ...addresses, ...numbers]],
] as const) {
  const rates: string[] = []
  for (let round = 0; round < 3; round++) {
    const copy = new CaptureCopy({ write: () => {} }, { format: 'pcap' })
    const started = performance.now()
    const { counts } = await replayPackets(source, { mappings }, (packet, _d, parser) =>
      copy.packet(packet, parser.interfaces),
    )
    copy.close()
    if (counts.icrcInvalid > 0 || copy.written !== packets) throw new Error('the capture was not read whole')
    rates.push((packets / (performance.now() - started) / 1000).toFixed(2))
  }
  console.log(`${what.padEnd(40)} ${rates.join('  ')} million packets/s`)
}
