/** How a file is compressed, by its first bytes. */

export type Compression = 'gzip' | 'zstd'

/** So many bytes tell. */
export const compressionMagicLength = 4

/** Undefined for what is not compressed, or in another way. */
export function compressionOf(bytes: Uint8Array): Compression | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip'
  const zstd = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd
  return zstd ? 'zstd' : undefined
}
