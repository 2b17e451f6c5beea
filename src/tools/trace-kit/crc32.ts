/**
 * What computes the ICRC of a capture's packets: zlib, which Node.js has in itself, or a faster library of the system, called by koffi.
 * Loading those takes 50 ms of CPU, which they save in 200 MB of packets of 1 KiB (memory/native/crc32.ts): shorter captures are read
 * without them.
 */
import { crc32 } from 'node:zlib'
import { useCrc32 } from '../../trace/index.ts'

/** From this length of the file on, compressed or not. */
const longBytes = 128 * 2 ** 20

/** `bytes`: of the captures that will be read; Infinity for what has no end. VERBENA_CRC32 has the last word. */
export function chooseCrc32(bytes: number): void {
  // As in memory/native/crc32.ts.
  useCrc32({ fromBytes: 256, update: (crc, b, start, end) => crc32(b.subarray(start, end), crc >>> 0) })
  const wanted = process.env.VERBENA_CRC32 ?? ''
  if (wanted === '' ? bytes < longBytes : wanted === 'zlib') return
  // Until it is there, zlib is used.
  void import('./fast-crc32.ts').then(({ useFastCrc32 }) => useFastCrc32())
}
