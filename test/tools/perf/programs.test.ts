/** The eight tests between two processes: what they print, what both ends know, and what makes them fail. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isLatency, type PerfTest, perfTests } from '../../../src/tools/perf/settings.ts'
import { canShare, freePort, runEnds, segment } from '../../cli/ends.ts'
import { outcome, start, verbena } from '../../cli/run.ts'

const few = ['-n', '100', '--warmup', '20', '--json']
const flow = z.strictObject({
  messages: z.number(),
  seconds: z.number().positive(),
  messagesPerSecond: z.number().positive(),
  peakPerSecond: z.number().positive(),
})
const latency = z.strictObject({
  count: z.number(),
  lost: z.number(),
  min: z.number().positive(),
  max: z.number().positive(),
  mean: z.number().positive(),
  stdev: z.number().nonnegative(),
  percentiles: z.record(z.string(), z.number().positive()),
  exact: z.boolean(),
  what: z.string(),
  from: z.string(),
  perSecond: z.number().positive(),
})
const report = z.strictObject({ sent: flow.nullable(), received: flow.nullable(), latency: latency.nullable() })
const document = z.strictObject({
  tool: z.literal('perf'),
  test: z.enum(perfTests),
  role: z.enum(['client', 'server']),
  settings: z.record(z.string(), z.unknown()),
  mtu: z.literal(4096),
  local: z.strictObject({ device: z.string(), lid: z.number(), gid: z.string(), gidIndex: z.number() }),
  peer: z.string(),
  units: z.record(z.string(), z.string()),
  runs: z.array(z.strictObject({ size: z.number(), client: report, server: report })),
  brokenLimits: z.array(z.string()),
})

interface Documents {
  client: z.infer<typeof document>
  server: z.infer<typeof document>
}

async function measured(test: PerfTest, ...args: string[]): Promise<Documents> {
  const { client, server } = await runEnds(['perf', test], ['--json'], [...few, ...args])
  expect(client.stderr + server.stderr).toBe('')
  expect([client.code, server.code]).toEqual([0, 0])
  return { client: document.parse(JSON.parse(client.stdout)), server: document.parse(JSON.parse(server.stdout)) }
}

describe.skipIf(!canShare)('two processes', { timeout: 120_000 }, () => {
  it.each(perfTests)('%s: both ends know the results of both', async (test) => {
    const { client, server } = await measured(test)
    expect(client.runs).toEqual(server.runs)
    expect([client.role, server.role]).toEqual(['client', 'server'])
    const [run] = client.runs
    if (isLatency(test)) {
      const { count, min, max, mean, percentiles, exact } = run!.client.latency!
      expect([count, exact]).toEqual([100, true])
      const rising = [min, ...Object.values(percentiles), max]
      expect(rising).toEqual([...rising].sort((a, b) => a - b))
      expect(mean).toBeGreaterThanOrEqual(min)
      expect(mean).toBeLessThanOrEqual(max)
    } else {
      const { sent } = run!.client
      expect(sent!.messages).toBe(100)
      expect(sent!.messagesPerSecond).toBeCloseTo(100 / sent!.seconds, 3)
      expect(sent!.peakPerSecond).toBeGreaterThanOrEqual(sent!.messagesPerSecond)
      expect(run!.server.received?.messages).toBe(test === 'send_bw' ? 100 : undefined)
    }
  })

  it.each([
    ['send_bw', ['-b', '-q', '3', '-l', '4', '-t', '16', '-s', '100'], 300],
    ['send_bw', ['-c', 'UC', '-s', '64', '-r', '256'], 100],
    ['write_bw', ['-b', '-Q', '7', '-I', '64', '-s', '64'], 100],
    ['read_bw', ['-b', '-o', '2', '-e'], 100],
    ['atomic_bw', ['-b', '-A', 'CMP_AND_SWAP'], 100],
  ] as const)('%s %j counts every message of every sender', async (test, args, messages) => {
    const { client } = await measured(test, ...args)
    const { client: ours, server: theirs } = client.runs[0]!
    expect(ours.sent!.messages).toBe(messages)
    expect(theirs.sent?.messages).toBe(args.includes('-b' as never) ? messages : undefined)
    // What UC loses is not counted; RC loses nothing.
    if (test === 'send_bw' && args.includes('-b' as never))
      expect([ours.received!.messages, theirs.received!.messages]).toEqual([messages, messages])
  })

  it.each([
    ['send_lat', ['-c', 'UD', '-s', '1000']],
    ['send_lat', ['-e']],
    ['read_lat', ['-e']],
    ['write_lat', ['-c', 'UC']],
  ] as const)('%s %j', async (test, args) => {
    const { client } = await measured(test, ...args)
    const { count, lost } = client.runs[0]!.client.latency!
    expect(count + lost).toBe(100)
  })

  it.each(['send_lat', 'write_lat', 'read_lat'] as const)('%s under an open-loop load', async (test) => {
    const { client } = await measured(test, '--rate', '2000')
    const { count, from, what } = client.runs[0]!.client.latency!
    expect([count, from, what]).toEqual([100, 'intended', test === 'read_lat' ? 'completion' : 'round trip'])
  })

  it('--bind_source_ip, or --source_ip, chooses the addresses of the TCP connection', async () => {
    const [port, device] = [await freePort(), segment()]
    const common = ['perf', 'send_lat', '-p', port, '-d', device, '--json']
    const serving = outcome(start([...common, '--bind_source_ip', '127.0.0.5']))
    const more = ['-n', '20', '--warmup', '0', '--wait', '60', '--source_ip', '127.0.0.6', '127.0.0.5']
    const [client, server] = [await outcome(start([...common, ...more])), await serving]
    expect([client.stderr, server.stderr, client.code, server.code]).toEqual(['', '', 0, 0])
    expect(document.parse(JSON.parse(server.stdout)).peer).toContain('127.0.0.6')
    expect(document.parse(JSON.parse(client.stdout)).peer).toContain('127.0.0.5')
  })

  it('all sizes, in the columns of perftest', async () => {
    const { client, server } = await runEnds(['perf', 'write_bw'], [], ['-a', '-n', '4', '--warmup', '1'])
    expect(client.code).toBe(0)
    const table = client.stdout.split('\n').filter((line) => /^ \d/.test(line))
    expect(table.map((line) => Number(line.split(/\s+/)[1]))).toEqual(
      Array.from({ length: 23 }, (_, i) => 2 ** (i + 1)),
    )
    expect(client.stdout).toMatch(
      /^ #bytes +#iterations +BW peak\[MiB\/sec\] +BW average\[MiB\/sec\] +MsgRate\[Mpps\]$/m,
    )
    expect(table[0]).toMatch(/^ 2 +4 +\d+\.\d\d +\d+\.\d\d +\d+\.\d{6}$/)
    expect(server.stdout.split('\n').filter((line) => /^ \d/.test(line))).toEqual(table)
  })

  it('a duration ends it, and still gives percentiles', async () => {
    const { client, server } = await runEnds(['perf', 'send_lat'], [], ['-D', '0.3', '-f', '0.1'])
    expect([client.code, server.code]).toEqual([0, 0])
    expect(client.stdout).toMatch(
      /^ #bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] +t_avg\[usec\] +t_stdev\[usec\] +99% percentile\[usec\] +99\.9% percentile\[usec\] +tps average$/m,
    )
    expect(client.stdout).toMatch(/^ 2 +\d+( +\d+\.\d\d){8}$/m)
    const timed = await runEnds(['perf', 'send_bw', '--json'], [], ['-D', '0.3', '-b', '-s', '64'])
    const { runs } = document.parse(JSON.parse(timed.client.stdout))
    expect(runs[0]!.client.sent!.messages).toBeGreaterThan(0)
    expect(runs[0]!.server.sent!.messages).toBeGreaterThan(0)
  })

  it.each(['-H', '-U'])('%s shows every latency', async (flag) => {
    const { client, server } = await runEnds(['perf', 'send_lat'], [], ['-n', '12', '--warmup', '1', flag])
    const [, list = ''] = /^#, usec\n(.*?)\n\n 2 +12 /ms.exec(client.stdout) ?? []
    const values = list.split('\n').map((line) => line.split(', ').map(Number))
    expect(values.map(([number]) => number)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
    const latencies = values.map(([, usec]) => usec!)
    const least = /^ 2 +12 +([\d.]+)/m.exec(client.stdout)![1]
    expect(Math.min(...latencies).toFixed(2)).toBe(least)
    if (flag === '-H') expect(latencies).toEqual(latencies.toSorted((a, b) => a - b))
    expect(server.stdout).not.toContain('#, usec')
  })

  it('every latency is in the document, too', async () => {
    const { client } = await runEnds(['perf', 'read_lat', '--json'], [], ['-n', '12', '-U'])
    const [{ client: of }] = JSON.parse(client.stdout).runs
    expect([of.samples.length, Math.min(...of.samples)]).toEqual([12, of.latency.min])
  })

  it('--output shows one figure and nothing else, -N no peak', async () => {
    const { client, server } = await runEnds(['perf', 'send_lat', '--output', 'latency'], [], few.slice(0, 4))
    for (const { stdout } of [client, server]) expect(stdout).toMatch(/^\d+\.\d{6}\n$/)
    const more = ['-n', '50', '--warmup', '1', '-s', '1024']
    const { client: ours, server: theirs } = await runEnds(
      ['perf', 'write_bw'],
      ['-N'],
      [...more, '--output', 'message_rate'],
    )
    expect(ours.stdout).toMatch(/^\d+\.\d{6}\n$/)
    expect(theirs.stdout).toMatch(/^ 1024 +50 +0\.00 +[\d.]+ +[\d.]+$/m)
  })

  it.each([
    [['--rate_limit', '8', '-s', '100000', '-n', '5'], 10_000],
    [['--rate_limit', '8', '--rate_units', 'M', '-s', '1024', '-n', '5'], 8192],
    [['--rate_limit', '4000', '--rate_units', 'p', '-n', '5'], 4000],
  ])('%j is a rate in messages', async (args, rate) => {
    const { client } = await runEnds(['perf', 'write_bw', '--json'], [], [...args, '--retry_count', '3'])
    expect(JSON.parse(client.stdout).settings).toMatchObject({ rate, retryCount: 3 })
  })

  it('a limit that is not kept fails the end that has it', async () => {
    const { client, server } = await runEnds(
      ['perf', 'read_lat'],
      [],
      [...few, '--limit-latency', 'p99=0.000001,max=1e3'.replace('1e3', '100000000')],
    )
    expect(client.stderr).toMatch(
      /^verbena: limit: p99 with 2 bytes is [\d.]+ usec, above the limit of 0\.000001 usec\n$/,
    )
    expect([client.code, server.code]).toEqual([1, 0])
    expect(document.parse(JSON.parse(client.stdout)).brokenLimits).toHaveLength(1)
    const rate = await runEnds(['perf', 'write_bw'], ['-y', '1000000'], ['-n', '100'])
    expect(rate.server.stderr).toMatch(/limit: message rate with 65536 bytes is .* below the limit of 1000000 Mpps/)
    expect([rate.client.code, rate.server.code]).toEqual([0, 1])
  })

  it('ends that cannot reach each other say so at the start', async () => {
    const here = segment()
    const { client, server } = await runEnds(['perf', 'send_lat'], ['-d', here], ['-d', `${here}b`, ...few])
    expect([client.code, server.code]).toEqual([1, 2])
    const words = `this end is on ${here} and the other on ${here}b, which are different segments`
    expect(server.stderr).toContain(`verbena: -d: ${words}`)
    expect(client.stderr).toContain(words)
    expect(client.stdout + server.stdout).not.toContain('#bytes')
  })

  it('interrupted before anything was measured, there is no row', async () => {
    const common = ['-d', segment(), '-p', await freePort()]
    const server = outcome(start(['perf', 'send_lat', ...common]))
    const child = start(['perf', 'send_lat', ...common, '-D', '60', '-f', '20', '--wait', '60', 'localhost'])
    const client = outcome(child)
    child.stdout!.on('data', (chunk: Buffer) => {
      if (chunk.includes('t_min')) child.kill('SIGINT')
    })
    const [one, other] = await Promise.all([client, server])
    expect(one.code).toBe(130)
    expect(one.stderr).toContain('interrupted before anything was measured')
    for (const { stdout } of [one, other]) expect(stdout).not.toMatch(/^ 2 /m)
  })

  it('ends that disagree say so at both', async () => {
    const { client, server } = await runEnds(['perf', 'send_bw'], ['-s', '8', '--json'], ['-s', '64', '--json'])
    expect(server.stderr).toMatch(/the ends disagree: -s is 8 at the server and 64 at the client/)
    expect(client.stderr).toMatch(/the peer says: the ends disagree: -s is 8/)
    expect([client.code, server.code]).toEqual([1, 2])
    const other = [segment(), await freePort()]
    const listening = outcome(start(['perf', 'read_lat', '-d', other[0]!, '-p', other[1]!]))
    const asking = await verbena('perf', 'write_lat', '-d', other[0]!, '-p', other[1]!, '--wait', '60', 'localhost')
    expect(asking.stderr).toMatch(/the test is read_lat at the server and write_lat at the client/)
    expect((await listening).code).toBe(2)
  })

  it('a peer that vanishes ends the test', async () => {
    const common = ['-d', segment(), '-p', await freePort()]
    const server = start(['perf', 'send_lat', ...common])
    const client = outcome(start(['perf', 'send_lat', ...common, '-D', '60', '--json', '--wait', '60', 'localhost']))
    let shown = ''
    for await (const chunk of server.stdout!) {
      shown += String(chunk)
      if (shown.includes('t_min')) break
    }
    server.kill('SIGKILL')
    const { code, stderr } = await client
    expect(stderr).toMatch(/the peer is gone|retry counter exceeded/)
    expect(code).toBe(1)
  })

  it('Ctrl-C shows what was measured', async () => {
    const common = ['-d', segment(), '-p', await freePort()]
    const server = outcome(start(['perf', 'write_lat', ...common]))
    const client = start([
      'perf',
      'write_lat',
      ...common,
      '-n',
      '1000000000',
      '--warmup',
      '0',
      '--wait',
      '60',
      'localhost',
    ])
    const stopped = outcome(client)
    client.stdout!.on('data', (chunk: Buffer) => {
      if (chunk.includes('t_min')) setTimeout(() => client.kill('SIGINT'), 500)
    })
    const { code, stdout } = await stopped
    expect(code).toBe(130)
    expect(stdout).toMatch(/^ 2 +\d+ +\d+\.\d\d/m)
    expect((await server).stderr).toContain('interrupted')
  })
})

describe('a peer that is none', { timeout: 60_000 }, () => {
  it('is recognised by what it says', async () => {
    const server = createServer().listen(0)
    await once(server, 'listening')
    server.on('connection', (socket: Socket) => socket.end('220 mail.example ESMTP\r\n'))
    const { port } = server.address() as { port: number }
    const { code, stderr } = await verbena('perf', 'send_lat', '-p', String(port), 'localhost')
    server.close()
    expect(stderr).toMatch(/the peer sent "220 mail\.example ESMTP\.", which is not `verbena perf`/)
    expect(code).toBe(1)
  })
})

describe('what cannot be', { timeout: 60_000 }, () => {
  it.each([
    [['read_lat', '-c', 'UD'], /-c: UD has no READ/],
    [['write_bw', '-c', 'UD'], /-c: UD carries no RDMA WRITE/],
    [['write_lat', '-e'], /-e: write_lat looks for its messages in memory/],
    [['send_bw', '-l', '200'], /-l: a list of 200 does not fit a send queue of 128/],
    [['send_lat', '-z'], /-z: the ends always agree over TCP here/],
    [['send_lat', '-a', '-s', '8'], /-a: gives all sizes/],
    [['send_lat', '-n', '5', '-D', '1'], /-D: ends the test by time/],
    [['send_lat', '-f', '1'], /-f: is the margin of a test that time ends/],
    [['send_lat', '-D', '1', '-f', '0.5'], /-f: two margins of 0\.5 s leave nothing/],
    [['send_lat', '-m', '1000'], /-m: 1000 is no MTU/],
    [['send_lat', '--limit-latency', 'p98=1'], /--limit-latency: 'p98=1' is not valid/],
    [['send_lat', '-d', 'shm1'], /-d: shm1 lives within one process/],
    [['send_lat', '-x', '7'], /^verbena: -x: shm:verbena has one GID, 0 /],
    [['send_lat', '-D', '0'], /-D: '0' is not valid\. Expected a number from 0\.1 to 86400, for example: -D 0\.1$/m],
    [['send_lot'], /unknown command 'send_lot'/],
    [['send_lat', '-H', '-D', '1'], /^verbena: -H: every latency is kept with -n up to 16777216 only/],
    [
      ['send_lat', '--output', 'bandwidth'],
      /^verbena: --output: bandwidth is no figure of send_lat, which has latency/,
    ],
    [['send_bw', '--output', 'bandwidth', '--json'], /^verbena: --output: is for people and scripts without --json/],
    [
      ['send_bw', '--rate_limit', '1', '--rate_units', 'k'],
      /^verbena: --rate_units: 'k' is not valid\. Expected M, g or p/,
    ],
    [['send_bw', '--rate_limit', '1', '-a'], /^verbena: --rate_limit: is another number of messages for each size/],
    [['send_bw', '--rate_limit', '1', '--rate', '1'], /^verbena: --rate_limit: is --rate in another unit/],
    [['send_bw', '--retry_count', '8'], /^verbena: --retry_count: '8' is not valid/],
    [['send_bw', '--tclass', '4'], /^verbena: --tclass: packets are sent with traffic class 0/],
    [['send_bw', '--out_json_file', 'x'], /^verbena: --out_json_file: --json prints the document/],
    [['send_bw', '--bind_source_ip', 'eth0'], /^verbena: --bind_source_ip: 'eth0' is not valid/],
  ])('verbena perf %j exits with 2 and says why', async (args, message) => {
    const { code, stderr } = await verbena('perf', ...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })
})
