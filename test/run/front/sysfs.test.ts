/** What sysfs shows of an adapter. */
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { Folder, folderPath } from '../../../src/run/front/folder.ts'
import { sysfsOf } from '../../../src/run/front/index.ts'
import { echoAdapter } from './echo-door.ts'

const tree = sysfsOf([
  echoAdapter,
  { ...echoAdapter, name: 'rxe1', index: 1, device: [231, 193], linkLayer: 'InfiniBand', gids: [] },
])
const folder = new Folder(folderPath(`test${process.pid}`), tree, ['/dev/infiniband/uverbs0'])
afterAll(() => folder.remove())
const read = (path: string): string => readFileSync(folder.real(path), 'utf8')

describe('sysfs', () => {
  it('has what libibverbs needs to find an adapter', () => {
    expect(read('/sys/class/infiniband_verbs/abi_version')).toBe('6\n')
    expect(read('/sys/class/infiniband_verbs/uverbs0/ibdev')).toBe('rxe0\n')
    expect(read('/sys/class/infiniband_verbs/uverbs0/dev')).toBe('231:192\n')
    expect(read('/sys/class/infiniband_verbs/uverbs0/abi_version')).toBe('2\n')
    expect(read('/sys/class/infiniband/rxe0/node_type')).toBe('1: CA\n')
    expect(read('/sys/class/infiniband/rxe0/node_guid')).toBe('0200:00ff:fe00:0001\n')
    const port = '/sys/class/infiniband/rxe0/ports/1'
    expect(read(`${port}/gids/0`)).toBe('0000:0000:0000:0000:0000:ffff:7f00:0001\n')
    expect(read(`${port}/gids/15`)).toBe('0000:0000:0000:0000:0000:0000:0000:0000\n')
    expect(read(`${port}/gid_attrs/types/0`)).toBe('RoCE v2\n')
    expect(read(`${port}/gid_attrs/ndevs/0`)).toBe('lo\n')
    expect(read(`${port}/pkeys/0`)).toBe('0xffff\n')
    expect(read(`${port}/state`)).toBe('4: ACTIVE\n')
  })

  it('links adapters from their class, as the kernel does', () => {
    const link = folder.real('/sys/class/infiniband/rxe0')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(realpathSync(link)).toBe(`${folder.path}/sys/devices/virtual/infiniband/rxe0`)
    expect(realpathSync(`${link}/subsystem`)).toBe(`${folder.path}/sys/class/infiniband`)
    expect(readdirSync(`${link}/device/net`)).toEqual(['lo'])
  })

  it('shows no type of a GID on InfiniBand', () =>
    expect(existsSync(folder.real('/sys/class/infiniband/rxe1/ports/1/gid_attrs'))).toBe(false))

  it('asks for what changes whenever it is opened, by whatever path', () => {
    let sent = 0
    const live = { 'counters/port_xmit_packets': () => String(sent), sm_lid: () => '0x7' }
    const own = new Folder(folderPath(`live${process.pid}`), sysfsOf([{ ...echoAdapter, live }]), [])
    const path = '/sys/class/infiniband/rxe0/ports/1/counters/port_xmit_packets'
    const now = (): string => {
      own.refresh(path)
      return readFileSync(`${own.path}${path}`, 'utf8')
    }
    expect(now()).toBe('0\n')
    sent = 5
    expect(now()).toBe('5\n')
    expect(statSync(`${own.path}${path}`).mode & 0o777).toBe(0o444)
    expect(readFileSync(`${own.path}/sys/class/infiniband/rxe0/ports/1/sm_lid`, 'utf8')).toBe('0x7\n')
    own.refresh('/sys/class/infiniband/none')
    own.remove()
  })

  it('nobody else enters', () => expect(statSync(folder.path).mode & 0o777).toBe(0o700))

  it('is there once somebody looks at a path, and gone at the end', () => {
    const other = new Folder(folderPath(`other${process.pid}`), tree, [])
    expect(existsSync(other.path)).toBe(false)
    expect(existsSync(other.real('/sys/class/infiniband'))).toBe(true)
    other.remove()
    expect(existsSync(other.path)).toBe(false)
  })
})
