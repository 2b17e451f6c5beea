/**
 * The VCRC, with which every InfiniBand packet ends and which every hop recomputes: CRC-16 with polynomial 0x100b, bits
 * reflected, from 0xffff, inverted at the end, over all bytes from the LRH to the ICRC. In RoCE, Ethernet's frame check
 * sequence takes its place. Source: InfiniBand Architecture Specification, volume 1, 7.8.2.
 */
const generator = 0xd008

const table = new Uint16Array(256)
for (let v = 0; v < 256; v++) {
  let r = v
  for (let bit = 0; bit < 8; bit++) r = r & 1 ? (r >>> 1) ^ generator : r >>> 1
  table[v] = r
}

/** Returns the VCRC of b[start, end); `end` is the end of the ICRC (of the payload in a raw packet). It follows low byte first. */
export function vcrc(b: Uint8Array, start: number, end: number): number {
  let r = 0xffff
  for (let at = start; at < end; at++) r = table[(r ^ b[at]!) & 255]! ^ (r >>> 8)
  return ~r & 0xffff
}
