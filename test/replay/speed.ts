/**
 * How many packets a second are rewritten: `npx tsx test/replay/speed.ts [packets]`. A capture of small packets (SENDs of 8 bytes
 * and their ACKs) in memory; reading it, rewriting MAC, IP and queue pair with the ICRC again, and writing it into memory. `trace check`
 * of the same bytes stands beside it, round by round, since both have to read and check them.
 */
import { bytesSource, CaptureCopy, PcapWriter } from '../../src/capture/index.ts'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { parseMapping, replayPackets } from '../../src/replay/index.ts'
import { checkCapture } from '../../src/trace/index.ts'
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
type Mappings = NonNullable<Parameters<typeof replayPackets>[1]['mappings']>

async function replay(mappings: Mappings, isWritten: boolean): Promise<void> {
  const copy = new CaptureCopy({ write: () => {} }, { format: 'pcap' })
  let read = 0
  const { counts } = await replayPackets(source, { mappings }, (packet, _d, parser) => {
    read++
    if (isWritten) copy.packet(packet, parser.interfaces)
  })
  copy.close()
  if (counts.icrcInvalid > 0 || read !== packets) throw new Error('the capture was not read whole')
}

const runs: [what: string, run: () => Promise<unknown>][] = [
  ['trace check', () => checkCapture(source)],
  ['nothing: read, check', () => replay([], false)],
  ['nothing: read, check, write', () => replay([], true)],
  ['MAC and QPN', () => replay(few, true)],
  ['MAC, QPN, IP, DSCP', () => replay([...few, ...addresses], true)],
  ['MAC, QPN, IP, DSCP, PSN, MSN, P_Key', () => replay([...few, ...addresses, ...numbers], true)],
]
const rates: string[][] = runs.map(() => [])
for (let round = 0; round < 3; round++)
  for (const [i, [, run]] of runs.entries()) {
    const started = performance.now()
    await run()
    rates[i]!.push((packets / (performance.now() - started) / 1000).toFixed(2))
  }
for (const [i, [what]] of runs.entries()) console.log(`${what.padEnd(40)} ${rates[i]!.join('  ')} million packets/s`)
