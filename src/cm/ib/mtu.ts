/** Path MTUs, which messages carry as codes. */
import type { CmRej } from '../../wire/index.ts'

/** Returns the additional information of a REJ for an invalid path MTU: the code of the greatest MTU that is accepted, in four bits. */
export function mtuInfo(code: number): Uint8Array {
  return Uint8Array.of(code << 4)
}

/** Returns the MTU code that such a REJ accepts; undefined if it gives none. Senders that use the low four bits are supported, too. */
export function acceptedMtu({ additionalInfo, additionalInfoLength }: CmRej): number | undefined {
  if (additionalInfoLength < 1) return undefined
  const [byte = 0] = additionalInfo
  return [byte >> 4, byte & 15].find((code) => code >= 1 && code <= 5)
}

/** Returns the code of a path MTU, 1 for 256 bytes to 5 for 4096. */
export function mtuCode(bytes: number): number {
  return Math.log2(bytes) - 7
}

export function mtuBytes(code: number): number {
  return 128 << code
}
