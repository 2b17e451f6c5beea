/** The headers that `show --verbose` takes a packet apart into are where tshark has them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { PcapWriter } from '../../src/capture/index.ts'
import { fileSink, fileSource } from '../../src/files/index.ts'
import { Dissection, dissect, layersOf } from '../../src/trace/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { encapsulations, wireLabel } from '../trace/encapsulate.ts'
import { reth, roceFrame, rocePacket } from '../trace/packets.ts'
import { tsharkVersion } from './tshark.ts'

const captures = new URL('../captures/', import.meta.url)
const dir = mkdtempSync(join(tmpdir(), 'verbena-layers-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** tshark's names of headers, and how our titles begin. Of others the two draw the borders differently. */
const titles: Readonly<Record<string, string>> = {
  eth: 'Ethernet',
  vlan: 'VLAN',
  ip: 'IPv4',
  ipv6: 'IPv6',
  udp: 'UDP',
  vxlan: 'VXLAN',
  geneve: 'Geneve',
  mpls: 'MPLS',
  'infiniband.bth': 'BTH',
  'infiniband.reth': 'RETH',
  'infiniband.deth': 'DETH',
  'infiniband.aeth': 'AETH',
  'infiniband.atomiceth': 'AtomicETH',
  'infiniband.atomicacketh': 'AtomicAckETH',
  'infiniband.immdt': 'ImmDt',
  'infiniband.ieth': 'IETH',
  'infiniband.invariant.crc': 'ICRC',
}

/** For each packet: the headers as "title from to". */
function theirs(file: string, count: number): string[][] {
  const args = ['-r', file, '-T', 'pdml', '-c', String(count), '-o', 'ip.defragment:false']
  const { stdout, status, stderr } = spawnSync('tshark', [...args, '-d', `mpls.label==${wireLabel},pwethcw`], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  expect([status, stderr.replace(/^Running as user.*\n/, '')]).toEqual([0, ''])
  return stdout
    .split('<packet>')
    .slice(1)
    .map((packet) => {
      const headers = [...packet.matchAll(/<(?:proto|field) name="([^"]+)"[^>]*? size="(\d+)" pos="(\d+)"/g)]
        .filter(([, name]) => Object.hasOwn(titles, name!))
        .map(([, name, size, pos]) => `${titles[name!]} ${pos} ${Number(pos) + Number(size)}`)
      // tshark has the header and its only field under one name.
      return [...new Set(headers)]
    })
}

async function ours(file: string, count: number): Promise<string[][]> {
  const all: string[][] = []
  const d = new Dissection()
  const known = Object.values(titles)
  await fileSource(file).read((packet) => {
    dissect(packet, d, true)
    all.push(
      layersOf(packet, d)
        .map(({ title, start, end }) => [title.split(/[ ,]/)[0]!.replace('VXLAN-GPE', 'VXLAN'), start, end] as const)
        .filter(([title]) => known.includes(title))
        .map((layer) => layer.join(' ')),
    )
    return all.length < count
  })
  return all
}

async function compare(file: string, count: number): Promise<void> {
  const expected = theirs(file, count)
  expect(expected.length).toBeGreaterThan(5)
  expect(await ours(file, count)).toEqual(expected)
}

const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))

describe.skipIf(tsharkVersion === undefined)(`layers: ${tsharkVersion}`, () => {
  it.each(names)('%s', async (name) => {
    await compare(new URL(name, captures).pathname, 40)
  })

  it('tunnels, and stacked VLANs', async () => {
    const file = join(dir, 'tunnels.pcap')
    const writer = new PcapWriter(fileSink(file))
    const spec = { opcode: WireOpcode.RcWriteOnly, payload: 8, extension: reth(1, 2, 8) }
    const frames = [
      roceFrame(spec, [5, 6, 7]),
      ...Object.values(encapsulations).flatMap((put) => [
        put(rocePacket(spec)),
        put(rocePacket({ ...spec, source: '::1', destination: '::2' })),
      ]),
    ]
    for (const frame of frames) writer.packet(frame, 0, frame.length, 1, 0)
    writer.close()
    await compare(file, frames.length)
  })
})
