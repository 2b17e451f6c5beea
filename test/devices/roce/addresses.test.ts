import { syncBuiltinESMExports } from 'node:module'
import os, { type NetworkInterfaceInfo } from 'node:os'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  addressesOfNode,
  findAddress,
  guidOf,
  hostAddresses,
  overheadBytes,
  parseAddress,
  roceMtuOf,
  stateOfAddress,
} from '../../../src/devices/roce/addresses.ts'
import { openDevices } from '../../../src/devices/roce/driver.ts'
import { openOnes, tellOpenDevices } from '../../../src/devices/roce/service-handle.ts'
import { openDevice } from '../../../src/index.ts'
import { errnos } from '../../../src/memory/index.ts'
import { libc } from '../../../src/memory/native/libc.ts'
import { formatIp, gidOfIp, ipOfGid } from '../../../src/wire/index.ts'
import { holds } from '../../property.ts'

const v4 = (address: string, mac: string, internal = false): NetworkInterfaceInfo => ({
  address,
  netmask: '255.255.255.0',
  family: 'IPv4',
  mac,
  internal,
  cidr: null,
})
const v6 = (address: string, mac: string, scopeid: number, internal = false): NetworkInterfaceInfo => ({
  address,
  netmask: 'ffff:ffff:ffff:ffff::',
  family: 'IPv6',
  mac,
  internal,
  scopeid,
  cidr: null,
})

const none = '00:00:00:00:00:00'
const [macA, macB] = ['02:fc:00:00:00:01', 'b8:ce:f6:12:34:56']
const interfaces = {
  lo: [v4('127.0.0.1', none, true), v6('::1', none, 0, true)],
  eth1: [v6('fe80::2', macB, 3), v6('2001:db8::7', macB, 0), v4('10.0.0.7', macB)],
  'eth1:0': [v4('10.0.0.8', macB)],
  eth0: [v4('192.0.2.2', macA), v6('fd00::2', macA, 0), v6('fe80::2', macA, 2), v6('fe80::fc:ff:fe00:1', macA, 2)],
}
const facts: Record<string, { ifindex: number; mtuBytes: number }> = {
  lo: { ifindex: 1, mtuBytes: 65_536 },
  eth0: { ifindex: 2, mtuBytes: 1500 },
  eth1: { ifindex: 3, mtuBytes: 9000 },
  'eth1:0': { ifindex: 3, mtuBytes: 9000 },
}
const addresses = addressesOfNode(interfaces, (name) => facts[name] ?? null)

describe('hostAddresses', () => {
  it('lists them in the order of the GID table', () => {
    expect(addresses.map(({ text, ifindex, scopeId, roceMtu }) => [text, ifindex, scopeId, roceMtu])).toEqual([
      ['192.0.2.2', 2, 0, 1024],
      ['10.0.0.7', 3, 0, 4096],
      ['10.0.0.8', 3, 0, 4096],
      ['fd00::2', 2, 0, 1024],
      ['2001:db8::7', 3, 0, 4096],
      ['fe80::2%eth0', 2, 2, 1024],
      ['fe80::fc:ff:fe00:1%eth0', 2, 2, 1024],
      ['fe80::2%eth1', 3, 3, 4096],
      ['127.0.0.1', 1, 0, 4096],
      ['::1', 1, 0, 4096],
    ])
    expect(addresses.filter(({ loopback }) => loopback).map(({ interface: name }) => name)).toEqual(['lo', 'lo'])
  })

  it('does without the facts of a system that does not tell them', () => {
    const seen = addressesOfNode(interfaces, () => null)
    expect(seen.map(({ roceMtu }) => roceMtu)).toEqual([...new Array(8).fill(1024), 4096, 4096])
    expect(seen.find(({ text }) => text === 'fe80::2%eth1')!.scopeId).toBe(3)
  })

  it('knows this host', () => {
    const seen = hostAddresses()
    expect(seen.map(({ text }) => text)).toContain('127.0.0.1')
    for (const { mtuBytes, roceMtu, address } of seen) {
      expect(mtuBytes).toBeGreaterThan(0)
      expect([256, 512, 1024, 2048, 4096]).toContain(roceMtu)
      expect([4, 16]).toContain(address.length)
    }
    const loopback = seen.findIndex((address) => address.loopback)
    expect(seen.slice(loopback).every((address) => address.loopback)).toBe(true)
  })
})

describe('findAddress', () => {
  const find = (text: string): string | undefined => findAddress(text, addresses)?.text

  it('finds addresses of the host, and every one of loopback', () => {
    for (const { text } of addresses) expect(find(text)).toBe(text)
    expect(find('::ffff:10.0.0.7')).toBe('10.0.0.7')
    expect(find('2001:DB8:0:0::7')).toBe('2001:db8::7')
    expect(find('127.9.8.7')).toBe('127.9.8.7')
    expect(findAddress('127.9.8.7', addresses)).toMatchObject({ loopback: true, mtuBytes: 65_536, interface: 'lo' })
    expect(findAddress('127.9.8.7', addresses)!.address).toEqual(Uint8Array.of(127, 9, 8, 7))
  })

  it('wants the interface of a link-local address that two of them have', () => {
    expect(find('fe80::2')).toBeUndefined()
    expect(find('fe80::2%eth0')).toBe('fe80::2%eth0')
    expect(find('fe80::2%3')).toBe('fe80::2%eth1')
    expect(find('fe80::2%lo')).toBeUndefined()
    expect(find('fe80::fc:ff:fe00:1')).toBe('fe80::fc:ff:fe00:1%eth0')
  })

  it('finds nothing else', () => {
    for (const text of ['10.0.0.9', '128.0.0.1', '::2', 'fe80::3%eth0', '', 'eth0', '10.0.0.7%eth1', '10.0.0', '1:2'])
      expect(find(text)).toBeUndefined()
    expect(findAddress('127.0.0.9', [])).toBeUndefined()
  })
})

it('knows from the kernel how far an IPv6 address is', () => {
  const table = [
    'fd000009000000000000000000000001 03 40 00 c0       v0',
    'fd000009000000000000000000000002 03 40 00 88       v0',
    'fd000009000000000000000000000003 03 40 00 80       v0',
    'fe800000000000000000000000000001 03 40 20 c0       v0',
    'fe800000000000000000000000000001 04 40 20 80       v1',
    '',
  ].join('\n')
  const state = (text: string, ifindex = 3) => stateOfAddress({ address: parseAddress(text)!.address, ifindex }, table)
  expect(state('fd00:9::1')).toBe('tentative')
  expect(state('fd00:9::1', 0)).toBe('tentative')
  expect(state('fd00:9::2')).toBe('duplicate')
  expect(state('fd00:9::3')).toBe('usable')
  expect([state('fe80::1'), state('fe80::1', 4)]).toEqual(['tentative', 'usable'])
  expect([state('fd00:9::4'), state('10.0.0.1')]).toEqual(['usable', 'usable'])
})

it('takes the largest MTU of InfiniBand that fits', () => {
  const cases: [number, number, number][] = [
    [1500, 1024, 1024],
    [4500, 4096, 4096],
    [4200, 4096, 4096],
    [9000, 4096, 4096],
    [65_536, 4096, 4096],
    [4096 + 68, 4096, 2048],
    [4096 + 67, 2048, 2048],
    [4096 + 88, 4096, 4096],
    [4096 + 87, 4096, 2048],
    [1280, 1024, 1024],
    [600, 512, 512],
    [579, 256, 256],
    [576, 256, 256],
    [100, 256, 256],
  ]
  expect([overheadBytes(4), overheadBytes(6)]).toEqual([68, 88])
  expect(cases.map(([mtu]) => [mtu, roceMtuOf(mtu, 4), roceMtuOf(mtu, 6)])).toEqual(cases)
})

it('makes GUIDs of MAC addresses, and of addresses where there are none', () => {
  const guid = (text: string): string => guidOf(findAddress(text, addresses)!).toString(16).padStart(16, '0')
  expect(guid('10.0.0.7')).toBe('bacef6fffe123456')
  expect(guid('192.0.2.2')).toBe('00fc00fffe000001')
  expect(guid('127.0.0.1')).toBe('00007ffffe000001')
  expect(guid('127.0.0.2')).toBe('00007ffffe000002')
  expect(guid('::1')).toBe('000100fffe000001')
  for (const mac of ['', 'x', '00:00:00:00:00:00:00:00', '300:1:1:1:1:1'])
    expect(guidOf({ address: Uint8Array.of(10, 1, 2, 3), mac })).toBe(0x00000afffe010203n)
})

describe('texts', () => {
  it('parses and formats as the standard does', () => {
    const texts = [
      '::',
      '::1',
      '1::',
      '1::2',
      'fe80::1:0:0:1',
      '1:0:0:2::3',
      '1:2:3:4:5:6:7:8',
      '1:0:3:4:5:6:7:8',
      '10.0.0.1',
    ]
    for (const text of texts) expect(formatIp(parseAddress(text)!.address)).toBe(text)
    expect(formatIp(gidOfIp(Uint8Array.of(10, 0, 0, 1)))).toBe('::ffff:10.0.0.1')
    expect([...parseAddress('64:ff9b::192.0.2.33')!.address]).toEqual([
      0,
      0x64,
      0xff,
      0x9b,
      ...Array(8).fill(0),
      192,
      0,
      2,
      33,
    ])
    expect(parseAddress('fe80::1%eth0')!.zone).toBe('eth0')
    for (const text of ['', 'a', '1.2.3', '1.2.3.4.5', '::1%', '1.2.3.4%lo', ':::', '1::2::3', '12345::', '[::1]'])
      expect(parseAddress(text)).toBeNull()
  })

  it('give the same address back', () => {
    const address = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 }).map((list) => Uint8Array.from(list)),
    )
    holds(
      fc.property(address, (bytes) => {
        const gid = gidOfIp(bytes)
        const plain = ipOfGid(gid)
        expect(parseAddress(formatIp(bytes))).toEqual({ address: plain, zone: '' })
        expect(parseAddress(formatIp(gid))).toEqual({ address: plain, zone: '' })
        expect(gidOfIp(plain)).toEqual(gid)
      }),
      100,
    )
  })

  it('may be anything', () => {
    const text = fc.oneof(fc.string(), fc.ipV6(), fc.ipV4(), fc.stringMatching(/^[0-9a-f:.%]*$/))
    holds(
      fc.property(text, (any) => {
        const parsed = parseAddress(any)
        expect(parsed === null || parsed.address.length === 4 || parsed.address.length === 16).toBe(true)
        const found = findAddress(any, addresses)
        if (found !== undefined) expect(found.address).toEqual(parsed!.address)
      }),
      1000,
    )
  })
})

describe('a process that is out of descriptors, so that the interfaces cannot be listed', () => {
  it('gets EMFILE with advice from openDevice, and a listener that looks for devices gets none', () => {
    const list = vi.spyOn(os, 'networkInterfaces').mockImplementation(() => {
      // As libuv reports it.
      throw Object.assign(new Error('A system error occurred: uv_interface_addresses returned 24'), {
        code: 'ERR_SYSTEM_ERROR',
        info: { code: 'EMFILE', syscall: 'uv_interface_addresses' },
      })
    })
    syncBuiltinESMExports()
    // The kernel is asked by a socket, which takes a descriptor, too.
    const socket = libc === null ? null : vi.spyOn(libc, 'socket')
    socket?.mockImplementation(() => {
      ;(libc!.koffi.errno as (value: number) => number)(errnos.EMFILE)
      return -1
    })
    try {
      for (const name of ['roce', 'roce:127.93.0.1', 'roce:10.0.0.7'])
        expect(() => openDevice(name)).toThrow(/EMFILE.*ulimit -n.*\(EMFILE\)/)
      tellOpenDevices(() => {
        hostAddresses()
        return []
      })
      expect(openOnes()).toEqual([])
    } finally {
      tellOpenDevices(openDevices)
      list.mockRestore()
      socket?.mockRestore()
      syncBuiltinESMExports()
    }
    expect(hostAddresses().length).toBeGreaterThan(0)
  })
})
