import { describe, expect, it } from 'vitest'
import { parseUcx } from '../../src/bench/compare/ucx.ts'

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
