/** Where a process may have little address space (ulimit -v, a small container). */
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/native/index.ts'
import { limitsAddressSpace } from '../../src/memory/native/wasm-memory.ts'
import { startable } from '../entries.ts'

const index = JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)

/** What a program says that opens shm0, where no shared memory of more than `limitMib` can be had. */
function opened(limitMib: number): { said: string; stderr: string } {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `
      const limit = (mib) => { if (mib > ${limitMib}) throw new RangeError('Array buffer allocation failed') }
      const { Memory } = WebAssembly
      WebAssembly.Memory = function (limits) { limit(limits.initial / 16); return new Memory(limits) }
      const Shared = SharedArrayBuffer
      globalThis.SharedArrayBuffer = new Proxy(Shared, {
        construct(target, [bytes]) { limit(bytes / 2 ** 20); return new target(bytes) },
      })
      const { openDevice } = await import(${index})
      try { openDevice('shm0').alloc(1 << 20); console.log('ok') } catch ({ code, message }) { console.log(code, message) }
      process.exit()`,
    ],
    { encoding: 'utf8' },
  )
  return { said: stdout.trim(), stderr }
}

describe('the segment of the process', () => {
  it('is smaller where there is less address space', () => {
    expect(opened(300)).toEqual({ said: 'ok', stderr: '' })
  })

  it('without enough of it, is an error with the remedy when a device is opened, not when Verbena is imported', () => {
    const { said, stderr } = opened(64)
    expect(stderr).toBe('')
    expect(said).toMatch(/^ENOMEM .*address space.*ulimit -v.*VERBENA_SHM_MIB/)
  })
})

describe('a segment of several processes', () => {
  it.skipIf(!nativeAvailable)('takes no WebAssembly memory, of 10 GiB, where address space is limited', () => {
    const door = startable(new URL('../../src/memory/native/index.ts', import.meta.url))
    const text = `
      const { mapShared, unlinkShared } = await import(${JSON.stringify(pathToFileURL(door.file).href)})
      const name = 'verbena-test-' + process.pid
      const { wasm, inode } = mapShared(name, 1 << 20, 'create')
      unlinkShared(name, inode)
      console.log(wasm === null ? 'none' : 'one')`
    const node = [process.execPath, ...door.execArgv, '--input-type=module', '-e', text]
    // Room for one such memory, and for all that Node takes besides.
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', 'ulimit -v 30000000; exec "$0" "$@"', ...node], {
      encoding: 'utf8',
    })
    expect({ said: stdout.trim(), stderr }).toEqual({ said: 'none', stderr: '' })
  })

  it.each([
    ['Max address space         unlimited            unlimited            bytes', false],
    ['Max address space         22835200000          unlimited            bytes', true],
    ['Max address space         unlimited            22835200000          bytes', false],
    ['Max open files            1024                 4096                 files', false],
    ['', false],
  ])('reads the limit of the system: %s', (line, limited) => {
    expect(
      limitsAddressSpace(`Limit                     Soft Limit           Hard Limit           Units\n${line}\n`),
    ).toBe(limited)
  })
})
