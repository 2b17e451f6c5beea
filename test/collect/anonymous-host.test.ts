/** What a host tells of itself, without its addresses. */
import { expect, it } from 'vitest'
import { HostAnonymiser } from '../../src/collect/anonymous-host.ts'

const host = new HostAnonymiser(new Uint8Array(32).fill(7))

it('maps addresses of interfaces as those of packets are, with their prefixes', () => {
  const one = {
    ...{
      name: 'enx0c42a10a0b0c',
      mac: '0c:42:a1:0a:0b:0c',
      addresses: ['10.0.0.7/24', '10.0.0.9/24', 'fe80::7/64', 'rubbish'],
    },
    ...{
      mtu: 1500,
      state: 'up',
      speed: undefined,
      driver: undefined,
      vlan: undefined,
      master: undefined,
      dcb: undefined,
    },
    ...{ ofedTrust: undefined, ecn: undefined, unread: [], pathMtu: 1024, rdma: [] },
  }
  const rest = { ports: [], tcpEcn: 2, findings: [], unread: [], problems: [] }
  const [mapped] = host.l2({ ...rest, interfaces: [one] }).interfaces
  const [first, second, linkLocal] = mapped!.addresses
  expect(mapped!.addresses).toHaveLength(3)
  expect([first, second, linkLocal]).toEqual([
    expect.stringMatching(/^(?!10\.0\.0\.7)[\d.]+\/24$/),
    expect.stringMatching(/^(?!10\.0\.0\.9)[\d.]+\/24$/),
    expect.stringMatching(/^fe80::(?!7\/)[\da-f:]+\/64$/),
  ])
  expect(first!.split('.').slice(0, 3)).toEqual(second!.split('.').slice(0, 3))
  expect(mapped!.mac).toMatch(/^([\da-f]{2}:){5}[\da-f]{2}$/)
  expect(mapped!.mac).not.toBe(one.mac)
  // udev makes names of MAC addresses: the same digits.
  expect(host.text(JSON.stringify({ name: one.name }))).toBe(`{"name":"enx${mapped!.mac!.replaceAll(':', '')}"}`)
  expect(host.text('roce:10.0.0.7: down')).toBe(`roce:${first!.split('/')[0]}: down`)
})

it.each(['rocex0c42a103000a0b0c', 'roce:fe80::7', 'roce:10.0.0.7'])(
  'changes the name %s, always the same way',
  (name) => {
    expect(host.text(name)).not.toBe(name)
    expect(host.text(name)).toBe(host.text(name))
    expect(host.text(name)).toMatch(/^roce/)
  },
)

it.each(['mlx5_0', 'eth0', 'rocep1s0f0', 'shm:lab', 'rxe_matrix', 'roce:localhost'])('leaves the name %s', (name) => {
  expect(host.text(name)).toBe(name)
})
