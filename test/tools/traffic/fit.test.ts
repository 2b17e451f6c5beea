/** `verbena traffic fit`, on captures and in a round trip: generated, captured, fitted. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { fileSource } from '../../../src/files/index.ts'
import { readMessages } from '../../../src/replay/index.ts'
import { ksOfSamples } from '../../../src/stats/index.ts'
import { verbena } from '../../cli/in-process.ts'
import { root } from '../../docs/markdown.ts'

const dir = mkdtempSync(join(tmpdir(), 'verbena-fit-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const capture = `${root}test/captures/rping.pcap`

it('writes what the client reads', async () => {
  const out = join(dir, 'rping.yaml')
  const { code, stderr } = await verbena('traffic', 'fit', capture, '--client', '10.77.0.2', '-o', out)
  expect([code, stderr]).toEqual([0, expect.stringContaining('10 messages of other hosts are left out')])
  const lines = (await verbena('traffic', 'client', out, '--dry-run')).stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(20)
  expect(JSON.parse(lines[0]!)).toMatchObject({ server: '10.77.0.3:18515', type: 'RC' })
})

it('writes a configuration for each host that sends', async () => {
  const out = join(dir, 'hosts')
  const { code, stdout, stderr } = await verbena('traffic', 'fit', capture, '--all', out, '--scale', '2')
  const paths = ['10.77.0.2', '10.77.0.3'].map((host) => join(out, `${host}.yaml`))
  expect([code, stdout, stderr]).toEqual([0, `${paths[0]}  20 requests\n${paths[1]}  10 requests\n`, ''])
  for (const [i, path] of paths.entries()) {
    const client = ['--client', `10.77.0.${i + 2}`, '--scale', '2']
    expect(readFileSync(path, 'utf8')).toBe((await verbena('traffic', 'fit', capture, ...client)).stdout)
  }
  for (const other of [['--client', '10.77.0.2'], ['-o', 'x'], ['--json'], ['--server', 'a']])
    expect((await verbena('traffic', 'fit', capture, '--all', out, ...other)).code).toBe(2)
})

it('names the host that sends nothing', async () => {
  const { code, stderr } = await verbena('traffic', 'fit', capture, '--client', '10.0.0.1')
  expect([code, stderr]).toEqual([2, expect.stringContaining('--client: 10.0.0.1 sends no message')])
})

it('generated, captured, fitted, generated and captured again: sizes, arrivals, verbs and destinations agree', async () => {
  const [first, second] = [join(dir, 'first.yaml'), join(dir, 'second.yaml')]
  writeFileSync(
    first,
    'servers: [{ host: a, weight: 3 }, { host: b }]\nflow: push\nrequests: 20k/s\nbandwidth: 100Gbps\n' +
      'size: { points: [[0, 0], [100, 0.3], [2000, 0.6], [20000, 1]] }\n' +
      'verbs: { send: 50, write: 30, read: 20 }\nqps: 4\nseed: 5\ncount: 1000\n',
  )
  const before = await captured(first)
  expect((await verbena('traffic', 'fit', capturedFile, '-o', second)).code).toBe(0)
  const after = await captured(second)
  expect([before.length, after.length]).toEqual([1000, 1000])
  const both = (of: (list: readonly Seen[]) => number[]): [number[], number[]] => [of(before), of(after)]
  // The distance of two samples that one of twenty pairs exceeds; the seeds are fixed.
  const limit = 1.36 * Math.sqrt(2 / 1000)
  expect(ksOfSamples(...both((list) => list.map(({ bytes }) => bytes)))).toBeLessThan(limit)
  expect(ksOfSamples(...both((list) => list.slice(1).map(({ atNs }, i) => atNs - list[i]!.atNs)))).toBeLessThan(limit)
  const ops = ['send', 'write', 'read']
  expect(chiSquareOf(...both((list) => ops.map((op) => list.filter((one) => one.op === op).length)))).toBeLessThan(5.99)
  const hosts = ['10.0.0.2', '10.0.0.3']
  const shares = both((list) => hosts.map((host) => list.filter((one) => one.host === host).length).sort())
  expect(chiSquareOf(...shares)).toBeLessThan(3.84)
})

const capturedFile = join(dir, 'generated.pcap')

interface Seen {
  atNs: number
  bytes: number
  op: string
  host: string
}

/** The messages of a configuration as packets in virtual time, in the order in which they begin. */
async function captured(config: string): Promise<Seen[]> {
  const { code, stderr } = await verbena('traffic', 'client', config, '--pcap', capturedFile)
  expect([code, stderr]).toEqual([0, expect.stringMatching(/ packets of 1,?000 requests/)])
  const { connections, messages } = await readMessages(fileSource(capturedFile))
  return messages.map(({ atNs, bytes, op, connection, from }) => {
    const host = connections[connection]!.ends[from === 0 ? 1 : 0].address
    return { atNs, bytes, op, host }
  })
}

/** Of two samples of one size in the same classes, whether they are of one distribution. */
function chiSquareOf(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, count, i) => sum + (count - b[i]!) ** 2 / Math.max(1, count + b[i]!), 0)
}
