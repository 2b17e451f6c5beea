/**
 * How many packets a second the trace commands read: `npx tsx test/trace/speed.ts [packets]`. Writes a capture of small
 * packets (SENDs of 8 bytes and their ACKs, 66 and 62 bytes, 64 in the middle) of 64 connections, and reads it again.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { fileSink, fileSource } from '../../src/files/index.ts'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { analyseCapture, checkCapture } from '../../src/trace/index.ts'
import { icrcOfRoceV2, put24, put32le, useCrc32, WireOpcode } from '../../src/wire/index.ts'
import { aeth, roceFrame } from './packets.ts'

const packets = Number(process.argv[2] ?? 10_000_000)
const connections = 64
const dir = mkdtempSync(join(tmpdir(), 'verbena-speed-'))

function write(path: string, ng: boolean): void {
  const sink = fileSink(path)
  const writer = ng ? new PcapngWriter(sink) : new PcapWriter(sink)
  if (writer instanceof PcapngWriter) writer.addInterface()
  const send = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 8, ackReq: true })
  const ack = roceFrame({
    opcode: WireOpcode.RcAck,
    extension: aeth(0x1f, 0),
    source: '10.0.0.2',
    destination: '10.0.0.1',
  })
  const bth = 14 + 20 + 8
  for (let i = 0; i < packets; i++) {
    const frame = i & 1 ? ack : send
    const turn = i >> 1
    put24(frame, bth + 5, 0x100 + (turn % connections))
    const psn = Math.floor(turn / connections) & 0xffffff
    put24(frame, bth + 9, psn)
    if (i & 1) put24(frame, bth + 13, (psn + 1) & 0xffffff)
    put32le(frame, frame.length - 4, icrcOfRoceV2(frame, 14, bth, frame.length - 4))
    writer.packet(frame, 0, frame.length, 1_700_000_000 + Math.floor(i / 1e6), (i % 1e6) * 1000)
  }
  writer.close()
}

async function measure(what: string, run: () => Promise<unknown>): Promise<void> {
  const rates: number[] = []
  for (let round = 0; round < 3; round++) {
    const started = performance.now()
    await run()
    rates.push(packets / (performance.now() - started) / 1000)
  }
  console.log(`${what.padEnd(34)} ${rates.map((rate) => rate.toFixed(2)).join('  ')} million packets/s`)
}

try {
  useCrc32(nativeCrc32())
  const pcap = join(dir, 'small.pcap')
  const pcapng = join(dir, 'small.pcapng')
  write(pcap, false)
  write(pcapng, true)
  console.log(`${packets} packets, ${(statSync(pcap).size / 1e6).toFixed(0)} MB pcap, three rounds each`)
  await measure('read only, pcap', () => fileSource(pcap).read(() => undefined))
  await measure('check without ICRC, pcap', () => checkCapture(fileSource(pcap), { checkIcrc: false }))
  await measure('check, pcap', () => checkCapture(fileSource(pcap)))
  await measure('check, pcapng', () => checkCapture(fileSource(pcapng)))
  await measure('info, pcap', () => analyseCapture(fileSource(pcap)))
  console.log(`memory: ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
