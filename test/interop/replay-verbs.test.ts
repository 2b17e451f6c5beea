/**
 * Captures of Soft-RoCE's own programs, performed again as verbs against the kernel that made them. At the other end is a program on
 * libibverbs, guest/replay-peer.c, which speaks the protocol of `verbena replay`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { images, judge, outputs, type Played, useStage } from './encounter.ts'
import { ours } from './lab/index.ts'

const port = 18_515

interface Count {
  messages: number
  bytes: number
}

interface Comparison {
  same: boolean
  connections: number
  operations: { op: string; recorded: Count; performed: Count }[]
  failures: string[]
}

const count = (messages: number, each: number): Count => ({ messages, bytes: messages * each })

interface VerbsCase {
  name: string
  connections?: number
  /** As the options of the programs say, which are in captures/README.md. */
  operations: Record<string, Count>
  /** SENDs and WRITEs with immediate that the guest posts, and those that it receives. */
  sends: number
  receives: number
}

const verbsCases: VerbsCase[] = [
  {
    name: 'rping',
    operations: { send: count(20, 16), read: count(5, 100), write: count(5, 100) },
    sends: 10,
    receives: 10,
  },
  { name: 'write_bw', operations: { write: count(20, 8192) }, sends: 0, receives: 0 },
  { name: 'read_lat', operations: { read: count(10, 5000) }, sends: 0, receives: 0 },
  { name: 'atomic_lat', operations: { fetch_add: count(10, 8) }, sends: 0, receives: 0 },
  { name: 'srq_pingpong', connections: 4, operations: { send: count(16, 500) }, sends: 8, receives: 8 },
  { name: 'rc_pingpong_loss3', operations: { send: count(60, 10_000) }, sends: 30, receives: 30 },
  { name: 'uc_pingpong', operations: { send: count(20, 6000) }, sends: 10, receives: 10 },
  { name: 'ud_pingpong', operations: { send: count(40, 1024) }, sends: 20, receives: 20 },
  { name: 'rstream', operations: { write_with_imm: { messages: 245, bytes: 491_584 } }, sends: 0, receives: 122 },
]

function resultOf({ mine }: Played): Comparison {
  return JSON.parse(mine.stdout) as Comparison
}

/** Requests that the server answers by flows of its own, and those that the client fetches. */
const generated = `servers: [a]
size: { 0: 5, 3: 5, 64: 50, 20KiB: 40 }
requests: 2k/s
verbs: { send: 20, send_with_imm: 10, write: 20, write_with_imm: 10, read: 20, fetch_add: 10, compare_swap: 10 }
types: { RC: 80, UC: 10, UD: 10 }
count: 120
`

describe.skipIf(images === null)('messages of a capture, performed against Soft-RoCE', () => {
  const stage = useStage(['replay-peer'])
  let gidIndex = 0

  beforeAll(async () => {
    const { guest } = stage()
    gidIndex = await guest.gidIndex(guest.addresses.ipv4)
  })

  /** Our client here, the program on libibverbs in the guest. */
  async function replay(name: string, file: string): Promise<Played> {
    const { guest } = stage()
    const played = await stage().play({
      name: `replay-${name}`,
      role: 'client',
      mine: ['replay', 'client', file, guest.addresses.ipv4, '-d', `roce:${ours.ipv4}`, '-p', `${port}`, '--json'],
      theirs: `replay-peer rxe0 ${gidIndex} ${port}`,
      ready: async () => await guest.listens(port),
    })
    expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
    expect(resultOf(played)).toMatchObject({ same: true, failures: [] })
    return played
  }

  it.each(verbsCases)('performs $name', async ({ name, connections = 1, operations, sends, receives }) => {
    const played = await replay(name, fileURLToPath(new URL(`../captures/${name}.pcap`, import.meta.url)))
    const result = resultOf(played)
    expect(result.connections).toBe(connections)
    expect(Object.fromEntries(result.operations.map(({ op, performed }) => [op, performed]))).toEqual(operations)
    expect(played.kernel).toMatchObject({ rdma_sends: sends, rdma_recvs: receives })
    judge(played, 'ipv4', stage().guest, { counted: false })
  })

  it('performs what traffic generates: all verbs on all types, in both directions', async () => {
    const { guest, lab } = stage()
    const [configuration, file] = ['traffic.yaml', 'traffic.pcap'].map((name) => join(lab.directory, name))
    writeFileSync(configuration!, generated)
    const made = await stage().start(['traffic', 'client', configuration!, '--pcap', file!, '--json']).ended
    expect(made.code, made.output).toBe(0)
    const played = await replay('traffic', file!)
    const { operations } = resultOf(played)
    expect(operations.map(({ op }) => op).sort()).toEqual([
      ...['compare_swap', 'fetch_add', 'read', 'send', 'send_with_imm', 'write', 'write_with_imm'],
    ])
    for (const { performed, recorded } of operations) expect(performed).toEqual(recorded)
    expect(played.kernel.rdma_sends).toBeGreaterThan(0)
    expect(played.kernel.rdma_recvs).toBeGreaterThan(0)
    judge(played, 'ipv4', guest, { counted: false })
  })
})
