import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as wire from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { u64, uint } from './arbitraries.ts'

const integers = 'numbers of 16 to 64 bits lie in network order, as DataView has them'
test(integers, () => {
  const exact = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
  holds(
    fc.property(fc.tuple(uint(16), uint(24), uint(32), exact, u64, uint(3)), ([a, b, c, d, e, at]) => {
      const bytes = new Uint8Array(40)
      const view = new DataView(bytes.buffer)
      wire.put16(bytes, at, a)
      expect(view.getUint16(at)).toBe(a)
      expect(wire.u16(bytes, at)).toBe(a)
      wire.put24(bytes, at, b)
      expect(view.getUint32(at) >>> 8).toBe(b)
      expect(wire.u24(bytes, at)).toBe(b)
      wire.put32(bytes, at, c)
      expect(view.getUint32(at)).toBe(c)
      expect(wire.u32(bytes, at)).toBe(c)
      wire.put64(bytes, at, d)
      expect(view.getBigUint64(at)).toBe(BigInt(d))
      expect(wire.get64(bytes, at)).toBe(d)
      wire.put64Big(bytes, at, e)
      expect(view.getBigUint64(at)).toBe(e)
      expect(wire.get64Big(bytes, at)).toBe(e)
      expect(wire.get64(bytes, at)).toBe(Number(e))
      wire.put32le(bytes, at, c)
      expect(view.getUint32(at, true)).toBe(c)
      expect(wire.u32le(bytes, at)).toBe(c)
      expect(bytes.subarray(at + 8).every((byte) => byte === 0)).toBe(true)
    }),
    300,
  )
})

const addresses = 'an address as text and as a GID is the same address again'
// IBA A17.4.1.1
test(addresses, () => {
  const groups = fc.array(fc.constantFrom(0, 0, 0, 1, 0xab, 0xffff), { minLength: 8, maxLength: 8 })
  const v6 = groups.map((g) => Uint8Array.from({ length: 16 }, (_, i) => (i & 1 ? g[i >> 1]! : g[i >> 1]! >> 8)))
  const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 })
  holds(
    fc.property(fc.oneof(v4, v6), (address) => {
      const text = wire.formatIp(address)
      expect(wire.parseIp(text)).toEqual(address)
      const gid = wire.gidOfIp(address)
      const isV4 = address.length === 4 || wire.isIpv4Gid(address)
      expect(wire.ipOfGid(gid)).toEqual(isV4 ? address.slice(-4) : address)
      expect(wire.parseGid(wire.formatGid(gid))).toEqual(gid)
      expect(wire.parseGid(wire.formatGid(gid).replaceAll(':', ''))).toEqual(gid)
      // Node's own parser judges the text.
      if (address.length === 16 && !isV4) expect(new URL(`http://[${text}]/`).hostname).toBe(`[${text}]`)
    }),
    300,
  )
})

test.each([
  ['10.77.0.2', '10.77.0.2'],
  ['::', '::'],
  ['::1', '::1'],
  ['fe80::', 'fe80::'],
  ['FE80:0:0:0:202:c9ff:fe11:2233', 'fe80::202:c9ff:fe11:2233'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
  ['::ffff:10.0.0.7', '::ffff:10.0.0.7'],
  ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
])('%s is an address, written %s', (text, canonical) => {
  expect(wire.formatIp(wire.parseIp(text)!)).toBe(canonical)
})

test.each([
  '',
  '10.0.0',
  '10.0.0.256',
  '10.0.0.01',
  '10.0.0.1.2',
  ':',
  ':::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1::2::3',
  '1:2:3:4:5:6:7:8::',
  '12345::',
  'fe80::1%eth0',
  '1.2.3.4::',
  'g::',
  '::1.2.3',
])('%j is no address', (text) => {
  expect(wire.parseIp(text)).toBeUndefined()
  expect(wire.parseGid(text)).toBeUndefined()
})

test('an address of another length is refused', () => {
  expect(() => wire.gidOfIp(new Uint8Array(6))).toThrow(wire.WireError)
  expect(() => wire.formatIp(new Uint8Array(6))).toThrow(wire.WireError)
})

// IBA 9.7.5.2.8
test('RNR timers: the table of the standard, in milliseconds', () => {
  expect(Array.from(wire.rnrTimerNs, (ns) => ns / 1e6)).toEqual([
    655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12,
    7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
  ])
  for (let code = 0; code < 32; code++) expect(wire.rnrTimerCode(wire.rnrTimerNs[code]!)).toBe(code)
  expect(wire.rnrTimerCode(0)).toBe(1)
  expect(wire.rnrTimerCode(491_520_001)).toBe(0)
})

// IBA 9.7.7.2
test('credit codes: exact for what they stand for, never too many in between', () => {
  const credits = Array.from({ length: 31 }, (_, code) => wire.creditsOf(code))
  expect(credits.slice(0, 14)).toEqual([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96])
  expect(credits[30]).toBe(32768)
  expect(wire.creditsOf(31)).toBe(-1)
  for (const [code, count] of credits.entries()) expect(wire.creditCode(count)).toBe(code)
  for (let count = 0; count < 40000; count++) {
    const code = wire.creditCode(count)
    if (wire.creditsOf(code) > count || (code < 30 && wire.creditsOf(code + 1) <= count)) expect(code).toBe(count)
  }
})

test.each([
  [0x1f, 'ACK'],
  [0x05, 'ACK, 6 credits'],
  [0x27, 'RNR NAK, 0.12 ms'],
  [0x60, 'NAK, PSN sequence error'],
  [0x64, 'NAK, invalid RD request'],
  [0x7f, 'NAK, reserved reason 31'],
  [0x45, 'reserved syndrome 0x45'],
  [0xe0, 'reserved syndrome 0xe0'],
])('syndrome 0x%s', (syndrome, text) => {
  expect(wire.syndromeText(syndrome)).toBe(text)
})
