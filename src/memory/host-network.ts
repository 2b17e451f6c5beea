/**
 * The network of this host, as the kernel has it: the source address and interface of packets to an address, the interfaces and addresses
 * of the host. Each query goes to the kernel by route netlink, so that policy routes, zones and changes count.
 *
 * Without system calls (no koffi) the routes are those of /proc/net/route and /proc/net/ipv6_route: the longest prefix of the main table,
 * with an address of its interface. Rules of policy routing and preferred sources of routes are not seen then. Where there are no such
 * files, an address in the same network as the destination is taken, or else the first.
 */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { parseIp } from '../text/index.ts'
import {
  dumpRequest,
  type HostIfAddress,
  type HostLink,
  type HostRoute,
  linkAndAddressGroups,
  NativeError,
  NetlinkEvents,
  Nl,
  nativeAvailable,
  netlinkDump,
  netlinkRequest,
  parseIfAddress,
  parseLink,
  parseRoute,
  routeRequest,
} from './native/index.ts'
import { type RouteTables, routeInTables } from './route-tables.ts'

const NETLINK_ROUTE = 0

export interface RouteQuestion {
  /** The source that packets have already, 4 or 16 bytes: rules may depend on it. */
  source?: Uint8Array | undefined
  /** The interface that they have to leave by; 0 leaves that to the routes. */
  ifindex?: number
}

/** Queries about a host's network; tests substitute another network. */
export interface HostNetwork {
  /** The route to an address of 4 or 16 bytes; the code of the kernel's error if there is none: `ENETUNREACH`, `EHOSTUNREACH`, … */
  route(to: Uint8Array, question?: RouteQuestion): HostRoute | string
  /** The index of the interface with this name or number; 0 if there is none. */
  interfaceIndex(nameOrNumber: string): number
  /** The name of an interface; undefined if there is none. */
  interfaceName(ifindex: number): string | undefined
}

export const hostNetwork: HostNetwork = {
  route(to, { source, ifindex = 0 } = {}) {
    if (!nativeAvailable) return routeInTables(to, { ifindex, source: source ?? null }, tablesOfSystem())
    try {
      return (
        parseRoute(netlinkRequest(NETLINK_ROUTE, Nl.getRoute, routeRequest(to, source ?? null, ifindex))) ?? 'EPROTO'
      )
    } catch (error) {
      if (error instanceof NativeError) return error.code
      throw error
    }
  },
  interfaceIndex(nameOrNumber) {
    const links = hostLinks()
    const link =
      links.find(({ name }) => name === nameOrNumber) ?? links.find((one) => `${one.ifindex}` === nameOrNumber)
    return link?.ifindex ?? 0
  },
  interfaceName(ifindex) {
    return hostLinks().find((link) => link.ifindex === ifindex)?.name
  },
}

/** The interfaces of this host. */
export function hostLinks(): HostLink[] {
  if (!nativeAvailable) return linksOfNode()
  const found = netlinkDump(NETLINK_ROUTE, Nl.getLink, dumpRequest(), Nl.newLink)
  return found.map((bytes) => parseLink(bytes)).filter((link) => link !== null)
}

/** Addresses of this host, those of interfaces that are down included where the kernel can be queried. */
export function hostIfAddresses(): HostIfAddress[] {
  if (!nativeAvailable) return addressesOfNode()
  const found = netlinkDump(NETLINK_ROUTE, Nl.getAddress, dumpRequest(), Nl.newAddress)
  return found.map((bytes) => parseIfAddress(bytes)).filter((address) => address !== null)
}

/** Returns notifications of changes of links or addresses of this host. Throws NativeError. */
export function watchHostNetwork(): NetlinkEvents {
  return new NetlinkEvents(NETLINK_ROUTE, linkAndAddressGroups)
}

// --- without system calls ------------------------------------------------------------------------------------------------

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

function tablesOfSystem(): RouteTables {
  return {
    ipv4: read('/proc/net/route'),
    ipv6: read('/proc/net/ipv6_route'),
    links: linksOfNode(),
    addresses: addressesOfNode(),
  }
}

/** An interface that the system numbers nowhere has a number of this list. */
function linksOfNode(): HostLink[] {
  return Object.entries(networkInterfaces()).map(([name, infos], i) => {
    const [info] = infos ?? []
    const fact = (file: string): number => Number(read(`/sys/class/net/${name.split(':')[0]}/${file}`))
    return {
      ifindex: fact('ifindex') || infos?.find((one) => one.family === 'IPv6')?.scopeid || i + 1,
      name,
      mtuBytes: fact('mtu') || (info?.internal ? 65_536 : 1500),
      mac: info?.mac ?? '',
      loopback: info?.internal ?? false,
      up: true,
      running: true,
    }
  })
}

function addressesOfNode(): HostIfAddress[] {
  const links = linksOfNode()
  return Object.entries(networkInterfaces()).flatMap(([name, infos]) =>
    (infos ?? []).map((info) => ({
      ifindex: links.find((link) => link.name === name)!.ifindex,
      // Without a zone, as Node writes it.
      address: parseIp(info.address)!,
      prefixBits: Number(info.cidr?.split('/')[1] ?? (info.family === 'IPv4' ? 32 : 128)),
      state: 'usable' as const,
    })),
  )
}
