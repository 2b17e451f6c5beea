/** The table of unmodified programs in docs/internals/interop.md is what the interoperation tests have written down (test/interop/ran.ts). */
import { describe, expect, it } from 'vitest'
import { pageNow, pageWith, type RanRow, ranOf, readRows, tableOf, updated } from '../interop/ran.ts'

it('the table is that of test/interop/ran.json, and every program of it has passed', () => {
  const rows = readRows()
  expect(pageNow()).toBe(pageWith(rows))
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter(({ result }) => result !== 'passed')).toEqual([])
})

describe('what a test has run', () => {
  const one = 'both below one run'
  it.each([
    ['run-programs.test.ts', 'ibv_rc_pingpong -e: data is right', ['ibv_rc_pingpong', 'ibverbs-utils', one, 'shm']],
    ['run-programs.test.ts', 'fifty programs at once', ['ibv_rc_pingpong', 'ibverbs-utils', one, 'shm']],
    ['run-programs.test.ts', 'four ranks of Open MPI over UCX', ['Open MPI', 'openmpi-bin', one, 'shm']],
    [
      'run-roce.test.ts',
      'ibv_uc_pingpong on two addresses: another run',
      ['ibv_uc_pingpong', 'ibverbs-utils', 'another run', 'roce'],
    ],
    ['run-rdma-cm.test.ts', 'rping, ours is the client', ['rping', 'rdmacm-utils', 'Verbena in Node.js', 'shm']],
    [
      'run-roce.test.ts',
      'unmodified programs against Soft-RoCE > ib_read_bw, under `verbena run` the client',
      ['ib_read_bw', 'perftest', 'Soft-RoCE', 'roce'],
    ],
  ])('is said by %s > %s', (file, name, [program, of, other, device]) =>
    expect(ranOf(file, name)).toEqual({ program, package: of, other, device }),
  )

  it('has the release of its libraries', () =>
    expect(ranOf('run-debian.test.ts', 'rdma-core 56 > ib_write_bw')).toMatchObject({ release: 'Debian 13' }))

  it('is nothing in other files', () => expect(ranOf('rsocket.test.ts', 'rstream')).toBeUndefined())
})

const row = (test: string, more: Partial<RanRow> = {}): RanRow => ({
  ...{ test: `a.test.ts > ${test}`, program: 'rping', package: 'rdmacm-utils', version: '44.0-2' },
  ...{ other: 'another run', device: 'shm', result: 'passed', date: '2026-11-01' },
  ...more,
})

it('a program has a line for each other end and adapter, with the last version and date', () => {
  const rows = [
    row('x', { result: 'failed' }),
    row('y', { version: '45', date: '2026-12-01' }),
    row('z', { device: 'roce' }),
  ]
  expect(tableOf(rows).split('\n').slice(2)).toEqual([
    '| `rping` | rdmacm-utils 44.0-2 | another run | `roce` | 1 of 1 | 2026-11-01 |',
    '| `rping` | rdmacm-utils 45 | another run | `shm` | 1 of 2 | 2026-12-01 |',
  ])
})

it('a run replaces rows of its files, but those of tests that it has skipped', () => {
  const other = { ...row('x'), test: 'b.test.ts > x' }
  const rows = updated([other, row('gone'), row('x'), row('y')], new Set(['a.test.ts']), new Set(['a.test.ts > y']), [
    row('x', { date: '2026-12-01' }),
  ])
  expect(rows).toEqual([row('x', { date: '2026-12-01' }), row('y'), other])
})
