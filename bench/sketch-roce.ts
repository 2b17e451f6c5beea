/**
 * A RoCE trace of ours: what `verbena traffic client --pcap` writes, in virtual time. Its flows are messages: source, destination, and numbers of the connection
 * and of its message, as QP numbers and first PSNs are other ones in every run. ACKs and requests of READs are messages of one packet.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PartialKey } from '../src/sketch/index.ts'
import { type Exact, traceOf } from './sketch-measures.ts'

const keyBytes = 14
const slice =
  (from: number, to: number): PartialKey =>
  (key) =>
    key.slice(from, to)

/** Partial keys of a message. */
export const roceKeys: Readonly<Record<string, PartialKey>> = {
  message: slice(0, 14),
  connection: slice(0, 11),
  'host pair': slice(0, 8),
  source: slice(0, 4),
  destination: slice(4, 8),
  'destination and its QP': slice(4, 11),
}

const configuration = `
seed: 1
servers: [${Array.from({ length: 8 }, (_, i) => `10.0.0.${i + 2}:18515`).join(', ')}]
size: { points: [[64, 0.5], [1024, 0.7], [10000, 0.95], [100000, 0.995], [1000000, 1]] }
load: 0.5
verbs: { send: 40, write: 40, read: 20 }
`

/** Opcodes of packets that continue a message, without the bits of the transport: MIDDLE and LAST of SEND, WRITE and responses of READs. */
const continuing = new Set([1, 2, 3, 7, 8, 9, 14, 15])

/** The trace of so many requests. `verbena` is the built command line. */
export function roceTrace(verbena: string, requests: number): Exact {
  const folder = mkdtempSync(join(tmpdir(), 'verbena-sketch-'))
  try {
    const [config, file] = [join(folder, 'traffic.yaml'), join(folder, 'roce.pcap')]
    writeFileSync(config, configuration)
    execFileSync(process.execPath, [verbena, 'traffic', 'client', config, '--pcap', file, '--count', `${requests}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return traceOf(messagesOf(readFileSync(file)), keyBytes)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The same packets by connection and direction, of which there are few with many packets each. */
export function byConnection({ keys, packets }: Exact): Exact {
  const length = 11
  const shorter = new Uint8Array(packets * length)
  for (let i = 0; i < packets; i++) shorter.set(keys.subarray(i * keyBytes, i * keyBytes + length), i * length)
  return traceOf(shorter, length)
}

/** A key for each packet of a classic pcap with Ethernet and IPv4 without options, as ours are. */
function messagesOf(pcap: Buffer): Uint8Array {
  const keys: number[] = []
  const connections = new Map<string, { number: number; message: number }>()
  for (let at = 24; at < pcap.length; at += 16 + pcap.readUInt32LE(at + 8)) {
    const ip = at + 16 + 14
    const bth = ip + 28
    const name = pcap.toString('latin1', ip + 12, ip + 20) + pcap.toString('latin1', bth + 5, bth + 8)
    const connection = connections.get(name) ?? { number: connections.size, message: 0 }
    connections.set(name, connection)
    if (!continuing.has(pcap[bth]! & 0x1f)) connection.message++
    keys.push(...pcap.subarray(ip + 12, ip + 20))
    for (const number of [connection.number, connection.message])
      keys.push(number >> 16, (number >> 8) & 255, number & 255)
  }
  return Uint8Array.from(keys)
}
