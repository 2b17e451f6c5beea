import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { command } from '../../built.ts'
import { outcome, startProcess, verbena } from '../../cli/run.ts'

const capture = (name: string) => new URL(`../../captures/${name}.pcap`, import.meta.url).pathname
const dir = mkdtempSync(join(tmpdir(), 'verbena-trace-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** rping with damaged packets: 4 has a flipped bit in its payload, 7 in its length, and the file lacks its last byte. */
function damaged(): string {
  const bytes = readFileSync(capture('rping'))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const starts: number[] = []
  for (let at = 24; at < bytes.length; at += 16 + view.getUint32(at + 8, true)) starts.push(at + 16)
  bytes[starts[3]! + 60]! ^= 4
  bytes[starts[6]! + 14 + 20 + 5]! ^= 8
  const file = join(dir, 'damaged.pcap')
  writeFileSync(file, bytes.subarray(0, -1))
  return file
}

describe('trace check', { timeout: 60_000 }, () => {
  it('says that a sound capture is sound', async () => {
    const { code, stdout, stderr } = await verbena('trace', 'check', capture('rstream'))
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('ICRC valid     495')
  })

  it('--json is one object with exactly five fields', async () => {
    const { code, stdout } = await verbena('trace', 'check', '--json', capture('rping'))
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ packets: 65, roce: 65, icrcValid: 65, icrcInvalid: [], malformed: [] })
  })

  it('names bad packets by number, and where the file is damaged', async () => {
    const file = damaged()
    const json = await verbena('trace', 'check', file, '--json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toEqual({ packets: 64, roce: 64, icrcValid: 62, icrcInvalid: [4], malformed: [7] })
    expect(json.stderr).toMatch(/damaged in one place:\n\s+offset \d+ \(before packet 65\): .*ends inside this record/)
    const text = await verbena('trace', 'check', file)
    expect(text.code).toBe(1)
    expect(text.stdout).toMatch(/ICRC invalid {3}1: packet 4\nmalformed {6}1: packet 7\n {2}packet 7: the UDP length/)
  })

  it('says that there is no RDMA, and finds it on another port', async () => {
    const bytes = readFileSync(capture('udaddy'))
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 24; at < bytes.length; at += 16 + view.getUint32(at + 8, true)) view.setUint16(at + 16 + 36, 4792)
    const file = join(dir, 'elsewhere.pcap')
    writeFileSync(file, bytes)
    const none = await verbena('trace', 'check', file, '--json')
    expect([none.code, JSON.parse(none.stdout)]).toEqual([1, expect.objectContaining({ packets: 12, roce: 0 })])
    expect(none.stderr).toMatch(/No RDMA packet was found.*--roce-port PORT/)
    const info = await verbena('trace', 'info', file)
    expect([info.code, info.stderr]).toEqual([0, none.stderr])
    const same = await verbena('trace', 'check', file, '--json', '--no-icrc', '--roce-port', '4792')
    expect([same.code, same.stderr, JSON.parse(same.stdout).roce]).toEqual([0, '', 12])
    const found = await verbena('trace', 'check', file, '--json', '--no-icrc', '--decode-as', '4792=roce')
    expect([found.stderr, JSON.parse(found.stdout).roce]).toEqual(['', 12])
    const wrong = await verbena('trace', 'check', file, '-d', '4792=rdma')
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Expected a port and what it carries')])
  })

  it('takes several files: a document of each, and one that is bad makes the code', async () => {
    const files = [capture('udaddy'), damaged(), capture('rping')]
    const text = await verbena('trace', 'check', ...files)
    expect(text.code).toBe(1)
    const parts = text.stdout.split(/^(?=\/)/m)
    expect(parts.map((part) => part.split('\n')[0])).toEqual(files)
    expect(parts.map((part) => /^packets +(\d+)$/m.exec(part)?.[1])).toEqual(['12', '64', '65'])
    const json = await verbena('trace', 'check', '--json', files[0]!, files[2]!)
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      0,
      [
        { file: files[0], packets: 12, roce: 12, icrcValid: 12, icrcInvalid: [], malformed: [] },
        { file: files[2], packets: 65, roce: 65, icrcValid: 65, icrcInvalid: [], malformed: [] },
      ],
    ])
  })

  it('names a link type that is not read, as info does', async () => {
    const bytes = readFileSync(capture('udaddy'))
    bytes.writeUInt32LE(105, 20)
    const file = join(dir, 'wireless.pcap')
    writeFileSync(file, bytes)
    const check = await verbena('trace', 'check', file)
    const info = await verbena('trace', 'info', file)
    expect([check.code, info.code]).toEqual([1, 0])
    for (const { stderr } of [check, info]) {
      expect(stderr).toMatch(/^No RDMA packet was found in the capture\. It has packets of .*105/)
      expect(stderr).not.toContain('--roce-port')
    }
  })

  it('reads zstd, where Node.js can', async () => {
    // An empty raw block, the last one, in a frame without checksum: no capture, in either case.
    const file = join(dir, 'empty.zst')
    writeFileSync(file, Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0))
    const { code, stderr } = await verbena('trace', 'check', file)
    expect(code).toBe(2)
    expect(stderr).toMatch('createZstdDecompress' in zlib ? /the file is empty/ : /compressed with zstd.*zstd -d first/)
  })

  it('reads standard input, compressed too', async () => {
    const child = spawn(process.execPath, [command, 'trace', 'check', '-', '--json'])
    const ended = outcome(child)
    child.stdin.end(zlib.gzipSync(readFileSync(capture('udaddy'))))
    const { code, stdout } = await ended
    expect([code, JSON.parse(stdout).packets]).toEqual([0, 12])
  })

  it.each([
    [['/nonexistent.pcap'], /nonexistent.pcap: there is no such file/],
    [[dir], /is a directory/],
    [[new URL('../../../package.json', import.meta.url).pathname], /neither pcap nor pcapng: the file begins with 7b/],
    [[], /missing required argument/],
  ])('%s is refused', async (args, message) => {
    const { code, stdout, stderr } = await verbena('trace', 'check', ...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })
})

describe('trace show, info, convert', { timeout: 60_000 }, () => {
  it('a line for each packet, with what it means', async () => {
    const { code, stdout } = await verbena('trace', 'show', capture('rc_pingpong_loss3'), '-n', '20')
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(20)
    expect(lines[1]).toMatch(/#1 0x15→0x15 +RC SEND Middle +PSN 15043938 1024 B {2}GAP: 1 PSN missing before$/)
    expect(lines[9]).toMatch(/RC NAK .*PSN sequence error; wants PSN 15043937 again; covers PSN 15043936/)
    expect(lines[11]).toMatch(/RETRANSMISSION of packet 2$/)
    expect(lines[19]).toMatch(/covers PSN 15043937 to 15043945 \(9 packets, 1 message\); 2\.44 ms after packet 9/)
  })

  it('JSON lines with a filter', async () => {
    const { stdout } = await verbena('trace', 'show', capture('rping'), '--json', '--filter', 'cm == REQ')
    const row = JSON.parse(stdout)
    expect(row).toMatchObject({ number: 1, icrc: 'valid', cm: { type: 'REQ', localQpn: 0x1a, pathMtu: 5 } })
    expect(row.cm.serviceId).toBe('0x1061c06')
    const wrong = await verbena('trace', 'show', capture('rping'), '--filter', 'psn > ')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/here a value is missing\n {2}psn > \n {8}\^/)
  })

  it('every header, the bytes, and the time of the day', async () => {
    const show = (...args: string[]) => verbena('trace', 'show', capture('rping'), '-f', 'number in {4, 6}', ...args)
    const verbose = await show('-V', '-x', '--time', 'utc')
    expect([verbose.code, verbose.stderr]).toEqual([0, ''])
    const [first, second, ...rest] = verbose.stdout.split('\n\n')
    expect(rest).toEqual([''])
    expect(first).toMatch(/^Packet 4, .*\n {4}Captured: 2026-11-21 04:19:48\.759886000 UTC\n/)
    expect(second).toMatch(/\nRETH, 100 bytes at 0x5637586868b0 {2}\[54, 70\)\n {4}VA: 0x5637586868b0\n/)
    expect(second).toMatch(/\nICRC, right .*\n.*\nAnalysis, conversation 2\n(.|\n)*\n0000 {2}52 54 00 12 34 02 /)
    const lines = await show('-t', 'u', '--limit', '1')
    expect(lines.stdout).toMatch(/^ {4}4 04:19:48\.759886 {2}10\.77\.0\.3 → .*\n$/)
    expect((await show('-x', '--limit', '1')).stdout).toMatch(/^ {4}4 .*\n0000 (.*\n)+\n$/)
    expect((await show('-t', 'noon')).stderr).toMatch(
      /^verbena: --time: 'noon' is not valid\. Expected relative, delta, .*epoch, for example: --time date$/m,
    )
    expect((await show('-V', '--json')).stderr).toMatch(/'--json' cannot be used with option '-V, --verbose'/)
  })

  it('a reader that has enough ends it', async () => {
    const child = startProcess(['trace', 'show', capture('rstream'), '-V', '-x'])
    const ended = once(child, 'close')
    // `head` reads what it wants and closes the pipe; as text this capture has several times as much as a pipe holds.
    child.stdout!.once('data', () => child.stdout!.destroy())
    let stderr = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    expect([await ended, stderr]).toEqual([[0, null], ''])
  })

  it('conversations', async () => {
    const { code, stdout } = await verbena('trace', 'info', capture('rc_pingpong_loss3'))
    expect(code).toBe(0)
    expect(stdout).toContain('#1 RC, path MTU 1024; paired: inferred: PSNs of requests and ACKs agree')
    expect(stdout).toMatch(/NAKs +5 PSN sequence error +11 PSN sequence error/)
    const json = await verbena('trace', 'info', capture('rping'), '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      packets: 65,
      connectionMessages: { REQ: 1, REP: 1, RTU: 1, DREQ: 1, DREP: 1 },
      conversations: [{ service: 'UD' }, { service: 'RC', paired: 'cm', pathMtu: 4096 }],
    })
  })

  it('convert keeps the packets, or those that are wanted', async () => {
    const out = join(dir, 'part.pcapng.gz')
    const { code, stderr } = await verbena('trace', 'convert', capture('rping'), out, '--filter', 'conv == 2')
    expect([code, stderr]).toEqual([0, '60 of 65 packets written\n'])
    const again = await verbena('trace', 'check', out, '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ packets: 60, icrcValid: 60 })
    const whole = join(dir, 'whole.pcap')
    expect((await verbena('trace', 'convert', damaged(), whole)).code).toBe(1)
    expect(JSON.parse((await verbena('trace', 'check', whole, '--json')).stdout).packets).toBe(64)
  })

  it('convert never writes over what it reads, nor over anything if it fails', async () => {
    const file = join(dir, 'same.pcap')
    const before = readFileSync(capture('rping'))
    writeFileSync(file, before)
    symlinkSync('same.pcap', join(dir, 'link.pcap'))
    const same = await verbena('trace', 'convert', file, join(dir, 'link.pcap'))
    expect([same.code, same.stderr]).toEqual([
      2,
      expect.stringMatching(/link\.pcap: the file that is read: write to another one/),
    ])
    const text = join(dir, 'no-capture')
    writeFileSync(text, 'no capture at all')
    expect((await verbena('trace', 'convert', text, file)).code).toBe(2)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it.each([
    ['show', capture('rc_pingpong_loss3')],
    ['convert', capture('rc_pingpong_loss3'), '-'],
  ])('%s to a pipe that is closed ends without a word', async (...args) => {
    const child = startProcess(['trace', ...args])
    child.stdout!.once('data', () => child.stdout!.destroy())
    expect(await outcome(child)).toMatchObject({ code: 0, stderr: '' })
  })

  it('output that cannot be written is said in a line', () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(process.execPath, [command, 'trace', 'show', capture('rping')], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    closeSync(full)
    expect(stderr).toMatch(/^verbena: standard output: ENOSPC: .*\n$/)
    expect(status).toBe(1)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the reading with what there is, and exit code %d', async (signal, code) => {
    const child = spawn(process.execPath, [command, 'trace', 'show', '-'])
    const ended = outcome(child)
    // It has shown what it got, and waits for more.
    child.stdin.write(readFileSync(capture('rping')))
    await once(child.stdout, 'data')
    child.kill(signal)
    expect((await ended).code).toBe(code)
  })

  it('help teaches', async () => {
    for (const [command, words] of [
      [['trace'], ['check', 'show', 'info', 'convert', 'tcpdump']],
      [
        ['trace', 'check'],
        ['Exit code 1', 'place-length', '--json'],
      ],
      [
        ['trace', 'show'],
        ['retransmission', '--filter', '=='],
      ],
      [
        ['trace', 'info'],
        ['--top', 'by PSNs'],
      ],
      [
        ['trace', 'convert'],
        ['--format', '.gz'],
      ],
    ] as const) {
      const { code, stdout } = await verbena(...command, '--help')
      expect(code).toBe(0)
      for (const word of words) expect(stdout).toContain(word)
    }
  })
})
