/** What becomes of a device when links and addresses of its host change. */
import { describe, expect, it } from 'vitest'
import type { HostAddress } from '../../../src/devices/roce/addresses.ts'
import { followed, type HostNow, served } from '../../../src/devices/roce/host-changes.ts'
import { localOfGroup } from '../../../src/devices/roce/open-sockets.ts'
import type { HostLink } from '../../../src/memory/index.ts'
import { PortState } from '../../../src/verbs/index.ts'
import { gidOfIp, parseIp } from '../../../src/wire/index.ts'
import { link } from '../../memory/links.ts'

const address = (text: string, { ifindex, name, mtuBytes, loopback } = a0): HostAddress => ({
  address: parseIp(text)!,
  text,
  interface: name,
  ifindex,
  scopeId: text.startsWith('fe80') ? ifindex : 0,
  loopback,
  mac: '',
  mtuBytes,
  roceMtu: 1024,
})
const a0 = link(2, 'a0')
const b0 = link(3, 'b0', { mtuBytes: 9000 })
const lo = link(1, 'lo', { mtuBytes: 65_536 })
const one = address('10.1.0.1')
const two = address('10.2.0.1', b0)
const entries = (...addresses: HostAddress[]) => addresses.map((each) => ({ address: each, valid: true }))
const now = (links: HostLink[], ...addresses: HostAddress[]): HostNow => ({ links, addresses })
const valid = (result: ReturnType<typeof followed>): boolean[] => result.entries.map((entry) => entry.valid)

describe('a device on one address', () => {
  const table = entries(one)
  it.each([
    ['as it was', now([a0], one), PortState.Active, 5, 1024, true],
    ['without a carrier', now([link(2, 'a0', { running: false })], one), PortState.Down, 2, 1024, true],
    ['switched off', now([link(2, 'a0', { up: false, running: false })]), PortState.Down, 3, 1024, false],
    ['without its interface', now([b0], two), PortState.Down, 3, 1024, false],
    ['with a larger MTU', now([link(2, 'a0', { mtuBytes: 4200 })], one), PortState.Active, 5, 4096, true],
    ['with a smaller MTU', now([link(2, 'a0', { mtuBytes: 600 })], one), PortState.Active, 5, 512, true],
    ['whose address is removed', now([a0], two), PortState.Active, 5, 1024, false],
    [
      'of which another interface has the address',
      now([a0, b0], address('10.1.0.1', b0)),
      PortState.Active,
      5,
      1024,
      true,
    ],
  ] as const)('%s', (_, host, state, phys, mtu, isThere) => {
    const result = followed(table, host, false)
    expect(result.port).toEqual({ state, physState: phys, activeMtu: mtu })
    expect([valid(result), result.gidsChanged, result.added]).toEqual([[isThere], !isThere, []])
  })

  it('gets no address that comes, and keeps those of loopback that nobody lists', () => {
    expect(followed(table, now([a0, b0], one, two), false).added).toEqual([])
    const loopback = entries(address('127.3.2.1', lo))
    expect(valid(followed(loopback, now([lo], address('127.0.0.1', lo)), false))).toEqual([true])
    expect(valid(followed(loopback, now([link(1, 'lo', { up: false })]), false))).toEqual([false])
  })
})

describe('a device on all addresses', () => {
  it('gets what comes behind what it has, keeps the indexes, and takes back what comes again', () => {
    const more = followed(entries(one), now([a0, b0, lo], two, one, address('127.0.0.1', lo)), true)
    expect(more.entries.map((entry) => entry.address.text)).toEqual(['10.1.0.1', '10.2.0.1'])
    expect([more.added, more.gidsChanged]).toEqual([[1], true])
    const less = followed(more.entries, now([a0, b0], two), true)
    expect([valid(less), less.added, less.gidsChanged]).toEqual([[false, true], [], true])
    expect(less.port.activeMtu).toBe(4096)
    const again = followed(less.entries, now([a0, b0], two, one), true)
    expect([valid(again), again.added, again.gidsChanged]).toEqual([[true, true], [], true])
  })

  it('has valid GIDs of the addresses that have sockets, as soon as they have', () => {
    const table = entries(one)
    const host = now([a0, b0], one, two)
    const more = followed(table, host, true)
    const without = served(table, more, host, (local) => local === 0)
    expect([valid(without), without.added, without.gidsChanged]).toEqual([[true, false], [1], false])
    const still = served(without.entries, followed(without.entries, host, true), host, (local) => local === 0)
    expect([valid(still), still.added, still.gidsChanged]).toEqual([[true, false], [], false])
    const again = served(without.entries, followed(without.entries, host, true), host, () => true)
    expect([valid(again), again.added, again.gidsChanged]).toEqual([[true, true], [], true])
    const lost = served(again.entries, followed(again.entries, host, true), host, (local) => local === 1)
    expect([valid(lost), lost.gidsChanged, lost.port.activeMtu]).toEqual([[false, true], true, 4096])
  })

  it('is active while one of its interfaces is', () => {
    const down = { up: false, running: false }
    const table = entries(one, two)
    expect(followed(table, now([link(2, 'a0', down), b0], two), true).port.state).toBe(PortState.Active)
    const none = followed(table, now([link(2, 'a0', down), link(3, 'b0', down)]), true)
    expect(none.port.state).toBe(PortState.Down)
  })
})

describe('the address that joins a group', () => {
  const gid = (text: string): Uint8Array => gidOfIp(parseIp(text)!)
  const addresses = [one, two, address('fd02::1', b0)]
  const route = (ifindex: number) => ({
    route: () => (ifindex === 0 ? 'ENETUNREACH' : { kind: 'multicast' as const, source: null, ifindex, gateway: null }),
    interfaceIndex: () => 0,
    interfaceName: () => undefined,
  })
  it('is of its family, where the routes lead', () => {
    expect(localOfGroup(addresses, gid('239.1.1.1'), route(3))).toBe(1)
    expect(localOfGroup(addresses, gid('239.1.1.1'), route(2))).toBe(0)
    expect(localOfGroup(addresses, gid('239.1.1.1'), route(0))).toBe(0)
    expect(localOfGroup(addresses, gid('ff05::5'), route(2))).toBe(2)
    // On IPv4 alone such a group has an address of IPv4.
    expect(localOfGroup([one], gid('ff05::5'), route(2))).toBe(0)
  })
})
