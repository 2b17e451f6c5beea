/** Libraries of the system that compute CRC-32: the same as zlib, or none. */
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import * as zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nativeCrc32 as find } from '../../src/memory/index.ts'
import { crcByTables, crcUpdate, useCrc32 } from '../../src/wire/crc32.ts'
import { startable } from '../entries.ts'
import { holds } from '../property.ts'

const native = find()
const { file, execArgv } = startable(new URL('../../src/memory/index.ts', import.meta.url))
const index = pathToFileURL(file).href

/** The library that a process finds with this setting. */
function chosen(setting: string): string {
  const code = `const { nativeCrc32 } = await import(${JSON.stringify(index)}); console.log(nativeCrc32().name)`
  const { stdout, stderr } = spawnSync(process.execPath, [...execArgv, '--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: { ...process.env, VERBENA_CRC32: setting },
  })
  expect(stderr.includes('VERBENA_CRC32')).toBe(setting !== '' && setting !== stdout.trim())
  return stdout.trim()
}

describe('CRC-32', () => {
  const bytes = new Uint8Array(new SharedArrayBuffer(70_000)).map((_, i) => (i * 2_654_435_761) >>> 13)
  const range = fc.tuple(fc.nat(69_999), fc.nat(69_999)).map(([a, b]) => (a < b ? [a, b] : [b, a]) as [number, number])

  it('in native code is that of the tables', () => {
    const views = [bytes, bytes.subarray(3), Uint8Array.from(bytes), Buffer.from(bytes).subarray(1)]
    holds(
      fc.property(range, fc.nat(3), fc.integer({ min: 0, max: 0xffffffff }), ([start, end], view, crc) => {
        const b = views[view]!
        const stop = Math.min(end, b.length)
        const expected = ~crcByTables(~crc, b, Math.min(start, stop), stop) >>> 0
        expect(native.update(crc | 0, b, Math.min(start, stop), stop) >>> 0).toBe(expected)
      }),
    )
  })

  it('of long ranges is computed by what the program hands in', () => {
    const before = crcUpdate(-1, bytes, 5, 5000)
    const asked: number[] = []
    const update = (crc: number, b: Uint8Array, start: number, end: number): number => {
      asked.push(end - start)
      return zlib.crc32(b.subarray(start, end), crc >>> 0)
    }
    useCrc32({ fromBytes: 80, update })
    expect(crcUpdate(-1, bytes, 5, 5000)).toBe(before)
    expect(crcUpdate(-1, bytes, 5, 30)).toBe(crcByTables(-1, bytes, 5, 30))
    expect(asked).toEqual([4995])
    useCrc32(null)
    expect(crcUpdate(-1, bytes, 5, 5000)).toBe(before)
    expect(asked).toHaveLength(1)
  })

  it('is computed by the library that VERBENA_CRC32 names, if it is there', () => {
    expect(chosen('zlib')).toBe('zlib')
    expect(['isa-l', 'zlib']).toContain(chosen('isa-l'))
    expect(['libdeflate', 'zlib']).toContain(chosen('libdeflate'))
    expect(chosen('')).toBe(native.name)
    expect(chosen('crc')).toBe('zlib')
  })
})
