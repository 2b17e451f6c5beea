/** The eight tests between two processes: those, options, rates, durations and interruptions that programs.test.ts leaves. */
import { describe, expect, it } from 'vitest'
import { perfTests } from '../../../src/tools/perf/settings.ts'
import { canShare, freePort, runEnds, segment } from '../../cli/ends.ts'
import { outcome, start } from '../../cli/run.ts'
import { bothEndsKnow, document, few, measured } from './measured.ts'

describe.skipIf(!canShare)('two processes', { timeout: 120_000 }, () => {
  bothEndsKnow(perfTests.filter((test) => test !== 'send_lat' && test !== 'write_bw'))

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

  it('a duration ends it, and still gives percentiles', async () => {
    const { client, server } = await runEnds(['perf', 'send_lat'], [], ['-D', '0.3', '-f', '0.1'])
    expect([client.code, server.code]).toEqual([0, 0])
    expect(client.stdout).toMatch(
      /^ #bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] +t_avg\[usec\] +t_stdev\[usec\] +99% percentile\[usec\] +99\.9% percentile\[usec\] +tps average$/m,
    )
    expect(client.stdout).toMatch(/^ 2 +\d+( +\d+\.\d\d){8}$/m)
    const timed = await runEnds(['perf', 'send_bw', '--json'], [], ['-D', '1', '-b', '-s', '64'])
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
    // Both are rounded, to different places.
    const least = Number(/^ 2 +12 +([\d.]+)/m.exec(client.stdout)![1])
    expect(Math.abs(Math.min(...latencies) - least)).toBeLessThan(0.006)
    if (flag === '-H') expect(latencies).toEqual(latencies.toSorted((a, b) => a - b))
    expect(server.stdout).not.toContain('#, usec')
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
