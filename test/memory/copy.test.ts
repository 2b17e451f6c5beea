import { constants } from 'node:buffer'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { type Copy, copyModule, makeCopier, makeOrderedCopier } from '../../src/memory/copy.ts'
import {
  mapShared,
  type NativeError,
  nativeAvailable,
  nativeReason,
  unlinkShared,
  unmap,
} from '../../src/memory/native/index.ts'
import { startThread } from '../../src/memory/threads.ts'
import { holds } from '../property.ts'

const size = 65_536
const mapped: ArrayBuffer[] = []
afterAll(() => mapped.forEach(unmap))

function mapping(): Uint8Array {
  const name = `verbena-test-copy-${process.pid}-${mapped.length}`
  const { buffer } = mapShared(name, size, 'create')
  unlinkShared(name)
  mapped.push(buffer)
  return new Uint8Array(buffer)
}

interface Kind {
  readonly name: string
  readonly skip?: string
  make(): { u8: Uint8Array; wasm?: WebAssembly.Memory }
}

const kinds: Kind[] = [
  {
    name: 'shared WebAssembly memory',
    make: () => {
      const wasm = new WebAssembly.Memory({ initial: 1, maximum: 3, shared: true })
      return { u8: new Uint8Array(wasm.buffer), wasm }
    },
  },
  {
    name: 'private WebAssembly memory without a maximum',
    make: () => {
      const wasm = new WebAssembly.Memory({ initial: 1 })
      return { u8: new Uint8Array(wasm.buffer), wasm }
    },
  },
  { name: 'SharedArrayBuffer', make: () => ({ u8: new Uint8Array(new SharedArrayBuffer(size)) }) },
  {
    name: 'view at byte 8 of an ArrayBuffer',
    make: () => ({ u8: new Uint8Array(new ArrayBuffer(size + 11), 8, size) }),
  },
  {
    name: 'mapped memory',
    ...(nativeAvailable ? {} : { skip: nativeReason }),
    make: () => ({ u8: mapping() }),
  },
]

/** Ranges near each other, so that many overlap, with lengths on both sides of every threshold. */
const range = fc
  .record({
    dst: fc.nat(300),
    src: fc.nat(300),
    lengthBytes: fc.oneof(fc.nat(40), fc.nat(200), fc.nat(8000)),
    unit: fc.constantFrom(1, 2, 4, 8),
  })
  .map(({ dst, src, lengthBytes, unit }) => ({
    dst: dst - (dst % unit),
    src: src - (src % unit),
    lengthBytes: lengthBytes - (lengthBytes % unit),
  }))

describe.each(kinds)('copying in $name', ({ name, skip, make }) => {
  const title = (what: string): string => (skip === undefined ? what : `${what} (skipped: ${skip})`)
  const copiers: [string, (memory: ReturnType<Kind['make']>) => Copy][] = [
    ['makeCopier', ({ u8, wasm }) => makeCopier(u8, wasm)],
    ['makeOrderedCopier', ({ u8, wasm }) => makeOrderedCopier(u8, wasm)],
    ['makeOrderedCopier with atomic stores', ({ u8, wasm }) => makeOrderedCopier(u8, wasm, false)],
  ]
  it.skipIf(skip !== undefined).each(copiers)(title(`%s is copyWithin on ${name}`), (_, makeCopy) => {
    const memory = make()
    const copy = makeCopy(memory)
    const u8 = memory.u8.subarray(0, 10_000)
    const expected = new Uint8Array(10_000)
    holds(
      fc.property(range, fc.integer(), ({ dst, src, lengthBytes }, seed) => {
        let x = seed | 1
        for (let i = 0; i < expected.length; i++) {
          x = Math.imul(x, 1_664_525) + 1_013_904_223
          expected[i] = x >>> 24
        }
        u8.set(expected)
        expected.copyWithin(dst, src, src + lengthBytes)
        copy(dst, src, lengthBytes)
        expect(Buffer.compare(u8, expected)).toBe(0)
      }),
      500,
    )
  })
})

it('copies every short length at every alignment', () => {
  for (const { skip, make } of kinds) {
    if (skip !== undefined) continue
    for (const ordered of [undefined, true, false]) {
      const { u8, wasm } = make()
      const copy = ordered === undefined ? makeCopier(u8, wasm) : makeOrderedCopier(u8, wasm, ordered)
      const expected = Uint8Array.from({ length: 128 }, (_, i) => i + 100)
      for (let dst = 0; dst < 16; dst++)
        for (let src = 0; src < 16; src++)
          for (let length = 0; length <= 72; length++) {
            const want = expected.slice().copyWithin(dst, src, src + length)
            u8.set(expected)
            copy(dst, src, length)
            if (Buffer.compare(u8.subarray(0, 128), want) !== 0) expect.fail(`dst ${dst}, src ${src}, length ${length}`)
          }
    }
  }
})

describe.skipIf(!nativeAvailable)(
  `at the end of a large mapping${nativeAvailable ? '' : ` (skipped: ${nativeReason})`}`,
  () => {
    it('copies where the addresses say', ({ skip }) => {
      const name = `verbena-test-copy-large-${process.pid}`
      // Beyond 4 GiB where Node maps as much; Node 20 does not, but there too addresses pass 2^31.
      const sizeBytes = Math.min(5 * 2 ** 30, constants.MAX_LENGTH)
      let buffer: ArrayBuffer
      try {
        buffer = mapShared(name, sizeBytes, 'create').buffer
        unlinkShared(name)
      } catch (error) {
        if ((error as NativeError).code === 'ENOSPC') return skip('not enough shared memory')
        throw error
      }
      const u8 = new Uint8Array(buffer)
      const top = sizeBytes - 61_440
      const alias = top % 2 ** 31
      for (const copy of [makeCopier(u8), makeOrderedCopier(u8), makeOrderedCopier(u8, undefined, false)])
        for (const length of [1, 2, 3, 4, 8, 16, 31, 64, 100]) {
          u8.fill(0, top, top + 256)
          u8.fill(0, alias, alias + 256)
          for (let i = 0; i < length; i++) u8[top + 1024 + i] = i + 1
          copy(top, top + 1024, length)
          expect([...u8.subarray(top, top + length)]).toEqual(Array.from({ length }, (_, i) => i + 1))
          expect(u8.subarray(alias, alias + 256).every((byte) => byte === 0)).toBe(true)
          expect(u8[top + length]).toBe(0)
        }
      unmap(buffer)
    })
  },
)

describe('misuse', () => {
  it('refuses bytes that are not the memory', () => {
    const wasm = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    expect(() => makeCopier(new Uint8Array(64), wasm)).toThrow(RangeError)
    expect(() => makeOrderedCopier(new Uint8Array(wasm.buffer, 8), wasm)).toThrow(RangeError)
    expect(() => makeCopier(new Uint8Array(new ArrayBuffer(64), 4))).toThrow(RangeError)
  })
  it('traps beyond the end of a WebAssembly memory', () => {
    const wasm = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const copy = makeCopier(new Uint8Array(wasm.buffer), wasm)
    expect(() => copy(65_530, 0, 10)).toThrow(WebAssembly.RuntimeError)
  })
})

it('encodes a module that WebAssembly accepts, whatever its bounds', () => {
  for (const shared of [true, false])
    for (const storesAreOrdered of [true, false])
      for (const [minPages, maxPages] of [
        [0, 65_536],
        [1, 1],
        [127, 128],
        [16_384, 16_384],
      ] as const) {
        const bytes = copyModule({ shared, minPages, maxPages, storesAreOrdered })
        expect(WebAssembly.validate(bytes as Uint8Array<ArrayBuffer>)).toBe(true)
      }
})

describe('the tail of an ordered copy', () => {
  /** One thread copies messages whose every word is their number; the other polls the last word and checks the rest. */
  const words = 64
  const rounds = 20_000
  it.each([false, true])('is seen last by another thread (WebAssembly: %s)', { timeout: 60_000 }, async (withWasm) => {
    const wasm = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const u8 = new Uint8Array(wasm.buffer)
    const i32 = new Int32Array(wasm.buffer)
    const entry = new URL('./copy-writer.worker.ts', import.meta.url)
    const worker = startThread(entry, { workerData: { memory: wasm, words, rounds, withWasm } })
    try {
      const failed = new Promise<never>((_, reject) => worker.once('error', reject))
      const checked = (async () => {
        let torn = 0
        for (let round = 1; round <= rounds; round++) {
          for (let looks = 0; Atomics.load(i32, words - 1) !== round; looks++)
            if (looks % 20_000 === 19_999) await new Promise(setImmediate)
          for (let word = 0; word < words; word++) if (i32[word] !== round) torn++
          Atomics.store(i32, 2048, round)
          Atomics.notify(i32, 2048)
        }
        return torn
      })()
      expect(await Promise.race([checked, failed])).toBe(0)
      expect(u8[0]).toBe(rounds & 0xff)
    } finally {
      await worker.terminate()
    }
  })
})
