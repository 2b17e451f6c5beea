/** GUIDs and GIDs as the InfiniBand tools print them. */

/** Returns 16 digits in groups of four. */
export function hexGuid(guid: bigint): string {
  return guid
    .toString(16)
    .padStart(16, '0')
    .replace(/(.{4})(?!$)/g, '$1:')
}

/** Returns an IPv6 address in full; a GID that maps an IPv4 address as ::ffff:a.b.c.d. */
export function fullGidText(gid: Uint8Array): string {
  const mapped = gid.subarray(0, 10).every((byte) => byte === 0) && gid[10] === 0xff && gid[11] === 0xff
  if (mapped) return `::ffff:${gid.subarray(12).join('.')}`
  return Buffer.from(gid)
    .toString('hex')
    .replace(/(.{4})(?!$)/g, '$1:')
}
