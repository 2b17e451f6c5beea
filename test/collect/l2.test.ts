/** What carries RoCE, and what it means. */
import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { parseDcb } from '../../src/collect/dcb.ts'
import { portFindings } from '../../src/collect/findings.ts'
import { type L2Reading, pathMtuOf, readL2 } from '../../src/collect/index.ts'
import type { Device } from '../../src/collect/infiniband.ts'
import type { Interface } from '../../src/collect/interfaces.ts'
import { everything, writeTree } from './trees.ts'

const root = writeTree({
  ...everything,
  ...{ 'class/net/ens1f0.100/type': '1', 'class/net/ens1f0.100/mtu': '9000', 'class/net/wlan0/type': '801' },
  ...{
    'class/infiniband/rxe0/ports/1/gids/5': 'what',
    'class/net/tiny/type': '1',
    'class/net/tiny/mtu': '300',
    'class/net/odd/type': 'x',
  },
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

function textsOf({ findings }: L2Reading, name: string): string[] {
  return findings.filter(({ of }) => of === name).map(({ text }) => text)
}

it('path MTUs as the kernel reckons', () => {
  expect([1500, 4191, 4192, 9000, 2144, 352, 351].map(pathMtuOf)).toEqual([
    1024,
    2048,
    4096,
    4096,
    2048,
    256,
    undefined,
  ])
})

describe('a recorded tree', () => {
  const reading = readL2({ root })

  it('ports, interfaces, GIDs', () => {
    expect(reading.ports.find(({ device, port }) => device === 'mlx5_0' && port === 1)).toMatchObject({
      netdev: 'ens1f0',
      defaultMode: 'IB/RoCE v1',
      defaultTos: 106,
    })
    expect(reading.interfaces.map(({ name, pathMtu, rdma }) => [name, pathMtu, rdma])).toEqual([
      ['ens1f0', 1024, ['mlx5_0/1']],
      ['ens1f0.100', 4096, []],
      ['eth0', 4096, ['rxe0/1']],
      ['tiny', undefined, []],
    ])
    expect(reading.ports.find(({ device }) => device === 'rxe0')?.gids).toHaveLength(4)
    expect(reading.problems).toEqual([
      { path: 'sys/class/infiniband/rxe0/ports/1/gids/5', what: 'is no GID' },
      { path: 'sys/class/net/odd/type', what: "is no number from 0 to 65535: 'x'" },
    ])
  })

  it('findings in words', () => {
    expect(textsOf(reading, 'ens1f0')).toEqual([
      'MTU 1500 gives path MTU 1024: path MTU 4096 needs MTU 4192 or more, here and at all switches',
      'DCQCN is on for priority 3',
    ])
    expect(textsOf(reading, 'mlx5_0/1')).toEqual([
      'the RDMA CM uses IB/RoCE v1 by default, which no router forwards (default_roce_mode in configfs)',
      'ens1f0 trusts the VLAN tag, and untagged packets have none: they are of priority 0, whatever their DSCP',
    ])
    expect(textsOf(reading, 'mlx5_0/2')).toEqual([
      'the port is DOWN: it carries nothing',
      'it has no GID: give its interface an address',
    ])
    expect(textsOf(reading, 'mlx4_0/1')).toEqual(['its link layer is InfiniBand: it carries no RoCE'])
    expect(textsOf(reading, 'tiny')).toEqual(['MTU 300 is too small for RoCE: the least path MTU, 256, needs 352'])
    expect(reading.unread).toContain('PFC, ETS and DSCP map of ens1f0: a recorded tree does not have it')
  })

  it('one device, or one interface', () => {
    const one = readL2({ root, names: ['rxe0'] })
    expect([one.ports.length, one.interfaces.map(({ name }) => name)]).toEqual([1, ['eth0']])
    expect(readL2({ root, names: ['eth0'] }).ports.map(({ device }) => device)).toEqual(['rxe0'])
  })
})

/** struct nlattr around bytes. */
function attribute(type: number, value: readonly number[]): number[] {
  const length = 4 + value.length
  const padding = new Array<number>((4 - (length & 3)) & 3).fill(0)
  return [length & 255, length >> 8, type & 255, type >> 8, ...value, ...padding]
}

describe('what the kernel says by dcbnl', () => {
  const zeros = (count: number): number[] => new Array<number>(count).fill(0)
  // willing, ets_cap, cbs, bandwidths, rx bandwidths, algorithms, priority to class, recommendations.
  const ets = [
    0,
    8,
    0,
    50,
    0,
    0,
    50,
    ...zeros(4),
    ...zeros(8),
    2,
    0,
    0,
    2,
    ...zeros(4),
    0,
    0,
    0,
    3,
    ...zeros(4),
    ...zeros(24),
  ]
  const pfc = [8, 0b0000_1000, ...zeros(134)]
  const apps = [...attribute(1, [5, 3, 26, 0]), ...attribute(1, [5, 6, 48, 0]), ...attribute(1, [1, 3, 0x15, 0x89])]
  const trust = [...attribute(1, [5]), ...attribute(1, [255])]
  const inner = [...attribute(1, ets), ...attribute(2, pfc), ...attribute(3, apps), ...attribute(11, trust)]
  const answer = Uint8Array.from([0, 21, 0, 0, ...attribute(1, [0x65, 0]), ...attribute(13 | 0x8000, inner)])

  it('PFC, traffic classes, DSCP map, trust', () => {
    expect(parseDcb(answer)).toEqual({
      pfc: [false, false, false, true, false, false, false, false],
      ets: {
        bandwidth: [50, 0, 0, 50, 0, 0, 0, 0],
        algorithm: ['ets', 'strict', 'strict', 'ets', 'strict', 'strict', 'strict', 'strict'],
        classOf: [0, 0, 0, 3, 0, 0, 0, 0],
      },
      dscp: new Map([
        [26, 3],
        [48, 6],
      ]),
      trust: ['dscp', 'pcp'],
    })
  })

  it('any beginning of it, and any byte changed, gives something or nothing', () => {
    for (let end = 0; end < answer.length; end++) expect(() => parseDcb(answer.slice(0, end))).not.toThrow()
    for (let at = 0; at < answer.length; at++) expect(() => parseDcb(answer.with(at, 255))).not.toThrow()
    expect(parseDcb(answer.slice(0, 8))).toBeUndefined()
  })

  it('means something for RoCE', () => {
    const device = { name: 'mlx5_0' } as Device
    const port = { port: 1, linkLayer: 'Ethernet', gids: [{ index: 0, gid: '2001::1', type: 'RoCE v2' }] }
    const on = (dcb: Interface['dcb'], tos: number | undefined): string[] =>
      portFindings(device, port as unknown as Device['ports'][number], { name: 'ens1', dcb } as Interface, {
        mode: undefined,
        tos,
      }).map(({ text }) => text)
    const dcb = parseDcb(answer)!
    expect(on(dcb, 26 << 2)).toEqual(['PFC is on for priority 3'])
    expect(on(dcb, 48 << 2)).toContain(
      'connections of the RDMA CM have DSCP 48, which is of priority 6: PFC is off for it',
    )
    expect(on({ ...dcb, pfc: zeros(8).map(() => false) }, undefined)).toEqual([
      'PFC is off for all priorities: RoCE may be lost where the network is congested',
    ])
    expect(on({ ...dcb, pfc: zeros(8).map(() => true) }, undefined)).toEqual([
      'PFC is on for all priorities: TCP pauses RoCE and the other way round',
    ])
  })
})
