/** Packet sequence numbers: 24 bits, compared around the circle. InfiniBand Architecture volume 1, 9.7.1. */

export const psnMask = 0xffffff

export function psnAdd(psn: number, count: number): number {
  return (psn + count) & psnMask
}

/** Returns the distance of `a` ahead of `b`: from −2^23 to 2^23 − 1. */
export function psnDiff(a: number, b: number): number {
  return ((a - b) << 8) >> 8
}
