/** Addresses of ports as programs exchange them: LID, GID, and which entry of the GID table to use. */
import { type AhAttr, type Context, LinkLayer, VerbsError } from '../../verbs/index.ts'
import { UsageError } from './usage.ts'

/** Address of a port that a message is sent to. A GID of zeros means none: the LID alone is the address. */
export interface PortAddress {
  lid: number
  /** GID of 16 bytes. */
  gid: Uint8Array
}

export interface LocalPort extends PortAddress {
  port: number
  /** Index of the source GID. −1: messages carry no GRH. */
  gidIndex: number
  ethernet: boolean
  /** Bytes of the active MTU. */
  activeMtu: number
}

/**
 * Returns the address of a port; `gidFlag` is the option that chose the GID. `gidIndex` −1 leaves the choice: on InfiniBand no GID; on
 * Ethernet, where a GID is required, the first one that maps an IPv4 address, or else the first.
 */
export function localPort(context: Context, port: number, gidIndex: number, gidFlag: string): LocalPort {
  const ports = context.queryDevice().physPortCnt
  if (port > ports)
    throw new UsageError('-i', `${context.name} has ${ports === 1 ? 'one port, 1' : `the ports 1 to ${ports}`}`)
  const { lid, linkLayer, activeMtu } = context.queryPort(port)
  const ethernet = linkLayer === LinkLayer.Ethernet
  const chosen = gidIndex >= 0 || !ethernet ? gidIndex : defaultGidIndex(context)
  return {
    lid,
    gid: chosen < 0 ? new Uint8Array(16) : gidAt(context, port, chosen, gidFlag),
    port,
    gidIndex: chosen,
    ethernet,
    activeMtu,
  }
}

function gidAt(context: Context, port: number, index: number, flag: string): Uint8Array {
  try {
    return context.queryGid(port, index)
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error
    const { length } = context.queryGidTable()
    const has = length === 1 ? 'one GID, 0' : `${length} GIDs, 0 to ${length - 1}`
    throw new UsageError(flag, `${context.name} has ${has} (\`verbena devinfo -v\`)`)
  }
}

function defaultGidIndex(context: Context): number {
  const table = context.queryGidTable()
  const chosen = table.find(({ gid }) => mapsIpv4(gid)) ?? table[0]
  if (!chosen)
    throw new UsageError(
      '-d',
      `${context.name} has no GID: its network interface has no address (\`verbena devinfo -v\`)`,
    )
  return chosen.gidIndex
}

/** Returns the address vector from a port to a peer's. */
export function addressVector(local: LocalPort, remote: PortAddress, sl: number): AhAttr {
  const plain = { dlid: remote.lid, sl, portNum: local.port }
  if (isZero(remote.gid)) return plain
  return { ...plain, grh: { dgid: remote.gid, sgidIndex: Math.max(0, local.gidIndex), hopLimit: 64 } }
}

export function isZero(gid: Uint8Array): boolean {
  return gid.every((byte) => byte === 0)
}

function mapsIpv4(gid: Uint8Array): boolean {
  return gid.subarray(0, 10).every((byte) => byte === 0) && gid[10] === 0xff && gid[11] === 0xff
}

/** Returns a GID as inet_ntop writes an IPv6 address: `::`, `fe80::1`, `::ffff:10.0.0.7`. */
export function gidText(gid: Uint8Array): string {
  if (mapsIpv4(gid)) return `::ffff:${gid.subarray(12).join('.')}`
  const groups = gidHex(gid).replace(/(.{4})(?!$)/g, '$1:')
  return new URL(`http://[${groups}]`).hostname.slice(1, -1)
}

/** Returns 32 hexadecimal digits. */
export function gidHex(gid: Uint8Array): string {
  return Buffer.from(gid).toString('hex')
}

/** Parses 32 hexadecimal digits; undefined if the text is not valid. */
export function gidFromHex(text: string): Uint8Array | undefined {
  return /^[0-9a-f]{32}$/i.test(text) ? new Uint8Array(Buffer.from(text, 'hex')) : undefined
}
