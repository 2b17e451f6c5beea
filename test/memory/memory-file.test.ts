/** Files in memory that other processes map: what nobody can do to them, and positions and holes. */
import { closeSync, fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  closeFd,
  commitMemoryFile,
  isSoleDescription,
  makeMemoryFile,
  mapDescriptor,
  nativeAvailable,
  nativeReason,
  punchMemoryFile,
  reopenMemoryFile,
  unmap,
} from '../../src/memory/index.ts'

describe.skipIf(!nativeAvailable)(`memory files ${nativeReason}`, () => {
  it('do not get shorter, whoever has them, and may get longer', () => {
    const file = makeMemoryFile('a test', 8192)
    const other = reopenMemoryFile(file, 0)
    expect(() => ftruncateSync(other, 4096)).toThrow(expect.objectContaining({ code: 'EPERM' }))
    ftruncateSync(other, 16_384)
    expect(fstatSync(file).size).toBe(16_384)
    closeFd(other)
    closeFd(file)
  })

  it('are written to at the position of each description', () => {
    const file = makeMemoryFile('a test', 4096)
    const other = reopenMemoryFile(file, 4096)
    writeSync(other, 'first')
    writeSync(other, 'second')
    const bytes = Buffer.alloc(11)
    expect(readSync(file, bytes, 0, 11, 4096)).toBe(11)
    expect(bytes.toString()).toBe('firstsecond')
    closeFd(other)
    closeFd(file)
  })

  it('say whether anybody else has them: by a descriptor, or a mapping alone', () => {
    const file = makeMemoryFile('a test', 4096)
    expect(isSoleDescription(file)).toBe(true)
    const others = [reopenMemoryFile(file, 0), reopenMemoryFile(file, 4096)]
    for (const other of others) {
      expect(isSoleDescription(file)).toBe(false)
      closeFd(other)
    }
    expect(isSoleDescription(file)).toBe(true)
    const again = reopenMemoryFile(file, 0)
    const mapped = mapDescriptor(again, 4096, 'a page')
    closeFd(again)
    expect(isSoleDescription(file)).toBe(false)
    unmap(mapped)
    expect(isSoleDescription(file)).toBe(true)
    // Its own mappings do not count.
    const own = mapDescriptor(file, 4096, 'a page')
    expect(isSoleDescription(file)).toBe(true)
    unmap(own)
    closeFd(file)
  })

  it('are mapped from any page on, and give memory back', () => {
    const file = makeMemoryFile('a test', 16_384)
    const mapped = mapDescriptor(file, 4096, 'a page', 8192)
    commitMemoryFile(file, 8192, 4096)
    expect(fstatSync(file).blocks * 512).toBe(4096)
    new Uint8Array(mapped)[5] = 7
    const byte = new Uint8Array(1)
    readSync(file, byte, 0, 1, 8197)
    expect(byte[0]).toBe(7)
    punchMemoryFile(file, 8192, 4096)
    expect([new Uint8Array(mapped)[5], fstatSync(file).size]).toEqual([0, 16_384])
    unmap(mapped)
    closeFd(file)
  })

  it('that cannot be had are an error with its reason', () => {
    expect(() => reopenMemoryFile(-1, 0)).toThrow(/could not be opened again/)
    const file = makeMemoryFile('a test', 4096)
    expect(() => mapDescriptor(file, 4096, 'a page', 1)).toThrow(expect.objectContaining({ code: 'EINVAL' }))
    closeSync(file)
  })
})
