/** `verbena replay packets`: to a file, and as datagrams to an adapter. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { interfaceIndex, nativeAvailable, PacketRing } from '../../../src/memory/index.ts'
import { verbena } from '../../cli/in-process.ts'
import { root } from '../../docs/markdown.ts'

const dir = mkdtempSync(join(tmpdir(), 'verbena-replay-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const rping = `${root}test/captures/rping.pcap`
const replay = (...args: string[]) => verbena('replay', 'packets', ...args)

describe('to a file', () => {
  it('rewrites by options and a file of mappings, and names what fits nothing', async () => {
    const map = join(dir, 'lab.map')
    writeFileSync(map, 'ip 10.77.0.0/24=192.168.7.0/24\nqpn 0x1a@10.77.0.2=0x200 # the server\n')
    const out = join(dir, 'lab.pcap')
    const done = await replay(rping, '--to', out, '--map', map, '--rkey', '0x99=0x98', '--json', '--pps', '1k')
    expect(done.code).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({ kind: 'file', sent: 65, unused: ['rkey 0x99=0x98'] })
    expect(done.stderr).toContain('--rkey 0x99=0x98: no packet has it')
    expect(JSON.parse((await verbena('trace', 'check', out, '--json')).stdout)).toMatchObject({ icrcValid: 65 })
    const info = JSON.parse((await verbena('trace', 'info', out, '--json')).stdout)
    expect(info.durationSeconds ?? info.seconds).toBeCloseTo(0.064, 6)
  })

  it.each([
    [['--to', '/tmp/x', '--udp', 'h'], /exactly one of/],
    [['--to', '/tmp/x', '--speed', '0x'], /--speed/],
    [['--to', '/tmp/x', '--qpn', '5'], /--qpn: '5' is not valid/],
    [['--to', '/tmp/x', '--map', '/nowhere'], /--map: ENOENT/],
    [['--interface', 'nosuch0'], /there is no interface nosuch0/],
  ])('%j is a usage error', async (args, text) => {
    const { code, stderr } = await replay(rping, ...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)])
  })
})

describe.skipIf(!nativeAvailable)('to a host', () => {
  it('sends what the adapter of Verbena takes', async () => {
    const { openDevice, QpType, connectQp, recvWr, workCompletions, Access } = await import('../../../src/index.ts')
    const address = '127.0.0.61'
    const context = openDevice(`roce:${address}`)
    const pd = context.allocPd()
    const cq = context.createCq(64)
    const bytes = context.alloc(4096)
    const mr = pd.regMr(bytes, Access.LocalWrite)
    const cap = { maxSendWr: 1, maxRecvWr: 32, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap })
    connectQp(qp, { psn: 0 }, null, { qkey: 0x11111111 })
    for (let i = 0; i < 20; i++)
      qp.postRecv(recvWr({ wrId: i, sgList: [{ addr: mr.addr, length: 4096, lkey: mr.lkey }] }))
    const capture = `${root}test/captures/ud_pingpong.pcap`
    const info = JSON.parse((await verbena('trace', 'info', capture, '--json')).stdout)
    const old = info.conversations[0].directions.find((one: { destination: string }) => one.destination === '10.77.0.2')
    const map = ['--qpn', `${old.destinationQp}@10.77.0.2=${qp.qpNum}`]
    const sent = await replay(capture, '--udp', address, '--filter', 'dst == 10.77.0.2', ...map, '--json')
    expect([sent.code, sent.stderr]).toEqual([0, ''])
    const report = JSON.parse(sent.stdout)
    expect(report).toMatchObject({ kind: 'udp', sent: 20, rejected: 0, unsendable: 0 })
    const wcs = workCompletions(32)
    let received = 0
    await expect
      .poll(() => {
        const n = cq.poll(wcs)
        for (let i = 0; i < n; i++) expect(wcs[i]).toMatchObject({ status: 0, byteLen: 40 + old.bytes / old.packets })
        received += n
        return received
      })
      .toBe(20)
    expect(context.counters()).toMatchObject({})
    for (const object of [qp, mr, cq, pd, context]) object.close()
  })
})

/** A ring on the loopback interface for IPv4 from 10.99.7.0/24; undefined where this process may not have one. */
function loopbackRing(): PacketRing | undefined {
  if (!nativeAvailable) return undefined
  try {
    // Other tests use this interface meanwhile, and their frames would fill the ring.
    const filter = [
      { code: 0x20, jt: 0, jf: 0, k: 26 }, //            A = the source address
      { code: 0x54, jt: 0, jf: 0, k: 0xffffff00 }, //    A &= mask
      { code: 0x15, jt: 0, jf: 1, k: 0x0a630700 }, //    10.99.7.0, or skip one
      { code: 0x06, jt: 0, jf: 0, k: 0x40000 }, //       the whole frame
      { code: 0x06, jt: 0, jf: 0, k: 0 }, //             nothing
    ]
    return PacketRing.open({ interfaceIndex: interfaceIndex('lo'), filter, ringBytes: 8 << 20 })
  } catch {
    return undefined
  }
}

const ring = loopbackRing()
afterAll(() => ring?.close())

describe.skipIf(ring === undefined)('through an interface', () => {
  it('sends the frames as they are, rewritten, and says how late they were', async () => {
    const done = await replay(rping, '-i', 'lo', '--ip', '10.77.0.0/24=10.99.7.0/24', '--speed', '4x', '--json')
    expect(done.code).toBe(0)
    const report = JSON.parse(done.stdout)
    expect(report).toMatchObject({ kind: 'interface', sent: 65, bytes: 6690, rejected: 0, unsendable: 0 })
    expect(report.pacing.medianNs).toBeGreaterThanOrEqual(0)
    expect(report.seconds).toBeGreaterThan(0.0515 / 4 - 0.001)
    const bytes: number[] = []
    const look = (): number => {
      ring!.drain((packet) => {
        const b = ring!.bytes.subarray(packet.offset, packet.offset + packet.length)
        if (packet.outbound) bytes.push(b.length)
      }, 64)
      return bytes.length
    }
    await expect.poll(look, { timeout: 5000 }).toBe(65)
    expect(bytes.reduce((sum, length) => sum + length, 0)).toBe(6690)
  })
})
