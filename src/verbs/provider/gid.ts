/** GIDs (16 bytes) as addresses of multicast groups, and in the tables of a segment. */
import { isIpv4Gid } from '../../wire/index.ts'

export { gidOfIp, isIpv4Gid } from '../../wire/index.ts'

/** IPv6 multicast, or the form that RoCEv2 gives a group of IPv4: ::ffff:224.0.0.0 and above. */
export function isMulticastGid(gid: Uint8Array): boolean {
  return gid[0] === 0xff || (isIpv4Gid(gid) && gid[12]! >> 4 === 0xe)
}

/** Returns true if the GID that begins at word `word` is `gid`. */
export function sameGid(i32: Int32Array, word: number, gid: Uint8Array): boolean {
  const bytes = new Uint8Array(i32.buffer, word * 4, 16)
  return bytes.every((byte, i) => byte === gid[i])
}

/** Writes a GID at word `word`. */
export function writeGid(i32: Int32Array, word: number, gid: Uint8Array): void {
  new Uint8Array(i32.buffer, word * 4, 16).set(gid)
}
