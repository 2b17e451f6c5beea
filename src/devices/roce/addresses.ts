/**
 * The addresses of this host, and what RoCE derives from each: a GID (IPv4 as ::ffff:a.b.c.d), the largest path MTU that its interface
 * carries, and a GUID.
 *
 * Their order is that of the GID table of a device on all of them: IPv4, global IPv6, link-local IPv6, then loopback in the same order;
 * within each, by interface. Soft-RoCE has link-local first. Here index 0, which programs take by default, is an address that other hosts
 * reach and that needs no interface index.
 */
import { readFileSync } from 'node:fs'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import {
  type HostIfAddress,
  type HostLink,
  hostIfAddresses,
  hostLinks,
  NativeError,
  nativeAvailable,
} from '../../memory/index.ts'
import { VerbsError } from '../../verbs/provider/index.ts'
import { formatIp, gidOfIp, ipOfGid, parseIp } from '../../wire/index.ts'

export type RoceMtu = 256 | 512 | 1024 | 2048 | 4096

export interface HostAddress {
  /** Bytes of the address, 4 or 16. */
  readonly address: Uint8Array
  /** Text of the address: `10.0.0.7`, `fd00::2`, `fe80::fc:ff:fe00:1%eth0`. */
  readonly text: string
  readonly interface: string
  /** Index of the interface; 0 where the system does not report it. */
  readonly ifindex: number
  /** Zone: `ifindex` for a link-local address, else 0. */
  readonly scopeId: number
  readonly loopback: boolean
  /** Address of the interface in its network: `02:fc:00:00:00:01`. */
  readonly mac: string
  /** MTU of the interface. */
  readonly mtuBytes: number
  readonly roceMtu: RoceMtu
}

/** Properties of an interface that Node's list lacks. */
export interface InterfaceFacts {
  readonly ifindex: number
  readonly mtuBytes: number
}

export interface ParsedAddress {
  /** Bytes of the address, 4 or 16. */
  readonly address: Uint8Array
  /** Zone after the %: name or index of an interface; empty if there is none. */
  readonly zone: string
}

const loopbackMtuBytes = 65_536
const ethernetMtuBytes = 1500

/**
 * Bytes beside the payload in the longest packet that has one: IP 20 or 40, UDP 8, BTH 12, XRCETH 4, RETH 16, ImmDt 4, ICRC 4 (an RDMA
 * WRITE only with immediate, in XRC). IP options and extension headers are not used. (Linux uses 96 for both, since it also counts
 * AtomicETH, whose packets have no payload.)
 */
export function overheadBytes(family: 4 | 6): number {
  return (family === 4 ? 20 : 40) + 8 + 12 + 4 + 16 + 4 + 4
}

/** Returns the largest MTU of InfiniBand whose packets fit: 1024 for Ethernet's 1500 bytes, 4096 for 4200. Never below 256. */
export function roceMtuOf(mtuBytes: number, family: 4 | 6): RoceMtu {
  const room = mtuBytes - overheadBytes(family)
  for (const mtu of [4096, 2048, 1024, 512] as const) if (mtu <= room) return mtu
  return 256
}

function interfaceFacts(name: string): InterfaceFacts | null {
  try {
    // An alias of an address ("eth0:1") is the same interface.
    const folder = `/sys/class/net/${name.split(':')[0]}`
    const [ifindex, mtuBytes] = ['ifindex', 'mtu'].map((file) => Number(readFileSync(`${folder}/${file}`, 'latin1')))
    return { ifindex: ifindex!, mtuBytes: mtuBytes! }
  } catch {
    return null
  }
}

/** Lists the interfaces of the host. Throws EMFILE if the list is not available: requesting it takes a descriptor. */
function interfacesOfHost(): NodeJS.Dict<NetworkInterfaceInfo[]> {
  try {
    return networkInterfaces()
  } catch (error) {
    const { info } = error as { info?: { code?: string } }
    throw notListed(info?.code ?? (error as Error).message)
  }
}

function notListed(why: string): VerbsError {
  return new VerbsError(
    'EMFILE',
    'openDevice',
    `the addresses of this host cannot be listed (${why}): close files or sockets, or raise ulimit -n`,
  )
}

/** Returns every address of every interface that is up, in the order of the GID table: from the kernel's list, or else from Node's. */
export function hostAddresses(): HostAddress[] {
  if (!nativeAvailable) return addressesOfNode()
  try {
    return addressesOnLinks(hostLinks(), hostIfAddresses())
  } catch (error) {
    if (error instanceof NativeError) throw notListed(error.code)
    throw error
  }
}

function addressesOnLinks(links: readonly HostLink[], addresses: readonly HostIfAddress[]): HostAddress[] {
  const found: HostAddress[] = []
  for (const { address, ifindex } of addresses) {
    const link = links.find((one) => one.ifindex === ifindex)
    if (!link?.up) continue
    const linkLocal = isLinkLocal(address)
    found.push({
      address,
      text: formatIp(address) + (linkLocal ? `%${link.name}` : ''),
      interface: link.name,
      ifindex,
      scopeId: linkLocal ? ifindex : 0,
      loopback: link.loopback,
      mac: link.mac,
      mtuBytes: link.mtuBytes,
      roceMtu: roceMtuOf(link.mtuBytes, address.length === 4 ? 4 : 6),
    })
  }
  return inTableOrder(found)
}

/** Returns the same from Node's list, which leaves out interfaces without a carrier. */
export function addressesOfNode(
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = interfacesOfHost(),
  factsOf: (name: string) => InterfaceFacts | null = interfaceFacts,
): HostAddress[] {
  const found: HostAddress[] = []
  for (const [name, infos] of Object.entries(interfaces)) {
    const facts = factsOf(name)
    for (const info of infos ?? []) {
      const parsed = parseAddress(info.address)
      if (parsed === null) continue
      const { address } = parsed
      const mtuBytes = facts?.mtuBytes ?? (info.internal ? loopbackMtuBytes : ethernetMtuBytes)
      const ifindex = facts?.ifindex ?? (info.family === 'IPv6' ? info.scopeid : 0)
      const linkLocal = isLinkLocal(address)
      found.push({
        address,
        text: formatIp(address) + (linkLocal ? `%${name}` : ''),
        interface: name,
        ifindex,
        scopeId: linkLocal ? ifindex : 0,
        loopback: info.internal,
        mac: info.mac,
        mtuBytes,
        roceMtu: roceMtuOf(mtuBytes, address.length === 4 ? 4 : 6),
      })
    }
  }
  return inTableOrder(found)
}

function inTableOrder(found: HostAddress[]): HostAddress[] {
  // Array.prototype.sort is stable: what the system lists first stays first.
  return found.sort((a, b) => rank(a) - rank(b) || a.ifindex - b.ifindex)
}

function rank({ address, loopback }: HostAddress): number {
  return (loopback ? 3 : 0) + (address.length === 4 ? 0 : isLinkLocal(address) ? 2 : 1)
}

/**
 * Returns the address of this host that `text` names: `10.0.0.7`, `fd00::2`, `::ffff:10.0.0.7`, `fe80::1%eth0` (name or index of the
 * interface; without one, if only one interface has it), and every 127.x.y.z, which loopback has without listing them. Undefined if the
 * host has no such address, or `text` is not a valid address.
 */
export function findAddress(
  text: string,
  addresses: readonly HostAddress[] = hostAddresses(),
): HostAddress | undefined {
  const parsed = parseAddress(text)
  if (parsed === null) return undefined
  const { address, zone } = parsed
  const matches = addresses.filter(
    (candidate) =>
      Buffer.compare(candidate.address, address) === 0 &&
      (zone === '' || zone === candidate.interface || zone === String(candidate.ifindex)),
  )
  if (matches.length > 0) return matches.length === 1 || !isLinkLocal(address) ? matches[0] : undefined
  if (address.length !== 4 || address[0] !== 127) return undefined
  const loopback = addresses.find((candidate) => candidate.loopback && candidate.address.length === 4)
  return loopback && { ...loopback, address, text: formatIp(address) }
}

/**
 * Returns the GUID of an adapter on this address: the EUI-64 of the MAC address. Where there is no MAC address, as on loopback, a locally
 * administered one is made of the last four bytes of the address (02:00 and IPv4, 02:01 and IPv6), so that 127.0.0.1 and 127.0.0.2
 * differ.
 */
export function guidOf({ address, mac }: Pick<HostAddress, 'address' | 'mac'>): bigint {
  let bytes = mac.split(':').map((part) => Number.parseInt(part, 16))
  const usable = bytes.length === 6 && bytes.every((byte) => byte >= 0 && byte <= 255) && bytes.some((byte) => byte > 0)
  if (!usable) bytes = [2, address.length === 4 ? 0 : 1, ...address.subarray(-4)]
  const [a, b, c, d, e, f] = bytes as [number, number, number, number, number, number]
  // EUI-64 inverts the bit that indicates "locally administered".
  return [a ^ 2, b, c, 0xff, 0xfe, d, e, f].reduce((guid, byte) => (guid << 8n) | BigInt(byte), 0n)
}

/** Flags of an address in /proc/net/if_inet6: IFA_F_DADFAILED, IFA_F_TENTATIVE. */
const duplicateFlag = 0x08
const tentativeFlag = 0x40

function ipv6Table(): string {
  try {
    return readFileSync('/proc/net/if_inet6', 'latin1')
  } catch {
    return ''
  }
}

/**
 * State of an address in the kernel: `tentative` during duplicate address detection, which takes a second or two after the address was
 * assigned, and during which nothing can be bound to it; `duplicate` if another host has it. `table` has a line for each address: the
 * address, index of the interface, length of the prefix, scope, flags, name.
 */
export function stateOfAddress(
  { address, ifindex }: Pick<HostAddress, 'address' | 'ifindex'>,
  table: string = ipv6Table(),
): 'usable' | 'tentative' | 'duplicate' {
  if (address.length === 4) return 'usable'
  const text = Buffer.from(address).toString('hex')
  for (const line of table.split('\n')) {
    const [known, index = '', , , flags = ''] = line.trim().split(/\s+/)
    if (known !== text || (ifindex !== 0 && Number.parseInt(index, 16) !== ifindex)) continue
    const bits = Number.parseInt(flags, 16)
    if ((bits & duplicateFlag) !== 0) return 'duplicate'
    if ((bits & tentativeFlag) !== 0) return 'tentative'
  }
  return 'usable'
}

/** True for fe80::/10, which needs an interface index. */
export function isLinkLocal(address: Uint8Array): boolean {
  return address.length === 16 && address[0] === 0xfe && (address[1]! & 0xc0) === 0x80
}

/** Parses IPv4, or IPv6 with or without a zone (`%eth0`); null if it is neither. IPv4 in IPv6 (::ffff:a.b.c.d) gives 4 bytes. */
export function parseAddress(text: string): ParsedAddress | null {
  const percent = text.indexOf('%')
  const address = parseIp(percent < 0 ? text : text.slice(0, percent))
  const zone = percent < 0 ? '' : text.slice(percent + 1)
  if (address === undefined || (percent >= 0 && (zone === '' || address.length === 4))) return null
  return { address: ipOfGid(gidOfIp(address)), zone }
}
