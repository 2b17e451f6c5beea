/** Which paths are ours. */
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isOurs, normalPath, Paths } from '../../../src/run/front/paths.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'verbena-paths-')))
afterAll(() => rmSync(folder, { recursive: true }))
const paths = new Paths(folder)
const meant = (path: string, directory = -100): string | null => paths.meant(path, process.pid, directory)

describe('paths of ours', () => {
  it.each([
    ['/dev/infiniband/uverbs0', '/dev/infiniband/uverbs0'],
    ['/dev/infiniband/', '/dev/infiniband/'],
    ['//sys/./class//infiniband/../infiniband_verbs/uverbs0/', '/sys/class/infiniband_verbs/uverbs0/'],
    ['/dev/infiniband/.', '/dev/infiniband/'],
    ['/sys/class/misc/rdma_cm/abi_version', '/sys/class/misc/rdma_cm/abi_version'],
    ['/../dev/infiniband', '/dev/infiniband'],
  ])('%s is %s', (path, normal) => expect(meant(path)).toBe(normal))

  it.each([
    '/sys/class/infiniband_other',
    '/sys/class',
    '/dev/infinibandx/uverbs0',
    '/tmp/infiniband',
    'infiniband',
    '',
    '/sys/class/net/eth0/device/infiniband',
    '/dev/infiniband/../null',
  ])('%j is not', (path) => expect(meant(path)).toBe(null))

  it('are found by a descriptor of another folder, as hwloc does', () => {
    const root = openSync('/', 'r')
    try {
      expect(meant('sys/class/infiniband', root)).toBe('/sys/class/infiniband')
      expect(meant('/dev/infiniband', root)).toBe('/dev/infiniband')
    } finally {
      closeSync(root)
    }
    expect(meant('sys/class/infiniband', root)).toBe(null)
  })

  it('are found by a descriptor of the folder that stands for one', () => {
    mkdirSync(join(folder, 'dev/infiniband'), { recursive: true })
    const directory = openSync(join(folder, 'dev/infiniband'), 'r')
    try {
      expect(meant('uverbs0', directory)).toBe('/dev/infiniband/uverbs0')
    } finally {
      closeSync(directory)
    }
  })
})

describe('normalPath', () => {
  it('does not go above the root', () => expect(normalPath('/a/../../b/.//c')).toBe('/b/c'))
  it('knows no prefix that ends within a name', () => expect(isOurs('/dev/infinibandish')).toBe(false))
})
