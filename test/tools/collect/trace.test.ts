/** `verbena collect trace` and `session`: from captures, from the loopback interface, from a command. */
import { createSocket } from 'node:dgram'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { interfaceIndex, nativeAvailable, PacketRing } from '../../../src/memory/index.ts'
import { command } from '../../built.ts'
import { begin, verbena } from '../../cli/in-process.ts'
import { everything, writeTree } from '../../collect/trees.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-collect-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (name: string): string => join(folder, name)
const capture = new URL('../../captures/rping.pcap', import.meta.url).pathname

async function checked(file: string): Promise<{ packets: number; icrcValid: number; icrcInvalid: number[] }> {
  return JSON.parse((await verbena('trace', 'check', file, '--json')).stdout) as Awaited<ReturnType<typeof checked>>
}

describe('of a capture', () => {
  it('keeps RoCE, as it was', async () => {
    const { code, stdout } = await verbena('collect', 'trace', '-r', capture, '-w', at('a.pcapng'), '--json')
    const before = await checked(capture)
    const after = await checked(at('a.pcapng'))
    expect(code).toBe(0)
    expect(after.icrcValid).toBe(before.icrcValid)
    expect(JSON.parse(stdout)).toMatchObject({ packets: after.packets, files: [{ path: at('a.pcapng') }] })
  })

  it('without payload, and with other addresses', async () => {
    await verbena('collect', 'trace', '-r', capture, '-w', at('whole.pcap'))
    await verbena('collect', 'trace', '-r', capture, '-w', at('headers.pcap'), '--headers')
    const sizes = ['whole', 'headers'].map((name) => readFileSync(at(`${name}.pcap`)).length)
    expect(sizes[1]).toBeLessThan(sizes[0]!)
    writeFileSync(at('key'), 'sixteen bytes and more')
    const key = ['--anonymise-key', at('key')]
    const mapped = async (name: string): Promise<string> => {
      await verbena('collect', 'trace', '-r', capture, '-w', at(name), ...key)
      return (await verbena('trace', 'show', at(name))).stdout
    }
    const [first, second] = [await mapped('b.pcap'), await mapped('c.pcap')]
    expect(first).toBe(second)
    expect(first).not.toContain('10.77.0.')
    expect((await checked(at('b.pcap'))).icrcInvalid).toEqual([])
  })

  it('in several files, until it is enough', async () => {
    const rotated = ['--rotate-size', '0.002', '--rotate-files', '2']
    const { stderr } = await verbena('collect', 'trace', '-r', capture, '-w', at('r.pcap'), ...rotated)
    expect(readdirSync(folder).filter((name) => /^r-\d{5}\.pcap$/.test(name))).toHaveLength(2)
    expect(stderr).toMatch(/older files deleted/)
    await verbena('collect', 'trace', '-r', capture, '-w', at('n.pcap'), '-c', '7')
    expect((await checked(at('n.pcap'))).packets).toBe(7)
  })

  it('says what it left out, and what is damaged', async () => {
    const v1 = await verbena('collect', 'trace', '-r', capture, '-w', at('v1.pcap'), '--filter', 'v1')
    expect(v1.stderr).toMatch(/^0 packets captured .*\n\d+ packets left out: other traffic/)
    const bytes = readFileSync(capture)
    writeFileSync(at('cut.pcap'), bytes.subarray(0, bytes.length - 9))
    const cut = await verbena('collect', 'trace', '-r', at('cut.pcap'), '-w', at('d.pcap'))
    expect([cut.code, cut.stderr]).toEqual([1, expect.stringMatching(/The capture is damaged: /)])
  })
})

it.each([
  [['-r', '/nonexistent'], 2, /-r: there is no file/],
  [['-r', command], 2, /-r: /],
  [['-r', capture, '-i', 'lo'], 2, /choose one/],
  [['-i', 'nothing0'], 2, /-i: there is no interface 'nothing0'; there are /],
  [['-r', capture, '-w', '-', '--json'], 2, /--json: standard output has the packets/],
  [['-r', capture, '-w', '-', '--rotate-size', '1'], 2, /cannot be rotated/],
  [['-r', capture, '--rotate-files', '3'], 2, /--rotate-files: needs --rotate-size/],
  [['-r', capture, '--anonymise-key', '/nonexistent'], 2, /cannot be read \(ENOENT\)/],
  [['-r', capture, '--anonymise-key', '/dev/null'], 2, /too short/],
  [['-r', capture, '-s', '0'], 2, /-s: '0' is not valid/],
  [['--', '/nonexistent/program'], 2, /cannot be started \(ENOENT\)/],
])('collect trace %j ends with %i', async (args, expected, message) => {
  const out = args.includes('-w') ? [] : ['-w', at('never.pcap')]
  const { code, stderr } = await verbena('collect', 'trace', ...out, ...args)
  expect(stderr).toMatch(message)
  expect(code).toBe(expected)
})

/** Why packets cannot be captured here; undefined if they can. */
const missing = ((): string | undefined => {
  if (!nativeAvailable) return 'there is no koffi'
  try {
    const filter = [{ code: 6, jt: 0, jf: 0, k: 0 }]
    PacketRing.open({ interfaceIndex: interfaceIndex('lo'), filter, ringBytes: 2 << 20 }).close()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
})()

describe.skipIf(missing !== undefined)(`of an interface${missing === undefined ? '' : `: ${missing}`}`, () => {
  // Other tests have RoCE on the loopback interface as well: this port is ours.
  const port = 20_000 + (process.pid % 10_000)
  const sender = createSocket('udp4')
  afterAll(() => void sender.close())
  const packet = Buffer.alloc(20)
  packet[0] = 4

  it('captures what passes, until Ctrl-C', async () => {
    const running = begin([
      ...['collect', 'trace', '-i', 'lo', '--roce-port', String(port), '-w', at('live.pcapng')],
      ...['--json', '--buffer', '4'],
    ])
    await running.says(/Capturing from lo/)
    for (let i = 0; i < 5; i++) sender.send(packet, port, '127.0.0.1')
    // The ring hands a block over after 50 ms at most; the capture reads once more when it ends.
    await new Promise((resolve) => sender.send(packet, port, '127.0.0.1', resolve))
    running.interrupt()
    const { code, stdout } = await running.outcome
    expect(code).toBe(130)
    const found = JSON.parse(stdout) as { packets: number; interfaces: { dropped: number; received: number }[] }
    // Each once: what the loopback interface sends it receives.
    expect(found).toMatchObject({ packets: 6, interfaces: [{ name: 'lo', dropped: 0, received: 6 }] })
    const shown = await verbena('trace', 'info', at('live.pcapng'), '--roce-port', String(port))
    expect(shown.stdout).toMatch(/^6 packets, 6 of RDMA/)
  })

  it('ends after so many packets', async () => {
    const args = ['-i', 'lo', '--roce-port', String(port), '-c', '4', '--headers', '--anonymise', '--buffer', '4']
    const running = begin(['collect', 'trace', ...args, '-w', at('few.pcap')])
    await running.says(/Capturing/)
    const timer = setInterval(() => sender.send(packet, port, '127.0.0.1'), 5)
    const { code, stderr } = await running.outcome
    clearInterval(timer)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/4 packets captured into /)])
  })

  it('a session has all of it, and trace takes its folder', async () => {
    const out = at('session')
    const trace = ['-i', 'lo', '--roce-port', String(port), '--buffer', '4', '--rotate-size', '0.001']
    const running = begin(['collect', '--out', out, '--interval', '0.05', ...trace, '--json'])
    await running.says(/Collecting into/)
    const timer = setInterval(() => sender.send(packet, port, '127.0.0.1'), 2)
    while (!readdirSync(out).includes('trace-00002.pcapng')) await new Promise((resolve) => setTimeout(resolve, 5))
    clearInterval(timer)
    running.interrupt()
    const { code } = await running.outcome
    expect(code).toBe(130)
    const session = JSON.parse(readFileSync(join(out, 'session.json'), 'utf8')) as {
      counters: { readings: number }
      trace: { packets: number; files: { packets: number }[] }
    }
    const lines = readFileSync(join(out, 'counters.jsonl'), 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(session.counters.readings)
    expect(session.trace.packets).toBeGreaterThan(0)
    expect(session.trace.files.reduce((sum, one) => sum + one.packets, 0)).toBe(session.trace.packets)
    const { stdout } = await verbena('trace', 'info', out, '--roce-port', String(port), '--json')
    expect(JSON.parse(stdout)).toMatchObject({ packets: session.trace.packets })
    const again = await verbena('collect', '--out', out, '--no-trace', '--duration', '0.01')
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/has a session already/)])
  })
})

describe('a session without packets', () => {
  it('of a recorded tree', async () => {
    const root = writeTree(everything)
    const out = at('recorded')
    const { code, stdout } = await verbena(
      ...['collect', '--out', out, '--sysfs-root', root, '--interval', '0.02', '--duration', '0.05', '--json'],
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ trace: null })
    const { l2, devices } = JSON.parse(readFileSync(join(out, 'session.json'), 'utf8')) as {
      l2: { ports: unknown[] }
      devices: unknown[]
    }
    expect([l2.ports.length, devices.length]).toEqual([7, 6])
    const { stderr } = await verbena('trace', 'info', out)
    expect(stderr).toMatch(/the session has no trace/)
    rmSync(root, { recursive: true, force: true })
  })

  it('names no host and no address if the trace is anonymised', async () => {
    const root = writeTree(everything)
    const out = at('anonymous')
    writeFileSync(at('session-key'), 'sixteen bytes and more')
    const limits = ['--interval', '0.02', '--duration', '0.05', '--anonymise-key', at('session-key')]
    expect((await verbena('collect', '--out', out, '--sysfs-root', root, ...limits)).code).toBe(0)
    const [session, counters] = ['session.json', 'counters.jsonl'].map((name) => readFileSync(join(out, name), 'utf8'))
    for (const text of [session!, counters!])
      expect(text).not.toMatch(/0e42:a1ff|0a00:0007|0c42:a103|node7|session-key|"name":"rocep?x0c42/)
    const { host, command, l2, devices } = JSON.parse(session!) as {
      host: { name: unknown }
      command: unknown
      l2: { ports: { device: string; gids: { gid: string }[] }[] }
      devices: { name: string }[]
    }
    expect([host.name, command]).toEqual([null, null])
    expect(devices.map(({ name }) => name)).toContain('mlx5_0')
    // Two entries of the link-local address, two of the IPv4 address: which are the same, and of what kind, stays.
    const found = l2.ports.find(({ device }) => device === 'mlx5_0')!.gids.map(({ gid }) => gid)
    expect([found[0], found[2]]).toEqual([found[1], found[3]])
    expect([found[0], found[2]]).toEqual([
      expect.stringMatching(/^fe80:0000:0000:0000:(?!0e42)/),
      expect.stringMatching(/^0000:0000:0000:0000:0000:ffff:(?!0a00:0007)/),
    ])
    rmSync(root, { recursive: true, force: true })
  })

  it('needs a folder', async () => {
    const { code, stderr } = await verbena('collect')
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--out: which folder\?/)])
  })
})

describe.skipIf(!nativeAvailable)('of a command', () => {
  it('captures what its devices pass, until it is enough', async () => {
    const program = `
      const v = await import(${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)})
      const context = v.openDevice('${loopbackDevice(1)}')
      const cq = context.createCq(4)
      const pd = context.allocPd()
      const mr = pd.regMr(context.alloc(4096), v.Access.LocalWrite)
      const qp = pd.createQp({ type: v.QpType.UC, sendCq: cq, recvCq: cq })
      const end = v.endpointOf(qp)
      v.connectQp(qp, end, end)
      const wc = v.workCompletions(1)
      for (;;) {
        qp.postSend({ wrId: 1, opcode: v.Opcode.Send, sendFlags: v.SendFlag.Signaled, sgList: [{ addr: mr.addr, length: 64, lkey: mr.lkey }] })
        while (cq.poll(wc) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      }`
    const file = at('program.mjs')
    writeFileSync(file, program)
    const args = ['-c', '5', '-w', at('own.pcapng'), '--', process.execPath, file]
    const { code, stderr } = await verbena('collect', 'trace', ...args)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^5 packets captured into .*\nThe command was ended: /)])
    expect((await verbena('trace', 'show', at('own.pcapng'))).stdout).toMatch(
      new RegExp(`${loopbackAddress(1)} .* UC SEND Only`),
    )
  })
  it('ends it when the time is over', async () => {
    const idle = ['--', process.execPath, '-e', 'setInterval(() => {}, 1000)']
    const { code, stderr } = await verbena('collect', 'trace', '--duration', '0.01', '-w', at('idle.pcapng'), ...idle)
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^No roce device .*\n0 packets .*\nThe command was ended: /),
    ])
  })
})
