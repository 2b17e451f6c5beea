import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { CSV_HEADER, NSEC_PER_SEC, ReportError, readTimestamps, writeTimestamps } from '../../src/report/index.ts'
import { holds } from '../property.ts'
import { temporaryDirectory } from './synthetic.ts'

const directory = temporaryDirectory()
const path = join(directory.path, '000.csv')
afterAll(() => directory.remove())

function failure(action: () => unknown): ReportError {
  try {
    action()
  } catch (error) {
    if (error instanceof ReportError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('raw timestamps', () => {
  it('writes an empty field for a missing timestamp', () => {
    writeTimestamps(path, { tSubm: [999999999, 7], tRecv: [1000000000, Number.NaN], tComp: [12, Number.NaN] })
    expect(readFileSync(path, 'utf8')).toBe(`${CSV_HEADER}\n0,999999999,1000000000,12\n1,7,,\n`)
  })

  it('reads lines that end as those of a spreadsheet', () => {
    writeFileSync(path, `${CSV_HEADER}\r\n1,2,3,4\r\n2,3,,\r\n`)
    expect([...readTimestamps(path).tRecv]).toEqual([3, Number.NaN])
  })

  it('reads what it wrote', () => {
    const most = Number.MAX_SAFE_INTEGER
    const nsec = fc.oneof(fc.constant(Number.NaN), fc.integer({ min: 0, max: NSEC_PER_SEC - 1 }))
    const later = fc.oneof(nsec, fc.integer({ min: NSEC_PER_SEC, max: most }))
    const row = fc.tuple(fc.integer({ min: 0, max: most }), nsec, later, later)
    holds(
      fc.property(fc.array(row), (rows) => {
        const column = (i: number) => Float64Array.from(rows, (values) => values[i]!)
        const columns = { number: column(0), tSubm: column(1), tRecv: column(2), tComp: column(3) }
        writeTimestamps(path, columns)
        expect(readTimestamps(path)).toEqual(columns)
      }),
      50,
    )
  })

  it('reads a file that is larger than its buffers', () => {
    const rows = 150_000
    const tSubm = Float64Array.from({ length: rows }, (_, i) => (i * 7919) % NSEC_PER_SEC)
    writeTimestamps(path, { tSubm, tRecv: tSubm, tComp: tSubm })
    const read = readTimestamps(path)
    expect(read.tComp).toEqual(tSubm)
    expect(read.number[rows - 1]).toBe(rows - 1)
  })

  it.each([
    ['nothing at all', '', 1, 'before the header'],
    ['another header', 'number,t_send,t_recv,t_comp\n', 1, 'the header is not'],
    [
      'a carriage return in a line',
      `${CSV_HEADER}\r\n1,2\r,3,4\r\n`,
      2,
      'a carriage return in the middle of this line',
    ],
    ['a field too few', `${CSV_HEADER}\n0,1,2,3\n1,2,3\n`, 3, '3 fields, where 4'],
    ['a field too many', `${CSV_HEADER}\n0,1,2,3,4\n`, 2, 'more than 4 fields'],
    ['a letter', `${CSV_HEADER}\n0,1,x2,3\n`, 2, '"x" in t_recv'],
    ['a negative number', `${CSV_HEADER}\n0,1,2,-3\n`, 2, '"-" in t_comp'],
    ['a nul byte', `${CSV_HEADER}\n0,\u0000,2,3\n`, 2, 'byte 0x00 in t_subm'],
    ['a whole second', `${CSV_HEADER}\n0,1000000000,2,3\n`, 2, 't_subm is above 999999999'],
    ['a time without end', `${CSV_HEADER}\n0,1,9007199254740992,3\n`, 2, 't_recv is above 2^53'],
    ['an empty line', `${CSV_HEADER}\n0,1,2,3\n\n`, 3, '1 fields'],
    ['no message number', `${CSV_HEADER}\n,1,2,3\n`, 2, 'no message number'],
    ['an end inside a line', `${CSV_HEADER}\n0,1,2,3\n1,2,34`, 3, 'cut off'],
  ])('refuses %s and names the line', (_what, text, line, reason) => {
    writeFileSync(path, text)
    const error = failure(() => readTimestamps(path))
    expect(error.code).toBe('ERR_REPORT_CSV')
    expect(error.message).toContain(`${path}:${line}:`)
    expect(error.message).toContain(reason)
  })

  it('never reads a damaged file as something else than numbers in range', () => {
    writeTimestamps(path, { tSubm: [1, 999999999, 3], tRecv: [4, Number.NaN, 6], tComp: [7, 8, 9] })
    const good = readFileSync(path)
    holds(
      fc.property(fc.nat(good.length - 1), fc.nat(255), fc.boolean(), (at, byte, cut) => {
        const bad = cut ? good.subarray(0, at) : Uint8Array.from(good, (old, i) => (i === at ? byte : old))
        writeFileSync(path, bad)
        try {
          const { tSubm, tRecv, tComp } = readTimestamps(path)
          for (const value of tSubm) expect(value >= 0 === value < NSEC_PER_SEC).toBe(true)
          for (const value of [...tRecv, ...tComp]) expect(value >= 0 === Number.isSafeInteger(value)).toBe(true)
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_REPORT_CSV' })
        }
      }),
      200,
    )
  })

  it('says which file is missing', () => {
    const error = failure(() => readTimestamps(join(directory.path, '404.csv')))
    expect(error.code).toBe('ERR_REPORT_NO_RESULTS')
    expect(error.message).toContain('404.csv')
  })

  it('refuses to write what it could not read', () => {
    expect(failure(() => writeTimestamps(path, { tSubm: [1], tRecv: [], tComp: [1] })).code).toBe('ERR_REPORT_OPTION')
    expect(failure(() => writeTimestamps(path, { tSubm: [1.5], tRecv: [1], tComp: [1] })).message).toContain(
      't_subm of row 0',
    )
    expect(failure(() => writeTimestamps(path, { tSubm: [NSEC_PER_SEC], tRecv: [1], tComp: [1] })).message).toContain(
      't_subm',
    )
  })
})
