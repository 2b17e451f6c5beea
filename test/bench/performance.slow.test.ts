/** The tables of docs/performance.md and README.md, from a run of the comparisons. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Comparison, compare } from '../../bench/comparison.ts'
import {
  groupOf,
  heading,
  programs,
  programsSummary,
  type Run,
  replaced,
  summary,
  table,
} from '../../scripts/performance.ts'

const row = (
  name: string,
  ours: number,
  peer: string,
  theirs: number,
  unit = 'requests/s',
  target?: number,
): Comparison =>
  compare(name, [ours], peer, [theirs], unit, unit === 'ns' ? 'less is better' : 'more is better', target)
const latency = 'one-way latency, RC SEND, 8 bytes, median'
const run: Run = {
  date: '2026-11-28T12:00:00.000Z',
  machine: { cpu: 'AMD EPYC', cores: 2, os: 'linux 6.12 x64', load: 0.04 },
  versions: { node: '20.20.2', crc32: 'ISA-L' },
  comparisons: [
    row(latency, 90.5, 'UCX (posix shared memory)', 100, 'ns', 1),
    row(latency, 90.5, 'a cache line, one way', 62, 'ns', 1.25),
    row(`${latency}, roce`, 5128, 'UCX (tcp)', 4079, 'ns'),
    row('HTTP under verbena/preload, 1 connection, shm', 25_810, 'the same over TCP', 9576),
    row('HTTP under verbena/preload, 16 connections, shm', 52_260, 'the same over TCP', 49_950),
    row('HTTP under verbena/preload, 1 connection, roce', 6667, 'the same over TCP', 10_290),
    row('HTTP under verbena/preload, 50 connections, roce', 22_020, 'the same over TCP', 51_140, 'requests/s', 1),
    row('busy: HTTP, 16 connections, shm', 4328, 'TCP', 4830, 'requests/s', 0.8),
    row('busy: HTTP, 16 connections, roce, one adapter', 1470, 'TCP', 4830, 'requests/s', 1),
  ],
}

describe('tables from a run', () => {
  it('have a row for each comparison that belongs to them', () => {
    expect(table(run, ['busy'])).toBe(
      [
        '| | Verbena | peer | ratio | to reach |',
        '| --- | ---: | ---: | ---: | ---: |',
        '| busy: HTTP, 16 connections, shm | 4,328 requests/s | TCP: 4,830 requests/s | 1.116 | 0.8 |',
        '| busy: HTTP, 16 connections, roce, one adapter | 1,470 requests/s | TCP: 4,830 requests/s | 3.286 | 1 |',
      ].join('\n'),
    )
    expect(table(run, ['memory', 'network']).split('\n')).toHaveLength(5)
    expect(() => table(run, ['collectives'])).toThrow('nothing of: collectives')
  })

  it('are chosen by the name', () => {
    const group = (name: string) => groupOf({ name } as Comparison)
    expect(group('alone: CPU of an HTTP request, the floor, streams in memory')).toBe('cpu')
    expect(group('barrier, 4 processes on two cores, shm')).toBe('collectives')
    expect(group('barrier, 4 processes, shm')).toBeUndefined()
    expect(group('TCP_RR, 1 byte, rsocket on roce, a transaction')).toBe('sockets')
    expect(group('one core: HTTP, 1 connection, shm')).toBe('one core')
    expect(group('message rate, RC SEND, 8 bytes, 128 outstanding, shm')).toBe('memory')
    expect(group('message rate, RC SEND, 8 bytes, 128 outstanding, roce')).toBe('network')
  })

  it('say of which run they are, and how much is reached', () => {
    expect(heading(run)).toContain('28 November 2026')
    expect(heading(run)).toContain('1 of 5 rows')
  })

  it('leave nothing out of the summary', () => {
    expect(summary(run)).toContain(
      '| SEND of 8 bytes, half of a round trip | 91 ns | UCX: 100 ns | 5.1 µs | UCX over TCP: 4.1 µs |',
    )
    expect(summary(run)).toContain('| 4,328 | TCP: 4,830 | 1,470 | TCP: 4,830 |')
    const less = { ...run, comparisons: run.comparisons.slice(0, -1) }
    expect(() => summary(less)).toThrow('busy: HTTP, 16 connections, roce, one adapter')
  })

  it('of programs under run say of which run they are', () => {
    const others = [
      row('verbena run: ib_send_lat -e, 8 bytes, typical', 40, 'sockperf (TCP)', 30, 'µs', 2),
      row('verbena run: ib_write_bw, 64 KiB', 2000, 'iperf3 (TCP)', 1000, 'MB/s', 1),
      row('verbena run on roce: ib_write_bw, 64 KiB', 900, 'iperf3 (TCP)', 1000, 'MB/s', 0.5),
      row('verbena run: make of 50 files', 800, 'without run', 700, 'ms', 1.3),
      row('busy: verbena run: ib_send_bw, 8 bytes', 90_000, 'the goal', 200_000, 'messages/s', 1),
    ]
    const both = { ...run, comparisons: [...run.comparisons, ...others] }
    expect(programs(both)).toMatch(/^One run of 28 November 2026: [^|]* of 5 rows/)
    expect(programs(both).match(/^\| (busy: )?verbena run/gm)).toHaveLength(5)
    expect(table(both, ['busy'])).not.toContain('verbena run')
    expect(programsSummary(both)).toContain('| `ib_write_bw`, 64 KiB | 2,000 MB/s | iperf3 (TCP): 1,000 MB/s |')
    expect(() => programsSummary(run)).toThrow('verbena run: ib_send_lat -e')
  })

  it('take their place between the marks, and the pages have all of them', () => {
    expect(replaced('a\n<!-- figures: x -->\nold\n<!-- end of figures -->\nb', 'x', 'new')).toBe(
      'a\n<!-- figures: x -->\n\nnew\n\n<!-- end of figures -->\nb',
    )
    expect(() => replaced('a', 'x', 'new')).toThrow('figures: x')
    const page = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
    for (const name of ['run', 'alone', 'busy', 'programs']) replaced(page('docs/performance.md'), name, '')
    for (const name of ['summary', 'programs']) replaced(page('README.md'), name, '')
  })
})
