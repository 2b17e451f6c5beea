import { afterAll, describe, expect, it } from 'vitest'
import { compare, compareToGoal } from '../../bench/comparison.ts'
import { Ours } from '../../bench/ours.ts'
import { SocketComparisons, socketJobs, wireSocketJobs } from '../../bench/socket-jobs.ts'
import { parseIperf, parseSockperf } from '../../bench/tcp.ts'
import { parseUcx } from '../../bench/ucx.ts'
import { loopbackDevice } from '../loopback.ts'

const header = `
+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |        latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|     Test     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
`

describe('the output of ucx_perftest', () => {
  it('gives median, overall average and bandwidth', () => {
    const text = `${header}                     1000000      0.110     0.155     0.112       49.14      68.12     6440000     8928571\n`
    expect(parseUcx(text)).toEqual({ averageNs: 112, medianNs: 110, bytesPerSecond: 68.12 * 2 ** 20 })
  })

  it('is refused when it has no such line', () => {
    expect(() => parseUcx(`${header}[error] no memory`)).toThrow(/not understood/)
  })
})

describe('the reports of iperf3 and sockperf', () => {
  it('give bytes per second', () => {
    const report = { end: { sum_sent: { bits_per_second: 9.9e9 }, sum_received: { bits_per_second: 8e9 } } }
    expect(parseIperf(JSON.stringify(report))).toBe(1e9)
    expect(parseIperf('{"error":"unable to connect to server"}')).toBeUndefined()
  })

  it('give mean and median of half a round trip', () => {
    const text = [
      'sockperf: Summary: Latency is 41.931 usec',
      'sockperf: ---> percentile 75.000 =   43.274',
      'sockperf: ---> percentile 50.000 =   40.865',
    ]
    expect(parseSockperf(text.join('\n'))).toEqual({ averageNs: 41_931, medianNs: 40_865 })
    expect(parseSockperf('sockperf: ERROR: connection refused')).toBeUndefined()
  })
})

describe('a row of the comparison', () => {
  it('has the medians, and a ratio below 1 where Verbena is ahead', () => {
    expect(compare('latency', [3, 1, 2], 'other', [4, 4, 8], 'ns', 'less is better')).toMatchObject({
      ours: 2,
      theirs: 4,
      ratio: 0.5,
    })
    expect(compare('rate', [10], 'other', [2, 4], 'MB/s', 'more is better')).toMatchObject({ theirs: 2, ratio: 0.2 })
    expect(compare('CPU', [0.2], 'other', [0], '%', 'less is better')).toMatchObject({ theirs: 0, ratio: null })
    expect(compare('rate', [10], null, [], 'MB/s', 'more is better')).toMatchObject({ theirs: null, ratio: null })
  })

  it('says whether it reaches its target', () => {
    const row = compare('latency', [3], 'other', [4], 'ns', 'less is better', 0.75)
    expect(row).toMatchObject({ ratio: 0.75, target: 0.75, met: true })
    expect(compare('latency', [4], 'other', [4], 'ns', 'less is better', 0.75)).toMatchObject({ met: false })
    expect(compare('rate', [0], 'other', [4], '/s', 'more is better', 1)).toMatchObject({ ratio: null, met: false })
    expect(compare('latency', [3], 'other', [4], 'ns', 'less is better')).not.toHaveProperty('met')
    const rate = compareToGoal('rate', [4e6, 5e6, 6e6], 10e6, 'messages/s', 'more is better')
    expect(rate).toMatchObject({ peer: 'the target', theirs: 10e6, ratio: 2, target: 1, met: false })
  })
})

describe('two threads', () => {
  const ours = new Ours()
  afterAll(() => ours.end())

  it('measure what a line takes, a message and a stream of messages', async () => {
    expect(await ours.line(1000)).toBeGreaterThan(0)
    expect((await ours.pingPong(8, 1000)).averageNs).toBeGreaterThan(0)
    expect((await ours.stream(8, 1000)).bytesPerSecond).toBeGreaterThan(0)
  })
})

describe('rsockets beside TCP', () => {
  const ends = new SocketComparisons([loopbackDevice(3), loopbackDevice(4)], { seconds: 0.02, warmup: 0.01 })
  afterAll(() => ends.end())

  it.each([...socketJobs, ...wireSocketJobs].map((job) => [job.name, job] as const))('%s', async (name, job) => {
    const rows = await job.run(ends, 1)
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) {
      expect(row.name).toMatch(name.includes('wire') ? /rsocket on roce/ : /rsocket on shm/)
      expect(row.unit).toBe(name.endsWith('rr') ? 'ns' : 'MB/s')
      expect(row.ours).toBeGreaterThan(0)
      expect(row.theirs).toBeGreaterThan(0)
    }
    expect(rows[0]?.peer).toBe('kernel TCP, the same loop')
  })
})
