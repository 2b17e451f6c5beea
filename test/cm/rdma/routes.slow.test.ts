/** Where packets go on a host with two networks: kernel TCP, connected to the same addresses by the same program, is the judge. */
import { expect, it } from 'vitest'
import { missing, onTwoNetworks } from './two-networks.ts'

interface Answers {
  tcp: string
  rdma: string
  cm: string | number
}

const addresses = [
  '10.1.0.2', // a network of its own
  '10.2.0.2',
  '10.3.0.5', // the default route
  '10.4.0.5', // a rule
  '10.5.0.5', // a preferred source
  '10.6.0.5', // unreachable
  'fd01::2',
  'fd02::2',
  'fd03::5', // a route
  'fd04::5',
  'fd07::5', // none
  'fe80::a1%a0', // zones
  'fe80::b1%b0',
  'fe80::b1%nope',
  '10.3.0.5<10.1.0.1', // a source that the program has chosen
  '10.3.0.5<10.2.0.1',
  'fd03::5<fd01::1',
  'fe80::b1%b0<fe80::b0%b0',
]

it.skipIf(missing !== '')(
  `sources are those of the host's routes, rules and zones${missing && ` (skipped: ${missing})`}`,
  () => {
    const answers = onTwoNetworks('routes.there.mjs', 'routes.here.mjs', { ADDRESSES: addresses.join(' ') })
    const all = answers as Readonly<Record<string, Answers>>
    expect(Object.keys(all)).toEqual(addresses)
    // That the judge was asked what it was to be asked.
    expect(all['10.4.0.5']!.tcp).toBe('10.1.0.1 seen as 10.1.0.1 at 10.4.0.5')
    expect(all['10.5.0.5']!.tcp).toBe('10.9.9.9 seen as 10.9.9.9 at 10.5.0.5')
    expect(all['10.6.0.5']!.tcp).toBe('EHOSTUNREACH')
    expect(all['fd07::5']!.tcp).toBe('ENETUNREACH')
    expect(all['fe80::b1%b0']!.tcp).toBe('fe80::b0%b0 seen as fe80::b0%b1 at fe80::b1%b1')
    for (const [address, { tcp, rdma, cm }] of Object.entries(all)) {
      expect([address, rdma]).toEqual([address, tcp])
      const status = { ENETUNREACH: -101, EHOSTUNREACH: -113, EINVAL: 'EINVAL' }[tcp]
      expect([address, cm]).toEqual([address, status ?? tcp.split(' ')[0]])
    }
  },
  120_000,
)
