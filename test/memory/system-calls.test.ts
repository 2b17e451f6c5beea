/** Numbers of system calls, beside the kernel's headers. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { processors } from '../../src/memory/native/index.ts'

/** arm64 has the generic table. */
const headers = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
  arm64: ['/usr/aarch64-linux-gnu/include/asm-generic/unistd.h', '/usr/include/asm-generic/unistd.h'],
} as const

describe.each(['x64', 'arm64'] as const)('the numbers of %s', (name) => {
  const header = headers[name].find((file) => existsSync(file))

  it.skipIf(header === undefined)('are those of the header', () => {
    const text = readFileSync(header!, 'latin1')
    const numberOf = (call: string): number | undefined => {
      const [, plain] = new RegExp(`^#define __NR(?:3264)?_(?:new)?${call}\\s+(\\d+)`, 'm').exec(text) ?? []
      return plain === undefined ? undefined : Number(plain)
    }
    const { calls } = processors[name]
    const found = Object.keys(calls).map((call) => {
      // The generic table has two names for what 32 bits call fstatat64.
      const spelled = name === 'arm64' && call === 'newfstatat' ? 'fstatat' : call
      return [call, numberOf(spelled)]
    })
    expect(Object.fromEntries(found)).toEqual(calls)
  })

  it('has each number once', () => {
    const numbers = Object.values(processors[name].calls)
    expect(new Set(numbers).size).toBe(numbers.length)
  })
})
