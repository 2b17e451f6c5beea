/** GIDs: 16 bytes, in form an IPv6 address. */

/** IPv6 multicast, or the form that RoCEv2 gives a group of IPv4: ::ffff:224.0.0.0 and above. */
export function isMulticastGid(gid: Uint8Array): boolean {
  return gid[0] === 0xff || (isMappedGid(gid) && gid[12]! >> 4 === 0xe)
}

/** Whether a GID is an IPv4 address: ::ffff:a.b.c.d. */
export function isMappedGid(gid: Uint8Array): boolean {
  if (gid[10] !== 0xff || gid[11] !== 0xff) return false
  for (let i = 0; i < 10; i++) if (gid[i] !== 0) return false
  return true
}

/** The GID of an IPv4 address. */
export function mappedGid(ipv4: Uint8Array): Uint8Array {
  const gid = new Uint8Array(16).fill(0xff, 10, 12)
  gid.set(ipv4, 12)
  return gid
}

/** Whether the GID that begins at word `word` is `gid`. */
export function sameGid(i32: Int32Array, word: number, gid: Uint8Array): boolean {
  const bytes = new Uint8Array(i32.buffer, word * 4, 16)
  return bytes.every((byte, i) => byte === gid[i])
}

/** Writes a GID at word `word`. */
export function writeGid(i32: Int32Array, word: number, gid: Uint8Array): void {
  new Uint8Array(i32.buffer, word * 4, 16).set(gid)
}
