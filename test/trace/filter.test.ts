import { describe, expect, it } from 'vitest'
import { fileSource } from '../../src/files/index.ts'
import { FilterError, filterFields, parseFilter, type Row, showCapture } from '../../src/trace/index.ts'

const capture = (name: string) => fileSource(new URL(`../captures/${name}.pcap`, import.meta.url).pathname)

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
    ['time > 0.0124s and time < 20ms', [2, 3, 4, 5]],
    ['time > 0.0124 and time < 18.2e3us', [2, 3]],
    ['src == 10.77.0.0/24 and number < 4', [1, 2, 3]],
    ['dst == 10.77.0.2/31 and number < 3 or src == 10.77.0.2/32 and number < 4', [1, 2]],
    ['src != 10.77.0.0/31 and number < 3', [1, 2]],
    ['src == ::/0 or src == 10.77.1.0/24', []],
    ['number in {2, 5..7 0x9} and not src in {10.77.0.3}', [2, 5, 6]],
    ['cm in { req, REJ } or op in {"CM DREP"}', [1, 65]],
    ['va in {0x5637586868b0} and number < 12', [6]],
    ['retransmission == false and number < 3', [1, 2]],
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
      const { kind } = filterFields[field]!
      const value = ['1', '10.0.0.1', ...(/one of ([^,]+)/.exec(kind.wants)?.slice(1) ?? [])].find(
        (text) => kind.read(text) !== undefined,
      )
      await numbers('atomic_lat', `${field} == "${value}" or ${field} in { "${value}" } or ${field} != "${value}"`)
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
    ['time > 1min', 'a time such as 250us or 1.5ms (units ns, us, ms, s; without one: s) is wanted', 7],
    ['constructor', 'there is no field "constructor"', 0],
    ['ackreq == constructor', 'true or false is wanted', 10],
    ['psn == abc', 'psn is compared with "abc": a whole number such as 21 or 0x15, at most 16777215', 7],
    ['psn == 0x1000000', 'at most 16777215 is wanted', 7],
    ['payload > 1k', 'a whole number', 10],
    ['service == XX', 'one of RC, UC, RD, UD, CNP, XRC is wanted', 11],
    ['icrc == bogus', 'one of valid, invalid, unknown is wanted', 8],
    ['cm == REQQ', 'one of REQ, ', 6],
    ['op == "SEND Frist"', 'one of SEND First, SEND Middle', 6],
    ['op ~ sned', 'no op contains "sned": one of SEND First', 5],
    ['malformed ~ icrc', 'no malformed contains "icrc": one of ip-length', 12],
    ['ackreq == maybe', 'true or false is wanted', 10],
    ['src == 10.0.0.256', 'an address such as 10.0.0.7', 7],
    ['src == 10.0.0.0/33', 'or a network such as 10.0.0.0/24', 7],
    ['src < 10.0.0.1', 'src has no order', 4],
    ['psn ~ 12', 'psn is no text to look into with ~', 4],
    ['psn in 3', 'here a { is missing', 7],
    ['psn in { 3', 'here a } is missing', 10],
    ['psn in { }', 'the set is empty', 9],
    ['psn in {3..x}', 'psn is compared with "x"', 11],
    ['service in {RC..UD}', 'service has no order, and so no range', 12],
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
