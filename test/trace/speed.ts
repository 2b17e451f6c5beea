/**
 * How many packets a second the trace commands read: `npx tsx test/trace/speed.ts [packets]`. Writes a capture of small
 * packets (SENDs of 8 bytes and their ACKs, 66 and 62 bytes, 64 in the middle) of 64 connections, and reads it again.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileSource } from '../../src/files/index.ts'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { analyseCapture, checkCapture } from '../../src/trace/index.ts'
import { useCrc32 } from '../../src/wire/index.ts'
import { writeLargeCapture } from './large-capture.ts'

const packets = Number(process.argv[2] ?? 10_000_000)
const dir = mkdtempSync(join(tmpdir(), 'verbena-speed-'))

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
  writeLargeCapture(pcap, { packets })
  writeLargeCapture(pcapng, { packets, pcapng: true })
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
