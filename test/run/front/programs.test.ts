/** Memory of processes, of which this one is an example. */
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/native/index.ts'
import { nativeScratch, requireLibc } from '../../../src/memory/native/libc.ts'
import { Errno } from '../../../src/run/door.ts'
import { Programs } from '../../../src/run/front/programs.ts'

describe.skipIf(!nativeAvailable)('memory of a process', () => {
  const programs = new Programs()
  afterAll(() => programs.close())
  const page = 4096

  function mapped(): { base: number; u8: Uint8Array } {
    const c = requireLibc('mmap')
    // Three pages: one to write, one to read, one that is neither.
    const base = Number(c.mmap(0, 3 * page, 3, 0x22, -1, 0))
    const u8 = new Uint8Array(c.koffi.view(BigInt(base), 2 * page))
    c.mprotect(base + page, page, 1)
    c.mprotect(base + 2 * page, page, 0)
    return { base, u8 }
  }

  it('is that of the thread group, whichever thread asks', () => {
    const process_ = programs.of(process.pid)
    expect(process_.pid).toBe(process.pid)
    expect(programs.of(process.pid)).toBe(process_)
  })

  it('is read and written, more than one call can', () => {
    const length = 200_000
    const { address, u8 } = nativeScratch(length)
    const program = programs.of(process.pid)
    const bytes = Uint8Array.from({ length }, (_, i) => i * 7)
    program.write(address, bytes)
    expect(Buffer.compare(u8.subarray(0, length), bytes)).toBe(0)
    const back = new Uint8Array(length)
    program.read(address, back)
    expect(Buffer.compare(back, bytes)).toBe(0)
  })

  it('fails with EFAULT where it is not mapped, or may not be written', () => {
    const { base } = mapped()
    const program = programs.of(process.pid)
    const efault = (body: () => void): void => {
      expect(body).toThrow(Errno)
      expect(body).toThrow(/not all mapped/)
    }
    program.read(base, new Uint8Array(2 * page))
    efault(() => program.read(base, new Uint8Array(2 * page + 1)))
    program.write(base, new Uint8Array(page))
    efault(() => program.write(base, new Uint8Array(page + 1)))
  })

  it('is covered as far as its protections reach', () => {
    const { base } = mapped()
    const program = programs.of(process.pid)
    const covers = (from: number, length: number, writable: boolean): boolean =>
      program.covers(base + from, length, writable)
    expect([covers(0, page, true), covers(1, page - 1, true), covers(0, page + 1, true)]).toEqual([true, true, false])
    expect([covers(0, 2 * page, false), covers(0, 2 * page + 1, false)]).toEqual([true, false])
    expect([covers(2 * page, 1, false), program.covers(4096, 1, false), covers(0, 0, true)]).toEqual([
      ...[false, false, true],
    ])
  })

  it('cannot be that of a thread that has gone', () => expect(() => programs.of(2 ** 30)).toThrow(/has gone/))
})
