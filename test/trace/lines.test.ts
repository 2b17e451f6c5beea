/** The lines of `show`: the time in every format and in a time zone that is not UTC; colours. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LinePrinter, type Row, type TimeFormat, timeFormatNamed, timeFormats, utcText } from '../../src/trace/index.ts'

const before = process.env.TZ
beforeAll(() => {
  process.env.TZ = 'Asia/Kathmandu'
})
afterAll(() => {
  if (before === undefined) delete process.env.TZ
  else process.env.TZ = before
})

// 2026-11-21T23:59:58.987654321Z and 1.5 s later; the first is the 20th packet of its capture.
const rows: Row[] = [
  { number: 20, time: 2.25, delta: 0.125, epoch: { seconds: 1_795_305_598, nanoseconds: 987_654_321 } },
  { number: 30, time: 3.75, delta: 0.5, epoch: { seconds: 1_795_305_600, nanoseconds: 487_654_321 } },
].map((row) => ({ ...row, length: 60, kind: 'other' }))

function timesOf(format: TimeFormat): string[] {
  const printer = new LinePrinter({ time: format })
  return rows.map((row) => printer.line(row).replace(/^ *\d+ +(.*?) {2}60 B, no RDMA$/, '$1'))
}

describe('times', () => {
  it.each([
    ['relative', ['2.250000', '3.750000']],
    ['delta', ['0.125000', '0.500000']],
    ['displayed', ['0.000000', '1.500000']],
    ['absolute', ['05:44:58.987654', '05:45:00.487654']],
    ['date', ['2026-11-22 05:44:58.987654', '2026-11-22 05:45:00.487654']],
    ['utc', ['23:59:58.987654', '00:00:00.487654']],
    ['utc-date', ['2026-11-21 23:59:58.987654', '2026-11-22 00:00:00.487654']],
    ['epoch', ['1795305598.987654', '1795305600.487654']],
  ] as [TimeFormat, string[]][])('%s', (format, expected) => {
    expect(timesOf(format)).toEqual(expected)
    expect(timeFormatNamed(timeFormats[format].letter)).toBe(format)
    expect(timeFormatNamed(format)).toBe(format)
  })

  it('a file without time stamps has none to show', () => {
    const { epoch: _, ...row } = rows[0]!
    expect(new LinePrinter({ time: 'utc' }).line(row)).toMatch(/ - {2}60 B/)
    expect(new LinePrinter({ time: 'relative' }).line(row)).toMatch(/ 2\.250000 {2}60 B/)
    expect(timeFormatNamed('x')).toBeUndefined()
  })
})

describe('times that no calendar has', () => {
  // A microsecond stamp of pcapng whose top bit was flipped.
  const epoch = { seconds: 9_223_373_832_160, nanoseconds: 987_654_321 }

  it.each(['absolute', 'date', 'utc', 'utc-date', 'epoch'] as const)('%s: in seconds', (time) => {
    const line = new LinePrinter({ time }).line({ ...rows[0]!, epoch })
    expect(line).toMatch(/ 9223373832160\.987654 {2}60 B/)
  })

  it('also near the ends of the calendar, where the time zone matters', () => {
    const last = { seconds: 8.64e12, nanoseconds: 0 }
    expect(utcText(last.seconds, 0)).toBe('+275760-09-13 00:00:00.000000000 UTC')
    const line = new LinePrinter({ time: 'date' }).line({ ...rows[0]!, epoch: last })
    expect(line).toMatch(/ 8640000000000\.000000 {2}60 B/)
    expect(utcText(-8.64e12 - 1, 5)).toBe('-8640000000001.000000005 s since 1970')
  })

  it('of a fraction of a second, three digits', () => {
    expect(utcText(1_795_305_598.987_654)).toBe('2026-11-21 23:59:58.987 UTC')
    // The nearest double is a little less.
    expect(utcText(1_700_000_000.123)).toBe('2023-11-14 22:13:20.123 UTC')
    expect(utcText(1_699_999_999.999_999_8)).toBe('2023-11-14 22:13:20.000 UTC')
    for (let ms = 0; ms < 1000; ms++)
      expect(utcText(1_700_000_000 + ms / 1000)).toContain(`:20.${String(ms).padStart(3, '0')} UTC`)
    expect(utcText(9_223_373_832_160.5)).toBe('9223373832160.500 s since 1970')
  })
})

describe('colours', () => {
  const marked = new LinePrinter({ paint: (part, text) => `<${part}>${text}</${part}>` })
  const rdma: Row = {
    ...rows[0]!,
    kind: 'RoCEv2',
    source: '10.0.0.1',
    destination: '10.0.0.2',
    service: 'RC',
    opcode: 4,
    operation: 'SEND',
    place: 'only',
    destQp: 5,
    psn: 6,
  }

  it.each([
    ['bad', { icrc: 'invalid', retransmission: true }],
    ['bad', { malformed: ['pad'] }],
    ['warning', { retransmission: true }],
    ['warning', { missing: 3 }],
    ['congestion', { marked: true }],
  ] as const)('%s: %j', (part, marks) => {
    const line = marked.line({ ...rdma, ...marks } as Row)
    expect(line).toMatch(new RegExp(`→0x5 +<${part}>RC SEND Only .*</${part}>$`))
  })

  it('a usual packet has none', () => {
    expect(marked.line(rdma)).not.toMatch(/[<>]/)
    expect(marked.line(rows[0]!)).toMatch(/^<dim>.*<\/dim>$/)
  })
})
