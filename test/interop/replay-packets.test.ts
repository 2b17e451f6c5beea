/**
 * Captures of Soft-RoCE's own programs, replayed packet by packet into queue pairs of the kernel that made them. The guest's program
 * guest/replay-peer.c has queue pairs and memory like those of the capture, under numbers of its own; the packets are rewritten to fit.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type MessageOp, messageOps } from '../../src/replay/index.ts'
import { images, judge, type Seen, type Stage, useStage } from './encounter.ts'
import { gidText, guestMac, type Job, ours, type Program } from './lab/index.ts'
import { tsharkFields } from './tshark.ts'

const port = 18_515
const endpointPath = fileURLToPath(new URL('./programs/replay-endpoint.mjs', import.meta.url))
/** The hosts of the captures. */
const hosts = {
  '10.77.0.2': { mac: '52:54:00:12:34:01', peer: '10.77.0.3' },
  '10.77.0.3': { mac: '52:54:00:12:34:02', peer: '10.77.0.2' },
} as const

function captured(name: string): string {
  return fileURLToPath(new URL(`../captures/${name}.pcap`, import.meta.url))
}

interface PacketCase {
  name: string
  type: 'RC' | 'UC' | 'UD'
  /** The captured host whose queue pair the guest is. */
  to: keyof typeof hosts
  mtu: number
  /** Of a SEND. */
  bytes?: number
  /** Messages that complete a receive. */
  receives: number
  /** Whole frames, through the interface; else datagrams of this host. */
  frames?: true
}

const packetCases: PacketCase[] = [
  { name: 'write_bw', type: 'RC', to: '10.77.0.2', mtu: 4096, receives: 0, frames: true },
  { name: 'read_lat', type: 'RC', to: '10.77.0.2', mtu: 4096, receives: 0 },
  { name: 'atomic_lat', type: 'RC', to: '10.77.0.2', mtu: 4096, receives: 0 },
  // SENDs, WRITEs and READs together; packets that were sent twice.
  { name: 'rping', type: 'RC', to: '10.77.0.3', mtu: 4096, bytes: 16, receives: 10 },
  { name: 'rc_pingpong_mtu1024', type: 'RC', to: '10.77.0.2', mtu: 1024, bytes: 10_000, receives: 20, frames: true },
  { name: 'rstream', type: 'RC', to: '10.77.0.2', mtu: 4096, receives: 122 },
  { name: 'uc_pingpong', type: 'UC', to: '10.77.0.2', mtu: 1024, bytes: 6000, receives: 10, frames: true },
  { name: 'ud_pingpong', type: 'UD', to: '10.77.0.2', mtu: 4096, bytes: 1024, receives: 20 },
]

/** A request of a capture, as tshark reads it. */
interface Request {
  qpn: number
  psn: number
  operation: number
  /** Of its RETH or AtomicETH. */
  va: number
  rkey: number
  length: number
}

/** Opcodes without the three bits of the service. */
const readRequest = 0x0c
const atomics = [0x13, 0x14]
const sendEnds = [0x02, 0x03, 0x04, 0x05]
const writeEndsWithImmediate = [0x09, 0x0b]

/** Of queue pair 1 none. */
function requestsTo(host: string, file: string): Request[] {
  const names = ['bth.opcode', 'bth.destqp', 'bth.psn', 'reth.va', 'reth.r_key', 'reth.dmalen']
  const fields = ['ip.dst', ...names.map((name) => `infiniband.${name}`)]
  return tsharkFields(file, fields).flatMap((one) => {
    const value = (name: string): number => Number(one.get(`infiniband.${name}`)?.split(',')[0] ?? 0)
    const operation = value('bth.opcode') & 0x1f
    const isResponse = operation >= 0x0d && operation <= 0x12
    if (one.get('ip.dst') !== host || value('bth.destqp') === 1 || isResponse) return []
    return {
      qpn: value('bth.destqp'),
      psn: value('bth.psn'),
      operation,
      va: value('reth.va'),
      rkey: value('reth.r_key'),
      length: atomics.includes(operation) ? 8 : value('reth.dmalen'),
    }
  })
}

/** Offset in a pcap file of a byte of the payload of the `n`th packet to 10.77.0.2. */
function payloadByte(file: Buffer, n: number): number {
  let left = n
  for (let at = 24; ; at += 16 + file.readUInt32LE(at + 8)) {
    const frame = at + 16
    if (file.subarray(frame + 30, frame + 34).join('.') === '10.77.0.2' && left-- === 0) return frame + 100
  }
}

/** Each PSN once. */
function firstTimes(requests: readonly Request[]): Request[] {
  return requests.filter((one, i) => requests.findIndex(({ psn }) => psn === one.psn) === i)
}

/** Where the requests read and write: the first address, and how many bytes. */
function memoryOf(requests: readonly Request[]): { low: number; span: number; rkeys: Set<number> } {
  const remote = requests.filter(({ length }) => length > 0)
  const low = Math.min(...remote.map(({ va }) => va))
  const high = Math.max(...remote.map(({ va, length }) => va + length))
  return { low, span: remote.length === 0 ? 0 : high - low, rkeys: new Set(remote.map(({ rkey }) => rkey)) }
}

/** The messages of which the receiver gets a completion, with their sizes. */
function completions(requests: readonly Request[], sendBytes: number): [MessageOp, number][] {
  let written = 0
  return requests.flatMap(({ operation, length }): [MessageOp, number][] => {
    if (length > 0) written = length
    if (sendEnds.includes(operation)) return [['send', sendBytes]]
    return writeEndsWithImmediate.includes(operation) ? [['write_with_imm', length === 0 ? 0 : written]] : []
  })
}

interface EndReport {
  received: { messages: number; bytes: number }
  wrongSizes: number
  lost: number
  failure: string | null
}

/** The queue pair of this side, which nobody has. */
const requester = { qpn: 0x123, lid: 0, addr: 0, rkey: 0, gid: gidText(ours.ipv4).replaceAll(':', '') }
const psnOffset = 0x800_000

function moved(psn: number): number {
  return (psn + psnOffset) & 0xffffff
}

/** A queue pair of the guest to which the requests of a case are sent. */
class Receiver {
  readonly requests: Request[]
  readonly #stage: Stage
  readonly #case: PacketCase
  readonly #job: Job
  readonly #program: Program
  readonly #mappings: string[]

  private constructor(stage: Stage, kase: PacketCase, requests: Request[], job: Job, program: Program) {
    this.#stage = stage
    this.#case = kase
    this.requests = requests
    this.#job = job
    this.#program = program
    const [theirs] = JSON.parse(program.output) as [{ qpn: number; addr: number; rkey: number }]
    const { to } = kase
    const { low, span, rkeys } = memoryOf(requests)
    const qp = `${requests[0]!.qpn}@${to}`
    const mappings = [`--qpn=${qp}=${theirs.qpn}`, `--psn=${qp}=+${psnOffset}`]
    if (span > 0) mappings.push(`--va=${low}-${low + span - 1}=${theirs.addr}`)
    this.#mappings = [...mappings, ...[...rkeys].map((rkey) => `--rkey=${rkey}@${to}=${theirs.rkey}`)]
  }

  static async open(stage: Stage, kase: PacketCase): Promise<Receiver> {
    const { guest } = stage
    const { name, type, to, mtu, bytes = 0 } = kase
    const requests = requestsTo(to, captured(name))
    const once = firstTimes(requests)
    // A READ of all the memory makes it as large as the captured one.
    const asked: [MessageOp, number][] = [['read', memoryOf(once).span], ...completions(once, bytes)]
    const messages = asked.map(([op, size], id) => [id, 0, 0, messageOps.indexOf(op), size, 0, -1, -1, 0])
    const endpoints = [{ ...requester, psn: moved(requests[0]!.psn) }]
    const job = guest.start(`replay-peer rxe0 ${await guest.gidIndex(guest.addresses.ipv4)} ${port}`)
    await guest.listens(port)
    const plan = JSON.stringify({ connections: [{ type, mtu }], messages, endpoints })
    const program = stage.start([endpointPath, guest.addresses.ipv4, `${port}`, plan], { node: true })
    await program.says(']\n', 10_000)
    return new Receiver(stage, kase, requests, job, program)
  }

  /** Replays a capture; `counted` of its packets count in the guest as received, and all that pass the filter are sent. */
  async play(counted: number, { filter = '', file = captured(this.#case.name), sent = counted } = {}): Promise<Seen> {
    const { guest } = this.#stage
    const { name, to, frames } = this.#case
    const target = frames
      ? [
          ...['--interface', 'br0', `--mac=${hosts[to].mac}=${guestMac(guest.number)}`],
          ...[`--ip=${to}=${guest.addresses.ipv4}`, `--ip=${hosts[to].peer}=${ours.ipv4}`],
        ]
      : ['--udp', guest.addresses.ipv4]
    const chosen = `request and dst == ${to} and dstqp == ${this.requests[0]!.qpn}${filter}`
    const options = [...target, ...this.#mappings, '--filter', chosen, '--pps', '2k', '--json']
    const { seen } = await this.#stage.watch({ name: `replay-packets-${name}` }, async () => {
      const before = (await guest.counters()).rcvd_pkts!
      const { code, stdout, output } = await this.#stage.start(['replay', 'packets', file, ...options]).ended
      expect(code, output).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ sent, rejected: 0, unsendable: 0, unused: [] })
      await expect.poll(async () => (await guest.counters()).rcvd_pkts! - before).toBe(counted)
    })
    return seen
  }

  /** What the guest's program says of it all. */
  async end(): Promise<EndReport> {
    this.#program.child.stdin!.write('\n')
    const { code, output } = await this.#program.ended
    expect(code, output).toBe(0)
    expect((await this.#job.ended).code).toBe(0)
    return JSON.parse(output.split('\n')[1]!) as EndReport
  }
}

describe.skipIf(images === null)('a capture of Soft-RoCE, replayed into Soft-RoCE', () => {
  const stage = useStage(['replay-peer'])

  it.each(packetCases)('takes the packets of $name to $to', async (kase) => {
    const receiver = await Receiver.open(stage(), kase)
    const { requests } = receiver
    const once = firstTimes(requests)
    const seen = await receiver.play(requests.length)
    judge(seen, 'ipv4', stage().guest)
    const responses = seen.packets.filter(({ source }) => source !== ours.ipv4)
    expect(seen.kernel).toMatchObject({
      duplicate_request: requests.length - once.length,
      out_of_seq_request: 0,
      sent_pkts: responses.length,
    })
    if (kase.type !== 'RC') expect(responses).toEqual([])
    else {
      // All is acknowledged or answered, with the PSNs as they are mapped.
      const { psn, operation, length } = once.at(-1)!
      const more = operation === readRequest ? Math.ceil(length / kase.mtu) - 1 : 0
      expect(responses.at(-1)).toMatchObject({ psn: moved(psn + more), destQpn: requester.qpn })
      // The same once more: the kernel has it already.
      expect((await receiver.play(requests.length)).kernel).toMatchObject({
        duplicate_request: requests.length,
        out_of_seq_request: 0,
      })
    }
    const completed = completions(once, kase.bytes ?? 0)
    expect(await receiver.end()).toMatchObject({
      received: { messages: kase.receives, bytes: completed.reduce((sum, [, size]) => sum + size, 0) },
      wrongSizes: 0,
      lost: 0,
      failure: null,
    })
  })

  it('sees what is missing, and what is damaged', async () => {
    const [kase] = packetCases as [PacketCase]
    const receiver = await Receiver.open(stage(), kase)
    const { requests } = receiver
    const { psn } = requests[10]!
    // All behind the gap is dropped; one NAK asks for what is missing.
    const gap = await receiver.play(requests.length - 1, { filter: ` and not (psn == ${psn})` })
    expect(gap.complaints).toEqual([])
    expect(gap.kernel).toMatchObject({ out_of_seq_request: 1, duplicate_request: 0 })
    expect(gap.packets.filter(({ source }) => source !== ours.ipv4).at(-1)).toMatchObject({ psn: moved(psn) })
    // A wrong ICRC stays wrong when the packet is rewritten, and the kernel counts it as no packet.
    const bytes = readFileSync(captured(kase.name))
    bytes[payloadByte(bytes, 10)]! ^= 1
    const file = join(stage().lab.directory, 'damaged.pcap')
    writeFileSync(file, bytes)
    const missing = requests.length - 10
    const damaged = await receiver.play(missing - 1, { filter: ` and psn >= ${psn}`, file, sent: missing })
    expect(damaged.packets.filter(({ fault }) => fault !== null)).toMatchObject([{ fault: 'ICRC' }])
    // Now it is whole.
    const rest = await receiver.play(missing, { filter: ` and psn >= ${psn}` })
    expect(rest.complaints).toEqual([])
    expect(rest.packets.filter(({ source }) => source !== ours.ipv4).at(-1)).toMatchObject({
      psn: moved(requests.at(-1)!.psn),
    })
    expect(await receiver.end()).toMatchObject({ failure: null })
  })
})
