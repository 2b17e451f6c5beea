/**
 * Live capture beside tcpdump, on a pair of veth interfaces in a network namespace of its own; counters, settings and packets of a
 * Soft-RoCE guest.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { command } from '../built.ts'
import { writeTree } from '../collect/trees.ts'
import { type Guest, Lab, ours, verbena } from './lab/index.ts'
import { tsharkFields, tsharkVersion } from './tshark.ts'

/** What is missing; undefined if nothing is. */
const missing = ((): string | undefined => {
  for (const program of ['ip', 'tcpdump', 'unshare', 'python3'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`
  const made = spawnSync('unshare', ['-nm', 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'])
  if (made.status !== 0) return 'network namespaces and veth interfaces cannot be made here (root, CAP_NET_ADMIN)'
  return tsharkVersion === undefined ? 'tshark is not installed' : undefined
})()

const folder = mkdtempSync(join(tmpdir(), 'verbena-veth-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Frames of all kinds, most of them RoCE: tagged, with options, fragments, other ports, other protocols. */
const sender = `
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('v0', 0))
eth = bytes.fromhex('020000000001020000000002')
bth = bytes([4, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 5]) + bytes(4)
def v4(port, fragment=0, options=0):
    udp = struct.pack('>HHHH', 5000, port, 24, 0) + bth
    head = struct.pack('>BBHHHBBH', 0x45 + options, 0, 20 + 4 * options + len(udp), 0, fragment, 64, 17, 0)
    return b'\\x08\\x00' + head + bytes([10, 9, 0, 1, 10, 9, 0, 2]) + bytes(4 * options) + udp
def v6(port):
    udp = struct.pack('>HHHH', 5000, port, 24, 0) + bth
    return b'\\x86\\xdd' + struct.pack('>IHBB', 6 << 28, len(udp), 17, 64) + bytes(15) + b'\\x01' + bytes(15) + b'\\x02' + udp
v1 = b'\\x89\\x15' + struct.pack('>IHBB', 6 << 28, 16, 0x1b, 1) + bytes(15) + b'\\x01' + bytes(15) + b'\\x02' + bth
tag = lambda kind, value: struct.pack('>HH', kind, value)
frames = [v4(4791), v4(4790), v4(4791, 5), v4(4791, 0, 3), v6(4791), v6(53), v1, b'\\x08\\x06' + bytes(46)]
frames += [tag(0x8100, 100) + one for one in frames[:7]] + [tag(0x88a8, 7) + tag(0x8100, 0x6008) + one for one in frames[:7]]
for n in range(50):
    for one in frames:
        s.send(eth + one)
`

/** \`verbena collect trace\` and tcpdump at the other end of the pair, until all frames have passed. */
const script = `
set -e
mount -t sysfs sysfs /sys
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up
cd "$1"
tcpdump -i v1 -U -w peer.pcap > /dev/null 2> tcpdump.txt &
dump=$!
"$2" "$3" collect trace -i "$4" -w ours.pcapng --json > ours.json 2> ours.txt &
ours=$!
touch tcpdump.txt ours.txt
for file in tcpdump.txt ours.txt; do
  for n in $(seq 300); do grep -qi -e listening -e capturing $file && break; sleep 0.05; done
done
ip link set v1 down
ip link set v1 up
python3 send.py
for n in $(seq 300); do tcpdump -r peer.pcap --count ether dst 02:00:00:00:00:01 2> /dev/null | grep -q "^1100 " && break; sleep 0.05; done
kill -INT $ours
wait $ours || [ $? = 130 ]
kill -INT $dump
wait $dump || true
`

function capture(interfaces: string): void {
  const args = ['-nm', 'sh', '-c', script, 'sh', folder, process.execPath, command, interfaces]
  writeFileSync(join(folder, 'send.py'), sender)
  execFileSync('unshare', args, { timeout: 50_000 })
}

describe.skipIf(missing !== undefined)(missing ?? 'a veth pair', () => {
  it('captures the RoCE packets that tcpdump captures, as they are', { timeout: 60_000 }, () => {
    capture('v1')
    const result = JSON.parse(readFileSync(join(folder, 'ours.json'), 'utf8')) as {
      packets: number
      interfaces: { dropped: number }[]
    }
    expect(result.interfaces).toEqual([{ name: 'v1', received: result.packets, dropped: 0, downs: 1 }])
    const fields = [
      'frame.len',
      'eth.type',
      'vlan.id',
      'ip.hdr_len',
      'udp.dstport',
      'infiniband.bth.psn',
      'ip.frag_offset',
    ]
    const frames = (file: string): string[] =>
      tsharkFields(join(folder, file), fields).map((one) => fields.map((field) => one.get(field) ?? '').join(' '))
    const peers = tsharkFields(join(folder, 'peer.pcap'), [...fields, 'eth.dst', 'infiniband.bth.opcode'])
    const expected = peers
      .filter((one) => one.get('eth.dst') === '02:00:00:00:00:01' && one.has('infiniband.bth.opcode'))
      .map((one) => fields.map((field) => one.get(field) ?? '').join(' '))
    // RoCEv2 over IPv4 with and without options and over IPv6, and RoCEv1: without a tag, with one, with two.
    expect(expected).toHaveLength(4 * 3 * 50)
    expect(frames('ours.pcapng')).toEqual(expected)
  })

  it('captures from all interfaces that are up', { timeout: 60_000 }, () => {
    capture('any')
    const { packets, interfaces } = JSON.parse(readFileSync(join(folder, 'ours.json'), 'utf8')) as {
      packets: number
      interfaces: { name: string; received: number; dropped: number }[]
    }
    // The loopback interface of the namespace is down.
    expect(interfaces.map(({ name }) => name).toSorted()).toEqual(['v0', 'v1'])
    for (const { received, dropped } of interfaces) expect([received, dropped]).toEqual([4 * 3 * 50, 0])
    const seen = tsharkFields(join(folder, 'ours.pcapng'), ['frame.interface_name'])
    expect(packets).toBe(2 * 4 * 3 * 50)
    for (const name of ['v0', 'v1'])
      expect(seen.filter((one) => one.get('frame.interface_name') === name)).toHaveLength(4 * 3 * 50)
  })
})

const images = inject('guestImages')

describe.skipIf(images === null)('a Soft-RoCE guest', () => {
  let lab: Lab
  let guest: Guest

  beforeAll(async () => {
    lab = await Lab.open(1)
    guest = await lab.boot(1, images!)
  }, 120_000)
  afterAll(async () => await lab?.close(), 60_000)

  /** The guest's files of /sys that are read, here. */
  async function recorded(name: string): Promise<string> {
    const paths = [
      'infiniband/rxe0/ports',
      'infiniband/rxe0/parent',
      'net/eth0/type',
      'net/eth0/mtu',
      'net/eth0/operstate',
    ]
    // Entries of tables that are not used cannot be read.
    const text = await guest.text(`cd /sys/class; grep -r '' ${paths.join(' ')} 2> /dev/null || true`, 60_000)
    const files = text.split('\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [] : [[`class/${line.slice(0, at)}`, line.slice(at + 1)]]
    })
    return writeTree(Object.fromEntries(files) as Record<string, string>, join(folder, name))
  }

  const collected = async (...args: string[]): Promise<string> => {
    const { code, stdout, output } = await lab.run(process.execPath, [verbena, 'collect', ...args])
    expect(code, output).toBe(0)
    return stdout
  }

  it('counts what it sent and received, and so does the capture', { timeout: 120_000 }, async () => {
    const file = join(folder, 'guest.pcapng')
    const before = await guest.counters()
    const capture = lab.start(
      process.execPath,
      [verbena, 'collect', 'trace', '-i', 'link1', '-w', file, '--json'],
      60_000,
    )
    await capture.says('Capturing', 20_000)
    const serving = guest.start(
      `ibv_rc_pingpong -d rxe0 -n 50 -s 5000 -m 1024 -g ${await guest.gidIndex(guest.addresses.ipv4)}`,
    )
    await guest.listens(18515)
    const asking = await lab.run(process.execPath, [
      ...[
        verbena,
        'rc_pingpong',
        '-d',
        `roce:${ours.ipv4}`,
        '-n',
        '50',
        '-s',
        '5000',
        '-m',
        '1024',
        guest.addresses.ipv4,
      ],
    ])
    expect([asking.code, (await serving.ended).code], asking.output).toEqual([0, 0])
    const after = await guest.counters()
    const summary = JSON.parse((await capture.stop('SIGINT')).stdout) as { packets: number }
    const counted = (name: string): number => after[name]! - before[name]!
    const from = tsharkFields(file, ['ip.src']).filter((one) => one.get('ip.src') === guest.addresses.ipv4).length
    expect(from).toBe(counted('sent_pkts'))
    // What comes for a queue pair that has gone already is not counted.
    expect(summary.packets - from).toBeGreaterThanOrEqual(counted('rcvd_pkts'))
    expect(counted('rcvd_pkts')).toBeGreaterThanOrEqual(50 * 5)
    const checked = await lab.run(process.execPath, [verbena, 'trace', 'check', file, '--json'])
    expect(JSON.parse(checked.stdout)).toMatchObject({
      packets: summary.packets,
      icrcValid: summary.packets,
      malformed: [],
    })
    const tree = await recorded('after')
    const reading = JSON.parse(await collected('counters', '--sysfs-root', tree, '--json')) as {
      problems: unknown[]
      devices: { device: string; driver: string; ports: { netdev: string; counters: Record<string, number> }[] }[]
    }
    expect(reading).toMatchObject({
      problems: [],
      devices: [{ device: 'rxe0', driver: 'rxe', ports: [{ netdev: 'eth0' }] }],
    })
    expect(reading.devices[0]!.ports[0]!.counters).toMatchObject({
      rdma_packets_transmitted: after.sent_pkts,
      rdma_packets_received: after.rcvd_pkts,
      tx_send_requests: after.rdma_sends,
      out_of_sequence_packets_received: after.out_of_seq_request,
    })
    const l2 = JSON.parse(await collected('l2', 'rxe0', '--sysfs-root', tree, '--json')) as {
      ports: { gids: { gid: string; type: string }[] }[]
      interfaces: { pathMtu: number; rdma: string[] }[]
    }
    expect(l2.interfaces).toMatchObject([{ pathMtu: 4096, rdma: ['rxe0/1'] }])
    expect(l2.ports[0]!.gids).toContainEqual(expect.objectContaining({ type: 'RoCE v2', netdev: 'eth0' }))
  })
})
