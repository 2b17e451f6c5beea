/** Opening a UDP socket, its options, multicast groups, and what their failures mean. */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { AF_INET, AF_INET6, addressText, familyOf, isMappedIpv4 } from './sockaddr.ts'

const SOCK_DGRAM_NONBLOCK_CLOEXEC = 0o2004002
const IPPROTO_UDP = 17

const SOL_SOCKET = 1
const SOL_IP = 0
const SOL_IPV6 = 41
const SOL_UDP = 17

export interface SocketOption {
  readonly level: number
  readonly name: number
}

const socketNumbers = {
  reuseAddress: 2,
  sendBuffer: 7,
  receiveBuffer: 8,
  sendBufferForce: 32,
  receiveBufferForce: 33,
  /** SO_RXQ_OVFL: a control message with the count of drops, once there were any. */
  dropCount: 40,
} as const

/** noChecksum6: UDP_NO_CHECK6_RX, since RoCEv2 over IPv6 may have checksum 0, which the kernel would drop. */
const udpNumbers = { noChecksum6: 102, segment: 103, coalesce: 104 } as const

const ipv4Numbers = {
  trafficClass4: 1,
  hopLimit4: 2,
  mtuDiscover4: 10,
  receiveHopLimit4: 12,
  receiveTrafficClass4: 13,
  multicastInterface4: 32,
  multicastLoop4: 34,
  join4: 35,
  leave4: 36,
  /** IP_MULTICAST_ALL: without it, a socket gets only the groups that it joined itself. */
  multicastAll4: 49,
} as const

const ipv6Numbers = {
  multicastInterface6: 17,
  multicastLoop6: 19,
  join6: 20,
  leave6: 21,
  mtuDiscover6: 23,
  only6: 26,
  multicastAll6: 29,
  receiveHopLimit6: 51,
  hopLimit6: 52,
  receiveTrafficClass6: 66,
  trafficClass6: 67,
} as const

function options<Name extends string>(
  level: number,
  numbers: Readonly<Record<Name, number>>,
): Record<Name, SocketOption> {
  const entries = Object.entries(numbers) as [Name, number][]
  return Object.fromEntries(entries.map(([key, name]) => [key, { level, name }])) as Record<Name, SocketOption>
}

type OptionName =
  | keyof typeof socketNumbers
  | keyof typeof udpNumbers
  | keyof typeof ipv4Numbers
  | keyof typeof ipv6Numbers

export const Option: Readonly<Record<OptionName, SocketOption>> = {
  ...options(SOL_SOCKET, socketNumbers),
  ...options(SOL_UDP, udpNumbers),
  ...options(SOL_IP, ipv4Numbers),
  ...options(SOL_IPV6, ipv6Numbers),
}

/** IP_PMTUDISC_DO and IPV6_PMTUDISC_DO. */
const pmtudiscDo = 2

const scratch = libc === null ? null : nativeScratch(32)

/** Sets an option to a number; returns 0 or an errno. */
export function setOption(fd: number, { level, name }: SocketOption, value: number): number {
  const { setsockopt, koffi } = requireLibc('setsockopt')
  scratch!.u32[0] = value
  return setsockopt(fd, level, name, scratch!.address, 4) === 0 ? 0 : koffi.errno()
}

/** The number that an option has. */
export function option(fd: number, { level, name }: SocketOption): number {
  const { getsockopt, koffi } = requireLibc('getsockopt')
  scratch!.u32[4] = 4
  if (getsockopt(fd, level, name, scratch!.address, scratch!.address + 16) === 0) return scratch!.u32[0]! | 0
  throw nativeError('getsockopt', errnoName(koffi.errno()), koffi.errno(), `the socket ${fd} does not tell`)
}

/** A socket with everything set that is the same for all; not bound. */
export function openUdp(family: 4 | 6, receiveBufferBytes: number, sendBufferBytes: number): number {
  const { socket, koffi } = requireLibc('socket')
  const fd = socket(family === 4 ? AF_INET : AF_INET6, SOCK_DGRAM_NONBLOCK_CLOEXEC, IPPROTO_UDP)
  if (fd < 0) {
    const errno = koffi.errno()
    const what = `no IPv${family} UDP socket could be opened`
    if (errno === errnos.EAFNOSUPPORT)
      throw new NativeError('EAFNOSUPPORT', errno, 'socket', `${what}: IPv${family} is turned off on this machine`)
    throw nativeError('socket', errnoName(errno), errno, what)
  }
  const four = family === 4
  if (!four) {
    setOption(fd, Option.only6, 1)
    setOption(fd, Option.noChecksum6, 1)
  }
  // Above net.core.rmem_max only with CAP_NET_ADMIN; up to it for all processes.
  if (setOption(fd, Option.receiveBufferForce, receiveBufferBytes) !== 0)
    setOption(fd, Option.receiveBuffer, receiveBufferBytes)
  if (setOption(fd, Option.sendBufferForce, sendBufferBytes) !== 0) setOption(fd, Option.sendBuffer, sendBufferBytes)
  setOption(fd, four ? Option.mtuDiscover4 : Option.mtuDiscover6, pmtudiscDo)
  setOption(fd, four ? Option.receiveTrafficClass4 : Option.receiveTrafficClass6, 1)
  setOption(fd, four ? Option.receiveHopLimit4 : Option.receiveHopLimit6, 1)
  setOption(fd, four ? Option.multicastAll4 : Option.multicastAll6, 0)
  setOption(fd, four ? Option.multicastLoop4 : Option.multicastLoop6, 1)
  setOption(fd, Option.dropCount, 1)
  // Linux 5.0; without it each datagram is received by itself.
  setOption(fd, Option.coalesce, 1)
  return fd
}

/** An address that every machine has, and that is not this one. */
export const otherThan = (address: string): string => (address === '127.0.0.2' ? '127.0.0.3' : '127.0.0.2')

/** Returns the meaning, for the user, of a bind that failed with `code`, such as 'EADDRINUSE'; undefined for other codes. */
export function bindAdvice(code: string | undefined, address: string, port: number): string | undefined {
  const where = `UDP port ${port} of ${address}`
  const text: Record<string, string> = {
    EADDRINUSE: `${where} is in use: another roce device of this machine has it (or, with port 4791, the kernel's own RoCE, rdma_rxe); close that, or use another address, such as ${otherThan(address)}`,
    EADDRNOTAVAIL: `${address} is not an address of this machine: 'ip address' lists those that are`,
    EACCES: `${where} could not be bound: ports below 1024 need CAP_NET_BIND_SERVICE`,
    EPERM: `${where} could not be bound: a policy of this system or container forbids it`,
    EINVAL: `${where} could not be bound: a link-local address needs its interface, as in fe80::1%eth0`,
    ENODEV: `${where} could not be bound: there is no such interface`,
  }
  return text[code ?? '']
}

/** A bind that failed, with what it means for the user. */
export function bindError(errno: number, address: string, port: number): NativeError {
  const code = errnoName(errno)
  const text = bindAdvice(code, address, port) ?? `UDP port ${port} of ${address} could not be bound`
  return new NativeError(code, errno, 'bind', text)
}

/** Joins or leaves a group on an interface, or makes it the one through which multicast leaves. */
export function groupOption(
  fd: number,
  family: 4 | 6,
  what: 'join' | 'leave' | 'interface',
  group: Uint8Array | null,
  interfaceIndex: number,
): void {
  const { setsockopt, koffi } = requireLibc('setsockopt')
  const { u8, u32, address } = scratch!
  u8.fill(0)
  if (group !== null && (familyOf(group) !== family || !isMulticast(group)))
    throw new NativeError(
      'EINVAL',
      errnos.EINVAL,
      'setsockopt',
      `${addressText(group)} is not an IPv${family} multicast group (${family === 4 ? '224.0.0.0/4' : 'ff00::/8'})`,
    )
  let result: number
  if (family === 4) {
    // struct ip_mreqn: group, address of the interface, its index.
    if (group !== null) u8.set(group.subarray(-4))
    u32[2] = interfaceIndex
    const names = { join: Option.join4, leave: Option.leave4, interface: Option.multicastInterface4 }
    result = setsockopt(fd, SOL_IP, names[what].name, address, 12)
  } else if (group === null) {
    result = setOption(fd, Option.multicastInterface6, interfaceIndex)
  } else {
    // struct ipv6_mreq: group, index of the interface.
    u8.set(group)
    u32[4] = interfaceIndex
    result = setsockopt(fd, SOL_IPV6, (what === 'join' ? Option.join6 : Option.leave6).name, address, 20)
  }
  if (result === 0) return
  const errno = koffi.errno()
  const name = group === null ? 'multicast' : addressText(group)
  const text: Record<number, string> = {
    [errnos.ENODEV]: `there is no interface ${interfaceIndex} for ${name}: name one that carries multicast`,
    [errnos.EADDRINUSE]: `the socket is in the group ${name} already`,
    [errnos.EADDRNOTAVAIL]: `the socket is not in the group ${name}, or there is no interface ${interfaceIndex}`,
    [errnos.ENOBUFS]: `the socket is in too many groups: raise net.ipv4.igmp_max_memberships`,
  }
  throw new NativeError(errnoName(errno), errno, 'setsockopt', text[errno] ?? `${name}: ${what} failed`)
}

/** True for an IPv4 (either form) or IPv6 multicast address. */
export function isMulticast(address: Uint8Array): boolean {
  if (address.length === 16 && !isMappedIpv4(address)) return address[0] === 0xff
  return (address[address.length - 4]! & 0xf0) === 0xe0
}
