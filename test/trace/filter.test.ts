import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesSource, PcapWriter } from '../../src/capture/index.ts'
import { fileSource } from '../../src/files/index.ts'
import { FilterError, fieldNamed, filterFields, parseFilter, type Row, showCapture } from '../../src/trace/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { memorySink } from '../capture/files.ts'
import { holds } from '../property.ts'
import { reth, roceFrame } from './packets.ts'

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
    ['payload == 16 and number < 5 or length == 0.0k', [4]],
    ['dmalen >= 0.0625k and dmalen <= 0.1kB and number < 10', [6]],
    ['reth.va == 0x5637586868b0 and number < 12 and headers.reth.rkey == 0x10c2', [6]],
    ['RETH.DMALENGTH in { 1..0x64 } and number < 10', [6]],
    ['aeth.msn == 1 and number < 8', [5, 7]],
    ['cm.localQpn == 0x1a', [1, 2]],
    ['cm.primary.localGid == ::ffff:10.77.0.3 or cm.primary.remoteGid ~ 0a4d00aa', [1]],
    ['cm.privateData ~ 0a:4d:00:03 and not cm.privateData ~ a4d0', [1]],
    ['covers.packets and covers.from == 5476080', [5]],
    ['covers.to != 5476080 and number < 6', []],
    ['operation == read_request and place == ONLY and number < 10', [6]],
    ['kind != RoCEv2 or fecn or becn or pad == 3', []],
    ['pkey == 0xffff and number < 3', [1, 2]],
    ['answer ~ ack and number < 6', [5]],
    ['number < 8 and request', [1, 2, 3, 4, 6]],
    ['number < 8 and response', [5, 7]],
  ])('%s', async (filter, expected) => {
    const found = await numbers('rping', filter)
    if (filter.startsWith('latency >')) expect(found).toContain(5)
    else expect(found).toEqual(expected)
  })

  it('a READ response without AETH is a response', async () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink)
    for (const opcode of [WireOpcode.RcReadRequest, WireOpcode.RcReadResponseMiddle]) {
      const extension = opcode === WireOpcode.RcReadRequest ? reth(0, 1, 4096) : new Uint8Array(0)
      const frame = roceFrame({ opcode, extension, payload: opcode === WireOpcode.RcReadRequest ? 0 : 1024 })
      writer.packet(frame, 0, frame.length, 1, 0)
    }
    writer.close()
    const found = async (filter: string): Promise<number[]> => {
      const rows: Row[] = []
      await showCapture(bytesSource(sink.bytes()), (row) => rows.push(row), { filter: parseFilter(filter) })
      return rows.map(({ number }) => number)
    }
    expect(await found('request')).toEqual([1])
    expect(await found('response')).toEqual([2])
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

  it('the time of the day, as a date and as a number', async () => {
    const rows: Row[] = []
    await showCapture(capture('rping'), (row) => rows.push(row), { limit: 3 })
    const { seconds, nanoseconds } = rows[1]!.epoch!
    const digits = String(nanoseconds).padStart(9, '0')
    const second = `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${digits}`
    const local = new Date(seconds * 1000 - new Date(seconds * 1000).getTimezoneOffset() * 60_000).toISOString()
    for (const same of [`${second}Z`, `${second}+00:00`, `${seconds}.${digits}`, `${local.slice(0, 19)}.${digits}`])
      expect(await numbers('rping', `epoch == "${same}"`), same).toEqual([2])
    expect(await numbers('rping', `epoch < ${second}Z`)).toEqual([1])
    expect(await numbers('rping', `epoch in { 2000-01-01..${second}Z }`)).toEqual([1, 2])
    expect(await numbers('rping', `epoch < 2000-01-01`)).toEqual([])
  })

  it('every value in the JSON can be asked for by its name there', async () => {
    const missing = new Set<string>()
    const look = (value: unknown, path: string, row: Row): void => {
      if (
        typeof value === 'object' &&
        value !== null &&
        !(value instanceof Uint8Array) &&
        path !== 'epoch' &&
        !Array.isArray(value)
      ) {
        for (const [key, inner] of Object.entries(value)) look(inner, path === '' ? key : `${path}.${key}`, row)
        return
      }
      const field = fieldNamed(path)
      if (field === undefined) missing.add(path)
      else if (!(field.get(row) === value || (field.get(row) as unknown[]).includes(value))) {
        // `op` and `operation` are two fields; all others are the value itself.
        missing.add(`${path} is another one`)
      }
    }
    let looked = 0
    for (const name of readdirSync(new URL('../captures/', import.meta.url))) {
      if (!name.endsWith('.pcap')) continue
      const each = (row: Row): void => {
        looked++
        look(row, '', row)
      }
      await showCapture(capture(name.slice(0, -5)), each, { limit: 100 })
    }
    expect([...missing]).toEqual([])
    expect(looked).toBeGreaterThan(500)
  })

  it('no expression does anything but filter or fail with a place', async () => {
    const rows: Row[] = []
    await showCapture(capture('rping'), (row) => rows.push(row), { limit: 8 })
    const values = [
      '1',
      '0x15',
      '1ms',
      '4k',
      '10.0.0.0/8',
      'fe80::1',
      'RC',
      'REQ',
      '2026-11-21',
      '5f00',
      'valid',
      'other',
    ]
    const word = fc.oneof(
      fc.constantFrom(...Object.keys(filterFields), 'reth.va', 'cm.primary.localGid', 'covers.to', 'cm.privateData'),
      fc.constantFrom('==', '!=', '<', '>=', '~', 'in', '{', '}', ',', '(', ')', 'and', 'or', 'not', '!', '..'),
      fc.constantFrom(...values, '1..3', '""', "'"),
      fc.string({ maxLength: 6 }),
    )
    // Whole expressions are rare among random words, so some are built of values that the field may have.
    const operators = fc.constantFrom('==', '!=', '<', '~')
    const comparison = fc
      .tuple(fc.constantFrom(...Object.keys(filterFields)), operators, fc.nat())
      .map(([name, is, n]) => {
        const possible = values.filter((text) => filterFields[name]!.kind.read(text) !== undefined)
        return `${name} ${is} ${possible[n % possible.length] ?? 'no'}`
      })
    const text = fc.oneof(
      fc.array(word, { maxLength: 12 }).map((words) => words.join(' ')),
      comparison,
    )
    let accepted = 0
    holds(
      fc.property(text, (expression) => {
        let filter: ReturnType<typeof parseFilter>
        try {
          filter = parseFilter(expression)
        } catch (error) {
          expect(error).toBeInstanceOf(FilterError)
          expect((error as Error).message).toMatch(/\^$/)
          return
        }
        accepted++
        for (const row of rows) expect(typeof filter(row)).toBe('boolean')
      }),
      1000,
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it.each([
    ['', 'the expression is empty', 0],
    ['psn == ', 'here a value is missing', 7],
    ['psn = 3', '"=" is not expected here', 4],
    ['(psn == 3', 'here a ) is missing', 9],
    ['nonsense', 'there is no field "nonsense"; the fields are number, time', 0],
    ['lenght > 3', "Did you mean 'length'?", 0],
    ['psn == 3 psn', '"psn" is not expected here', 9],
    ['not', 'here the expression ends too early', 3],
    ['time > 1min', 'a time such as 250us or 1.5ms (units ns, us, ms, s; without one: s) is wanted', 7],
    ['constructor', 'there is no field "constructor"', 0],
    ['ackreq == constructor', 'true or false is wanted', 10],
    ['psn == abc', 'psn is compared with "abc": a whole number such as 21 or 0x15, at most 16777215', 7],
    ['psn == 0x1000000', 'at most 16777215 is wanted', 7],
    ['payload > 1x', 'payload is compared with "1x": a number of bytes such as 4096, 0x1000, 4k', 10],
    ['payload > 1ms', 'a number of bytes', 10],
    ['payload == 1.5', 'a number of bytes', 11],
    ['latency > 1k', 'a time such as', 10],
    ['dmalen == 4g', 'at most 4294967295 is wanted', 10],
    ['epoch > yesterday', 'a date such as 2026-11-21', 8],
    ['epoch > 2026-13-40', 'a date such as 2026-11-21', 8],
    ['reth.va == x', 'reth.va is compared with "x": a whole number', 11],
    ['aeth.msn > 0x1000000', 'at most 16777215', 11],
    ['place == frist', 'one of first, ', 9],
    ['operation == WIRTE', 'one of SEND, ', 13],
    ['cm.privateData ~ 5f0', 'hexadecimal digits', 17],
    ['cm.primary.localGid == fe80::g', 'a GID such as fe80::1', 23],
    ['reth.constructor', 'there is no field "reth.constructor"', 0],
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
  ])('%s is an error with its place', (text, message, at) => {
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
