/**
 * How many packets a second the monitor takes, beside `tcpdump -nr` and `tshark`, where they are installed:
 * `npx tsx test/monitor/speed.ts [packets]`. Packets are small (SENDs of 8 bytes and their ACKs) or of 1024 bytes of payload, of 64 connections.
 * Run it on the built program (scripts do not compare otherwise): VERBENA_CLI names another one.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PcapWriter } from '../../src/capture/index.ts'
import { fileSink, fileSource } from '../../src/files/index.ts'
import { nativeCrc32 } from '../../src/memory/index.ts'
import { monitorConfig, Observer } from '../../src/monitor/index.ts'
import { icrcOfRoceV2, put24, put32le, useCrc32, WireOpcode } from '../../src/wire/index.ts'
import { aeth, roceFrame } from '../trace/packets.ts'

const packets = Number(process.argv[2] ?? 2_000_000)
const connections = 64
const bth = 14 + 20 + 8
const source = 14 + 12
const destination = 14 + 16
const dir = mkdtempSync(join(tmpdir(), 'verbena-monitor-'))

function write(path: string, payload: number): void {
  const writer = new PcapWriter(fileSink(path))
  const send = roceFrame({ opcode: WireOpcode.RcSendOnly, payload, ackReq: true })
  const back = { source: '10.0.0.2', destination: '10.0.0.1' }
  const ack = roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x1f, 0), ...back })
  for (let i = 0; i < packets; i++) {
    const frame = i & 1 ? ack : send
    const turn = i >> 1
    put24(frame, bth + 5, 0x100 + (turn % connections))
    // Eight pairs of hosts, so that threads can share them.
    const host = turn % 8
    frame[(i & 1 ? source : destination) + 2] = host
    const psn = Math.floor(turn / connections) & 0xffffff
    put24(frame, bth + 9, psn)
    if (i & 1) put24(frame, bth + 13, (psn + 1) & 0xffffff)
    put32le(frame, frame.length - 4, icrcOfRoceV2(frame, 14, bth, frame.length - 4))
    writer.packet(frame, 0, frame.length, 1_700_000_000 + Math.floor(i / 1e6), (i % 1e6) * 1000)
  }
  writer.close()
}

async function watch(path: string): Promise<void> {
  const config = monitorConfig({ seed: 1 })
  const observer = new Observer({ config, agent: 'speed', run: 'speed', onWindow: () => {} })
  await fileSource(path).read((packet) => {
    observer.packet(packet)
    return undefined
  })
  observer.finish()
}

function show(what: string, seconds: readonly number[]): void {
  const rates = seconds.map((one) => (packets / one / 1e6).toFixed(3))
  console.log(`${what.padEnd(40)} ${rates.join('  ')} million packets/s`)
}

const timed = async (run: () => Promise<void>): Promise<number> => {
  const started = performance.now()
  await run()
  return (performance.now() - started) / 1000
}

function program(name: string, args: readonly string[]): number | undefined {
  const started = performance.now()
  const { error, status } = spawnSync(name, args, { stdio: 'ignore' })
  return error !== undefined || status !== 0 ? undefined : (performance.now() - started) / 1000
}

try {
  useCrc32(nativeCrc32())
  for (const payload of [8, 1024]) {
    const path = join(dir, `${payload}.pcap`)
    write(path, payload)
    console.log(`${packets} packets, SENDs of ${payload} bytes and ACKs`)
    show('monitor, in this process', [await timed(() => watch(path)), await timed(() => watch(path))])
    const cli = process.env.VERBENA_CLI ?? 'dist/verbena.js'
    for (const workers of ['1', '2'])
      show(
        `verbena monitor --workers ${workers}, a process`,
        [1, 2].map(() => program('node', [cli, 'monitor', path, '--json', '--workers', workers]) ?? Number.NaN),
      )
    for (const [name, args] of [
      ['tcpdump', ['-nr', path]],
      ['tshark', ['-r', path, '-T', 'fields', '-e', 'infiniband.bth.destqp', '-e', 'infiniband.bth.psn']],
    ] as const) {
      const seconds = program(name, args)
      if (seconds === undefined) console.log(`${name} is not installed, or does not read it`)
      else show(name, [seconds])
    }
    rmSync(path)
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}
