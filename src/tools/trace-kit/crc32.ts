/**
 * The implementation that computes the ICRC of a capture's packets: zlib, which is part of Node.js, or a faster library of the system,
 * called by koffi. Loading those takes 50 ms of CPU, which they save in 200 MB of packets of 1 KiB (memory/native/crc32.ts): shorter
 * captures are read without them.
 */
import { crc32 } from 'node:zlib'
import { useCrc32 } from '../../trace/index.ts'

/** Length of a file, compressed or not, from which on the library is loaded. */
const longBytes = 128 * 2 ** 20

/**
 * Chooses the implementation. `bytes`: of the captures that will be read; Infinity for endless ones. VERBENA_CRC32 overrides the choice.
 */
export function chooseCrc32(bytes: number): void {
  // The threshold is that of memory/native/crc32.ts.
  useCrc32({ fromBytes: 256, update: (crc, b, start, end) => crc32(b.subarray(start, end), crc >>> 0) })
  const wanted = process.env.VERBENA_CRC32 ?? ''
  if (wanted === '' ? bytes < longBytes : wanted === 'zlib') return
  // Until the library is loaded, zlib is used.
  void import('./fast-crc32.ts').then(({ useFastCrc32 }) => useFastCrc32())
}
