/** The eight tests between two processes: what they print, what both ends know, and what makes them fail. More in programs.slow.test.ts. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { canShare, freePort, runEnds, segment } from '../../cli/ends.ts'
import { outcome, start, verbena } from '../../cli/run.ts'
import { bothEndsKnow, document, few } from './measured.ts'

describe.skipIf(!canShare)('two processes', { timeout: 120_000 }, () => {
  bothEndsKnow(['send_lat', 'write_bw'])

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

  it('every latency is in the document, too', async () => {
    const { client } = await runEnds(['perf', 'read_lat', '--json'], [], ['-n', '12', '-U'])
    const [{ client: of }] = JSON.parse(client.stdout).runs
    expect([of.samples.length, Math.min(...of.samples)]).toEqual([12, of.latency.min])
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
    [['send_lat', '-m', '1000'], /-m: 1000 is not valid\. Expected 256, 512/],
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
