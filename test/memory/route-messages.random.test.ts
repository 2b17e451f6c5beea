/** Messages of route netlink: what a kernel writes is read, and nothing that it might write makes the decoder throw. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  netlinkMessages,
  parseError,
  parseIfAddress,
  parseLink,
  parseRoute,
  routeRequest,
} from '../../src/memory/native/route-messages.ts'
import { holds } from '../property.ts'

const bytes = (n: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: n, maxLength: n })
const ip = fc.oneof(bytes(4), bytes(16))
const u32 = (value: number): number[] => [value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24]

function attribute(type: number, value: ArrayLike<number>): number[] {
  const padding = new Array<number>(-value.length & 3).fill(0xee)
  return [value.length + 4, 0, type, 0, ...Array.from(value), ...padding]
}

function message(type: number, payload: readonly number[]): number[] {
  return [
    ...u32(16 + payload.length),
    type,
    0,
    0,
    0,
    ...u32(1),
    ...u32(0),
    ...payload,
    ...new Array<number>(-payload.length & 3).fill(0),
  ]
}

const family = (address: Uint8Array): number => (address.length === 4 ? 2 : 10)

it('a request is a route message of its own kind, with what is asked', () => {
  holds(
    fc.property(ip, fc.boolean(), fc.nat(0x7fffffff), (to, withSource, ifindex) => {
      const request = routeRequest(to, withSource ? to : null, ifindex)
      expect([request[0], request[1], request[2]]).toEqual([family(to), to.length * 8, withSource ? to.length * 8 : 0])
      expect(parseRoute(request)).toEqual({ kind: 'none', source: null, ifindex, gateway: null })
    }),
  )
})

it('routes, links and addresses are read, whatever stands beside them', () => {
  const others = fc.array(fc.tuple(fc.integer({ min: 100, max: 200 }), fc.uint8Array({ maxLength: 20 })), {
    maxLength: 3,
  })
  holds(
    fc.property(
      ip,
      fc.integer({ min: 1, max: 0x7fffffff }),
      fc.nat(0xffff),
      others,
      (address, ifindex, mtuBytes, more) => {
        const noise = more.flatMap(([type, value]) => attribute(type, value))
        const route = [
          family(address),
          0,
          0,
          0,
          0,
          0,
          0,
          1,
          ...u32(0),
          ...noise,
          ...attribute(4, u32(ifindex)),
          ...attribute(7, address),
        ]
        const name = [...Buffer.from('eth0'), 0]
        const link = [
          0,
          0,
          1,
          0,
          ...u32(ifindex),
          ...u32(0x10043),
          ...u32(0),
          ...attribute(3, name),
          ...noise,
          ...attribute(4, u32(mtuBytes)),
        ]
        const own = [
          family(address),
          24,
          0x40,
          0,
          ...u32(ifindex),
          ...noise,
          ...attribute(2, address),
          ...attribute(1, address),
        ]
        const all = Uint8Array.from([
          ...message(24, route),
          ...message(16, link),
          ...message(20, own),
          ...message(3, u32(0)),
        ])
        const found = netlinkMessages(all)
        expect(found.map(({ type }) => type)).toEqual([24, 16, 20, 3])
        expect(parseRoute(all, found[0]!.start, found[0]!.end)).toEqual({
          kind: 'unicast',
          source: address,
          ifindex,
          gateway: null,
        })
        expect(parseLink(all, found[1]!.start, found[1]!.end)).toMatchObject({
          ifindex,
          name: 'eth0',
          mtuBytes,
          up: true,
          running: true,
        })
        const parsed = parseIfAddress(all, found[2]!.start, found[2]!.end)
        expect(parsed).toEqual({ ifindex, address, prefixBits: 24, state: 'tentative' })
      },
    ),
  )
})

it('damaged messages are skipped, and nothing throws', () => {
  const lookAt = (damaged: Uint8Array): void => {
    for (const { start, end } of [{ start: 0, end: damaged.length }, ...netlinkMessages(damaged)]) {
      expect(end).toBeLessThanOrEqual(damaged.length)
      for (const parse of [parseRoute, parseLink, parseIfAddress, parseError]) parse(damaged, start, end)
    }
  }
  holds(fc.property(fc.uint8Array({ maxLength: 200 }), lookAt), 300)
  const whole = Uint8Array.from([
    ...message(24, [
      2,
      32,
      0,
      0,
      0,
      0,
      0,
      2,
      ...u32(0),
      ...attribute(1, [10, 0, 0, 1]),
      ...attribute(4, u32(3)),
      ...attribute(7, [10, 0, 0, 2]),
    ]),
    ...message(2, u32(-101)),
  ])
  const [route, error] = netlinkMessages(whole)
  expect(parseRoute(whole, route!.start, route!.end)).toMatchObject({
    kind: 'local',
    source: Uint8Array.of(10, 0, 0, 2),
    ifindex: 3,
  })
  expect(parseError(whole, error!.start, error!.end)).toBe(101)
  holds(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, value, length) => {
      const damaged = whole.slice(0, length)
      if (at < length) damaged[at] = value
      lookAt(damaged)
    }),
    300,
  )
})
