/** Where a process may have little address space (ulimit -v, a small container). */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

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
