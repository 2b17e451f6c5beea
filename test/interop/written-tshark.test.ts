/**
 * Captures that our commands write, before tshark: what `verbena traffic client --pcap` generates, and what `verbena replay packets`
 * rewrites, as RoCEv2 and RoCEv1. tshark objects to nothing and reads the same fields as we do, and our check finds nothing wrong.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'
import { tsharkObjections } from './lab/index.ts'
import { tsharkFields, tsharkVersion } from './tshark.ts'
import { compareWithTshark } from './tshark-fields.ts'

const title = tsharkVersion ?? 'tshark is not installed: apt-get install --no-install-recommends tshark'
const captures = fileURLToPath(new URL('../captures/', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'verbena-written-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await verbena(...args, '--json')
  // Not every capture has an AETH or a RETH.
  const notes = stderr.split('\n').filter((line) => line !== '' && !/^--(msn|va) .*: no packet has it$/.test(line))
  expect([code, notes], args.join(' ')).toEqual([0, []])
  return JSON.parse(stdout) as Record<string, unknown>
}

async function judge(file: string, packets: number): Promise<void> {
  expect(await tsharkObjections(file)).toEqual([])
  expect(await compareWithTshark(file)).toBeGreaterThan(packets * 12)
  expect(await json('trace', 'check', file)).toMatchObject({ packets, roce: packets, icrcInvalid: [], malformed: [] })
}

/** Every verb on every type of queue pair, messages of one and of several packets; losses; an incast that is marked. */
const configurations: Record<string, string> = {
  'all verbs': `servers: [a, b]
size: { 0: 5, 3: 5, 64: 50, 20KiB: 40 }
requests: 20k/s
verbs: { send: 20, send_with_imm: 10, write: 20, write_with_imm: 10, read: 20, fetch_add: 10, compare_swap: 10 }
types: { RC: 80, UC: 10, UD: 10 }
dscp: { 0: 1, 26: 1 }
count: 200`,
  losses:
    'servers: [a]\nsize: 100KiB\nrequests: 5k/s\nfaults: { loss: 0.02 }\nverbs: { send: 1, write: 1, read: 1 }\ncount: 20',
  incast:
    'servers: [a, b, c, d, e, f]\ndestinations: { incast: 6 }\nsize: 3MiB\nrequests: 300/s\nbandwidth: 10Gbps\ncount: 6',
}

async function generate(name: string, ...options: string[]): Promise<{ file: string; packets: number }> {
  const [yaml, file] = [join(folder, 'x.yaml'), join(folder, `${name}${options.join('')}.pcap`)]
  writeFileSync(yaml, configurations[name]!)
  const { packets, failed } = await json('traffic', 'client', yaml, '--pcap', file, ...options)
  expect(failed).toBe(0)
  return { file, packets: packets as number }
}

/** A mapping of every kind that fits a packet between these two hosts. */
const mappings = [
  ...['--mac', '52:54:00:12:34:01=02:00:00:00:00:99', '--source-port', '50000', '--dscp', '26', '--ecn', '2'],
  ...['--pkey', '0x8001', '--psn=+16000000', '--msn=+77', '--va', '0x1000-0xffffffffffff=0xff00000000001000'],
]

describe.skipIf(tsharkVersion === undefined)(title, { timeout: 120_000 }, () => {
  it.each(Object.keys(configurations))('reads generated packets as we do: %s', async (name) => {
    const { file, packets } = await generate(name)
    await judge(file, packets)
    const [first] = tsharkFields(file, ['eth.type', 'infiniband.bth.opcode'])
    expect(first!.get('eth.type')).toBe('0x0800')
  })

  it.each(['all verbs', 'losses'])('reads generated packets of RoCEv1 as we do: %s', async (name) => {
    const { file, packets } = await generate(name, '--rocev1')
    await judge(file, packets)
    const types = tsharkFields(file, ['eth.type']).map((one) => one.get('eth.type'))
    expect(new Set(types)).toEqual(new Set(['0x8915']))
  })

  const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))

  const formats = ['pcap', 'pcapng'] as const

  it.each(names.map((name, i) => [name, formats[i % formats.length]!] as const))(
    'reads rewritten packets as we do: %s, as %s',
    async (name, extension) => {
      const file = join(folder, `rewritten.${extension}`)
      const network = ['--ip', '10.77.0.0/24=192.168.7.0/24']
      const { counts } = await json('replay', 'packets', join(captures, name), '--to', file, ...network, ...mappings)
      const { packets, rewritten } = counts as { packets: number; rewritten: number }
      expect(rewritten).toBe(packets)
      await judge(file, packets)
      const fields = tsharkFields(file, [
        'ip.src',
        'ip.dsfield.dscp',
        'ip.dsfield.ecn',
        'infiniband.bth.p_key',
        'udp.srcport',
      ])
      const seen = new Set(fields.map((one) => [...one.values()].join(' ')))
      expect(seen).toEqual(new Set(['2', '3'].map((host) => `192.168.7.${host} 26 2 32769 50000`)))
    },
  )

  it('reads rewritten packets of RoCEv1 as we do', async () => {
    const { file, packets } = await generate('all verbs', '--rocev1')
    const out = join(folder, 'rewritten-v1.pcapng')
    const gids = ['--ip', '10.0.0.0/24=10.9.8.0/24', '--mac', '02:00:0a:00:00:01=02:00:00:00:00:99', '--dscp', '46']
    const { counts } = await json('replay', 'packets', file, '--to', out, ...gids, '--psn=+5', '--pkey', '0x8001')
    expect(counts).toMatchObject({ packets, rewritten: packets })
    await judge(out, packets)
    const fields = tsharkFields(out, ['infiniband.grh.sgid', 'infiniband.grh.dgid', 'infiniband.grh.tclass'])
    const seen = new Set(fields.flatMap((one) => [one.get('infiniband.grh.sgid'), one.get('infiniband.grh.dgid')]))
    expect(seen).toEqual(new Set(['::ffff:10.9.8.1', '::ffff:10.9.8.2', '::ffff:10.9.8.3']))
  })
})
