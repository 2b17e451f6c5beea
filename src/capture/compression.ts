/** Compression of a file, determined from its first bytes. */

export type Compression = 'gzip' | 'zstd'

/** Number of first bytes that determine the compression. */
export const compressionMagicLength = 4

/** Returns the compression; undefined if the bytes are not compressed, or in another format. */
export function compressionOf(bytes: Uint8Array): Compression | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip'
  const zstd = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd
  return zstd ? 'zstd' : undefined
}
