/** Routes without system calls: from the tables in /proc, as they stand there. */
import { describe, expect, it } from 'vitest'
import { hostNetwork, nativeAvailable } from '../../src/memory/index.ts'
import { type RouteTables, routeInTables } from '../../src/memory/route-tables.ts'
import { formatIp, parseIp } from '../../src/wire/index.ts'
import { link } from './links.ts'

const head = 'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n'
const own = (ifindex: number, text: string, prefixBits: number): RouteTables['addresses'][number] => ({
  ifindex,
  address: parseIp(text)!,
  prefixBits,
  state: 'usable',
})
const zeros = '0'.repeat(32)
const tables: RouteTables = {
  ipv4: `${head}b0 00000000 0200020A 0003 0 0 0 00000000 0 0 0
a0 0000010A 00000000 0001 0 0 0 00FFFFFF 0 0 0
b0 0000020A 00000000 0001 0 0 0 00FFFFFF 0 0 0
b0 0000040A 0200020A 0003 0 0 20 0000FFFF 0 0 0
a0 0000040A 0200010A 0003 0 0 10 0000FFFF 0 0 0
* 0000060A 00000000 0201 0 0 0 0000FFFF 0 0 0
`,
  ipv6: `fd030000000000000000000000000000 40 ${zeros} 00 fd020000000000000000000000000002 00000400 1 0 00000003 b0
fe800000000000000000000000000000 40 ${zeros} 00 ${zeros} 00000100 1 0 00000001 a0
fe800000000000000000000000000000 40 ${zeros} 00 ${zeros} 00000100 1 0 00000001 b0
${zeros} 00 ${zeros} 00 ${zeros} ffffffff 1 0 00200200 lo
`,
  links: [link(1, 'lo'), link(2, 'a0'), link(3, 'b0')],
  addresses: [
    own(1, '127.0.0.1', 8),
    own(2, '10.1.0.1', 24),
    own(3, '10.2.0.1', 24),
    own(2, 'fd01::1', 64),
    own(3, 'fd02::1', 64),
    own(2, 'fe80::a0', 64),
    own(3, 'fe80::b0', 64),
  ],
}

function ask(to: string, ifindex = 0, from: RouteTables = tables): string {
  const route = routeInTables(parseIp(to)!, { ifindex, source: null }, from)
  if (typeof route === 'string') return route
  const gateway = route.gateway === null ? '' : ` via ${formatIp(route.gateway)}`
  return `${route.kind} ${formatIp(route.source!)} on ${route.ifindex}${gateway}`
}

describe('routes from tables', () => {
  it.each([
    ['10.1.0.7', 'unicast 10.1.0.1 on 2'],
    ['10.3.0.5', 'unicast 10.2.0.1 on 3 via 10.2.0.2'],
    ['10.4.0.5', 'unicast 10.1.0.1 on 2 via 10.1.0.2'],
    ['10.2.0.1', 'local 10.2.0.1 on 1'],
    ['127.3.2.1', 'local 127.0.0.1 on 1'],
    ['239.1.1.1', 'multicast 10.2.0.1 on 3 via 10.2.0.2'],
    ['fd03::5', 'unicast fd02::1 on 3 via fd02::2'],
    ['fd09::5', 'ENETUNREACH'],
  ])('%s: %s', (to, route) => {
    expect(ask(to)).toBe(route)
  })

  it('an interface that is asked for', () => {
    expect(ask('fe80::7', 3)).toBe('unicast fe80::b0 on 3')
    expect(ask('10.1.0.7', 3)).toBe('unicast 10.2.0.1 on 3 via 10.2.0.2')
  })

  it('without tables: an address in the same network, or the first', () => {
    const none = { ...tables, ipv4: '', ipv6: '' }
    expect(ask('10.2.0.9', 0, none)).toBe('unicast 10.2.0.1 on 3')
    expect(ask('192.0.2.1', 0, none)).toBe('unicast 10.1.0.1 on 2')
    expect(ask('10.2.0.9', 0, { ...none, addresses: [] })).toBe('ENETUNREACH')
  })
})

it.skipIf(!nativeAvailable)('the kernel says the same of this host itself', () => {
  expect(hostNetwork.route(parseIp('127.3.2.1')!)).toMatchObject({ kind: 'local', source: Uint8Array.of(127, 0, 0, 1) })
  expect(hostNetwork.interfaceIndex('lo')).toBe(1)
  expect(hostNetwork.interfaceIndex('1')).toBe(1)
  expect(hostNetwork.interfaceName(1)).toBe('lo')
  expect(hostNetwork.interfaceIndex('no such one')).toBe(0)
})
