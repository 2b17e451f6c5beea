/** `verbena traffic client --pcap`: sound packets without a network, with what losses and congestion bring about. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { CaptureInfo, DirectionInfo } from '../../../src/trace/index.ts'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-traffic-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'x.pcap')

/** What the command says, and what `trace` finds in the file. */
async function captured(yaml: string, ...options: string[]) {
  const file = join(folder, 'x.yaml')
  writeFileSync(file, yaml)
  const made = await verbena('traffic', 'client', file, '--pcap', path, '--json', ...options)
  expect([made.code, made.stderr]).toEqual([0, ''])
  const result = JSON.parse(made.stdout)
  const checked = await verbena('trace', 'check', path, '--json')
  const info = JSON.parse((await verbena('trace', 'info', path, '--json')).stdout) as CaptureInfo
  const directions = info.conversations.flatMap((one) => one.directions)
  const sum = (of: (direction: DirectionInfo) => number): number =>
    directions.reduce((total, direction) => total + of(direction), 0)
  return { result, checked, sum }
}

describe('--pcap', { timeout: 60_000 }, () => {
  it('writes all verbs on all types; every packet is sound and every request complete', async () => {
    const { result, checked, sum } = await captured(`servers: [a, b]
size: { 0: 5, 3: 5, 64: 50, 20KiB: 40 }
requests: 20k/s
verbs: { send: 20, send_with_imm: 10, write: 20, write_with_imm: 10, read: 20, fetch_add: 10, compare_swap: 10 }
types: { RC: 80, UC: 10, UD: 10 }
dscp: { 0: 1, 26: 1 }
count: 120`)
    expect(result).toMatchObject({ requests: 120, done: 120, lost: 0, failed: 0 })
    expect(JSON.parse(checked.stdout)).toMatchObject({ packets: result.packets, roce: result.packets })
    expect([checked.code, checked.stderr]).toEqual([0, ''])
    expect(sum(({ naks }) => naks.psnSequence)).toBe(0)
  })

  it('answers losses with NAKs, and all requests of RC are complete', async () => {
    const { result, checked, sum } = await captured(
      'servers: [a]\nsize: 100KiB\nrequests: 5k/s\nfaults: { loss: 0.02 }\nverbs: { send: 1, write: 1, read: 1 }\ncount: 60',
    )
    expect(result).toMatchObject({ done: 60, failed: 0 })
    expect(checked.code).toBe(0)
    expect(sum(({ naks }) => naks.psnSequence)).toBeGreaterThan(0)
  })

  it('answers the congestion of an incast with CNPs', async () => {
    const { result, checked, sum } = await captured(
      'servers: [a, b, c, d, e, f]\ndestinations: { incast: 6 }\nsize: 3MiB\nrequests: 300/s\nbandwidth: 10Gbps\ncount: 12',
    )
    expect(result).toMatchObject({ done: 12, failed: 0 })
    expect(checked.code).toBe(0)
    expect(sum(({ cnps }) => cnps)).toBeGreaterThan(0)
  })

  it('carries 80 % of what the link can do as asked for, within 2 %', async () => {
    const push = 'servers: [a]\nflow: push\nsize: 4KiB\nbandwidth: 1Gbps\n'
    const most = (await captured(`${push}count: 400\narrival: { type: closed, depth: 16 }`)).result
    const asked = Math.round((0.8 * most.done) / most.seconds)
    const { result } = await captured(`${push}count: 800\narrival: fixed\nrequests: ${asked}`)
    expect(result).toMatchObject({ done: 800, failed: 0 })
    expect(Math.abs(result.done / result.seconds / asked - 1)).toBeLessThan(0.02)
  })

  it('a WRITE of UC of which a packet is lost is lost, whether the notice behind it comes or not', async () => {
    const { result, checked } = await captured(
      'servers: [a]\nsize: 6000\nrequests: 5k/s\nfaults: { loss: 0.03 }\nverbs: write\ntypes: UC\nmtu: 1024\ncount: 400',
    )
    // Each flow is six packets of a WRITE, and the notice.
    const came = new Map<number, Set<number>>()
    const notices: [number, number][] = []
    for (const { opcode, qpn, psn } of packets(readFileSync(path))) {
      if (opcode === ucSendOnlyImm) notices.push([qpn, psn])
      else if (opcode >= ucWriteFirst && opcode <= ucWriteLast)
        came.set(qpn, (came.get(qpn) ?? new Set<number>()).add(psn))
    }
    const whole = notices.filter(([qpn, psn]) =>
      [1, 2, 3, 4, 5, 6].every((back) => came.get(qpn)?.has((psn - back) & 0xffffff)),
    )
    expect(notices.length).toBeGreaterThan(whole.length)
    expect(result).toMatchObject({ done: whole.length, lost: 400 - whole.length, failed: 0 })
    expect(checked.code).toBe(0)
  })

  it('writes the same requests as RoCEv1, without marks and CNPs', async () => {
    const yaml = `servers: [a]
size: 3000
requests: 20k/s
verbs: { send: 20, write_with_imm: 10, read: 20, fetch_add: 10 }
types: { RC: 80, UC: 10, UD: 10 }
count: 200
faults: { marking: 0.1`
    interface Message {
      op: string
      bytes: number
    }
    const messages = async (): Promise<string[]> => {
      const lines = (await verbena('replay', 'messages', path)).stdout.trim().split('\n')
      return lines.map((line) => JSON.parse(line) as Message).map(({ op, bytes }) => `${op} ${bytes}`)
    }
    const v2 = await captured(`${yaml} }`)
    const inV2 = await messages()
    const v1 = await captured(`${yaml} }`, '--rocev1')
    expect(v1.result.requests).toBe(v2.result.requests)
    const check = JSON.parse(v1.checked.stdout)
    expect(check).toMatchObject({ packets: v1.result.packets, roce: v1.result.packets, malformed: [] })
    expect(check.icrcInvalid).toEqual([])
    expect(v2.sum(({ cnps }) => cnps)).toBeGreaterThan(0)
    expect(v1.sum(({ cnps }) => cnps)).toBe(0)
    expect((await messages()).toSorted()).toEqual(inV2.toSorted())
    const shown = await verbena('trace', 'show', path, '--filter', 'kind == RoCEv1 and not ecn')
    expect(shown.stdout.trim().split('\n')).toHaveLength(v1.result.packets)
    // What the network damages has a wrong ICRC in the capture.
    const damaged = await captured(`${yaml}, corruption: 0.02 }`, '--rocev1')
    expect(JSON.parse(damaged.checked.stdout).icrcInvalid.length).toBeGreaterThan(0)
    const refused = await verbena('traffic', 'client', join(folder, 'x.yaml'), '--rocev1')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching('--rocev1')])
  })
})

const [ucSendOnlyImm, ucWriteFirst, ucWriteLast] = [0x25, 0x26, 0x28]

/** The BTHs of a file of Ethernet, IPv4 and UDP. */
function* packets(file: Buffer): Generator<{ opcode: number; qpn: number; psn: number }> {
  for (let at = 24; at < file.length; ) {
    const bth = at + 16 + 14 + 20 + 8
    yield { opcode: file[bth]!, qpn: file.readUIntBE(bth + 5, 3), psn: file.readUIntBE(bth + 9, 3) }
    at += 16 + file.readUInt32LE(at + 8)
  }
}
