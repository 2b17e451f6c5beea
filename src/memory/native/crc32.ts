/**
 * CRC-32 as zlib computes it, in native code: by a library of the system that uses more of the processor than Node's own zlib does, where
 * one is installed, else by that zlib. Measured on Node 20, an AMD EPYC with AVX-512, nanoseconds with the call:
 *
 *     bytes                        64   256  1024  4096  65536
 *     ISA-L 2.30 (libisal2)        54    59    71   120   1192
 *     libdeflate 1.14              59    88   128   348   4670
 *     zlib of Node (zlib.crc32)   157   167   305   768  10380
 *
 * and of an Intel Xeon with AVX-512, where ISA-L is not chosen by itself:
 *
 *     ISA-L 2.30                   43   309   332   358           and then a Math.log of 26 ns takes 155
 *     libdeflate 1.14              43    54    75   179
 *
 * ISA-L 2.30 does not clear the upper halves of the registers that it used (VZEROUPPER, Intel's optimization manual, 15.3): until other
 * code does, all SSE code of the process is slower, that of V8's runtime and of koffi included. AMD's processors are not affected.
 *
 * `VERBENA_CRC32` names the one to use: `isa-l`, `libdeflate` or `zlib`.
 */
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { type Koffi, libc, type NativeFunction } from './libc.ts'
import { gated } from './loading.ts'

export interface NativeCrc32 {
  readonly name: string
  /** Length in bytes from which it is faster than slicing-by-8 in JavaScript. */
  readonly fromBytes: number
  /**
   * The CRC of b[start, end) after others whose CRC is `crc`, both as int32: beyond those V8 makes an object of a number.
   */
  update(crc: number, b: Uint8Array, start: number, end: number): number
}

/** The file that the dynamic linker finds, and a function (crc, address, bytes). */
const known = {
  'isa-l': { file: 'libisal.so.2', symbol: 'crc32_gzip_refl' },
  libdeflate: { file: 'libdeflate.so.0', symbol: 'libdeflate_crc32' },
} as const

/** CRC-32 of "123456789". */
const checkValue = 0xcbf43926 | 0

/** The library, or null if it is not there or does not compute what it should. */
function find(koffi: Koffi, name: keyof typeof known): NativeCrc32 | null {
  let call: NativeFunction
  try {
    call = koffi.load(known[name].file).func(known[name].symbol, 'int32_t', ['int32_t', 'uint64_t', 'uint64_t'])
  } catch {
    return null
  }
  // Memory of a buffer stays where it is; nearly all inputs lie in one.
  let buffer: ArrayBufferLike | null = null
  let base = 0
  const update = (crc: number, b: Uint8Array, start: number, end: number): number => {
    if (b.buffer !== buffer) {
      buffer = b.buffer
      base = Number(koffi.address(new Uint8Array(buffer)))
    }
    return call(crc, base + b.byteOffset + start, end - start)
  }
  return update(0, new TextEncoder().encode('123456789'), 0, 9) === checkValue ? { name, fromBytes: 80, update } : null
}

/** Returns zlib's CRC-32. A call costs 100 ns, and a subarray. zlib is loaded on first use, since few programs need it. */
function zlibCrc32(): NativeCrc32 {
  const { crc32 } = createRequire(import.meta.url)('node:zlib') as typeof import('node:zlib')
  return {
    name: 'zlib',
    fromBytes: 256,
    update: (crc, b, start, end) => crc32(b.subarray(start, end), crc >>> 0),
  }
}

/** Returns true if ISA-L would slow down other code on this processor. */
function slowsDown(): boolean {
  return process.arch === 'x64' && cpus()[0]?.model.includes('Intel') === true
}

function fastest(): NativeCrc32 {
  const wanted = process.env.VERBENA_CRC32 ?? ''
  if (libc === null || wanted === 'zlib') return zlibCrc32()
  for (const name of ['isa-l', 'libdeflate'] as const) {
    if (wanted === '' ? name === 'isa-l' && slowsDown() : wanted !== name) continue
    const found = find(libc.koffi, name)
    if (found !== null) return found
  }
  if (wanted !== '' && isMainThread) warn(wanted)
  return zlibCrc32()
}

function warn(wanted: string): void {
  const why = Object.hasOwn(known, wanted) ? 'is not installed here' : 'is none of isa-l, libdeflate and zlib'
  process.emitWarning(`VERBENA_CRC32: '${wanted}' ${why}; zlib is used`, { code: 'VERBENA_CRC32' })
}

let found: NativeCrc32 | undefined

/** The fastest that is installed. Looking for it takes milliseconds, the first time. */
export function nativeCrc32(): NativeCrc32 {
  found ??= gated(fastest)
  return found
}
