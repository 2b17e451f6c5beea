/**
 * The names and numbers of sockets that rsockets use. Families, levels, options and flags have the numbers of Linux on
 * every platform: they never leave this library. Errors have the numbers of the system, as `os.constants.errno` has them.
 */
import { constants } from 'node:os'

export const AF_INET = 2
export const AF_INET6 = 10
/** InfiniBand addressing; here a GID in place of an IP address. */
export const AF_IB = 27

export const SOCK_STREAM = 1
export const SOCK_DGRAM = 2
/** May be added to the type. */
export const SOCK_NONBLOCK = 0o4000

export const IPPROTO_IP = 0
export const IPPROTO_TCP = 6
export const IPPROTO_UDP = 17
export const IPPROTO_IPV6 = 41

export const SHUT_RD = 0
export const SHUT_WR = 1
export const SHUT_RDWR = 2

export const MSG_PEEK = 2
export const MSG_DONTWAIT = 0x40
export const MSG_WAITALL = 0x100
export const MSG_NOSIGNAL = 0x4000

/** `poll` events. */
export const POLLIN = 1
export const POLLPRI = 2
export const POLLOUT = 4
export const POLLERR = 8
export const POLLHUP = 16
export const POLLNVAL = 32

export const F_GETFD = 1
export const F_SETFD = 2
export const F_GETFL = 3
export const F_SETFL = 4
export const O_RDWR = 2
export const O_NONBLOCK = 0o4000

export const SOL_SOCKET = 1
export const SO_REUSEADDR = 2
export const SO_TYPE = 3
export const SO_ERROR = 4
export const SO_BROADCAST = 6
export const SO_SNDBUF = 7
export const SO_RCVBUF = 8
export const SO_KEEPALIVE = 9
export const SO_OOBINLINE = 10
export const SO_LINGER = 13
export const SO_REUSEPORT = 15
export const SO_ACCEPTCONN = 30

export const TCP_NODELAY = 1
export const TCP_MAXSEG = 2
export const TCP_KEEPIDLE = 4
export const TCP_KEEPINTVL = 5
export const TCP_KEEPCNT = 6
export const TCP_CONGESTION = 13

export const IP_TOS = 1
export const IPV6_UNICAST_HOPS = 16
export const IPV6_V6ONLY = 26
export const IPV6_TCLASS = 67

/** Options of rsockets themselves, of rsocket.h; to be set before the socket connects or listens. */
export const SOL_RDMA = 0x10000
/** Places of the send queue. */
export const RDMA_SQSIZE = 0
/** Places of the receive queue: the credits that the peer gets. */
export const RDMA_RQSIZE = 1
/** Bytes that go inside a work request. */
export const RDMA_INLINE = 2
/** Buffers that the peer may map with `riomap` at a time. */
export const RDMA_IOMAPSIZE = 3
/** The path records; not supported. */
export const RDMA_ROUTE = 4
/** Ours: whether the socket offers what is better than version 1 to a peer that offers it too; 1 unless told. */
export const RDMA_EXTENSIONS = 0x100
/** Ours: microseconds to poll before sleeping. */
export const RDMA_POLLING_TIME = 0x101

/** Ours: sockets that connect to the same address share a queue pair, if the peer is a Verbena end; 0 unless told. */
export const RDMA_SHARE = 0x102
/** Of ours: streams on one trunk at most. Beyond that connecting sockets get queue pairs of their own. */
export const RDMA_STREAMS = 0x103
/** Of ours: addresses that a datagram socket remembers at most. */
export const RDMA_PEERS = 0x104

/** Protection of a mapped buffer. */
export const PROT_NONE = 0
export const PROT_READ = 1
export const PROT_WRITE = 2

const errnoNames = [
  'EAGAIN',
  'EALREADY',
  'EADDRINUSE',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EBADF',
  'EBUSY',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EDESTADDRREQ',
  'EFAULT',
  'EHOSTUNREACH',
  'EINPROGRESS',
  'EINTR',
  'EINVAL',
  'EIO',
  'EISCONN',
  'EMFILE',
  'EMSGSIZE',
  'ENETUNREACH',
  'ENOBUFS',
  'ENODEV',
  'ENOMEM',
  'ENOPROTOOPT',
  'ENOTCONN',
  'EOPNOTSUPP',
  'EPIPE',
  'EPROTO',
  'EPROTONOSUPPORT',
  'ETIMEDOUT',
] as const
export type ErrnoName = (typeof errnoNames)[number]

/** Numbers of the errors that rsockets give; a call that fails returns one, negative. */
export const Errno: Readonly<Record<ErrnoName, number>> = Object.fromEntries(
  errnoNames.map((name) => [name, constants.errno[name]]),
) as Record<ErrnoName, number>

const names = new Map<number, ErrnoName>(Object.entries(Errno).map(([name, n]) => [n, name as ErrnoName]))

/** `ECONNRESET` for 104 or −104; `EIO` for a number that has no name here. */
export function errnoName(number: number): ErrnoName {
  return names.get(Math.abs(number)) ?? 'EIO'
}

const texts: Readonly<Record<ErrnoName, string>> = {
  EAGAIN: 'it would have to wait: try again when the socket is ready',
  EALREADY: 'a connection is being made already',
  EADDRINUSE: 'another socket has the address and port: choose another port',
  EADDRNOTAVAIL: 'the address is not one of this machine and its RDMA devices',
  EAFNOSUPPORT: 'the address is of another family than the socket',
  EBADF: 'the socket is closed',
  EBUSY: 'something else uses it',
  ECONNABORTED: 'the connection ended before it was accepted',
  ECONNREFUSED: 'nobody listens there, or the peer refused the connection',
  ECONNRESET: 'the peer ended the connection, or broke the protocol',
  EDESTADDRREQ: 'there is no address to send to: connect first, or give one',
  EFAULT: 'the buffer lies outside the memory that was given',
  EHOSTUNREACH: 'no RDMA device leads to this address',
  EINPROGRESS: 'the connection is being made',
  EINTR: 'the call was interrupted',
  EINVAL: 'an argument is wrong, or the socket is not in a state for this',
  EIO: 'the device failed',
  EISCONN: 'the socket is connected already',
  EMFILE: 'the process has as many descriptors as it may',
  EMSGSIZE: 'the message is longer than a datagram can be',
  ENETUNREACH: 'there is no route to this address',
  ENOBUFS: 'no buffer is free',
  ENODEV: 'there is no such device',
  ENOMEM: 'there is no memory left for this',
  ENOPROTOOPT: 'there is no such option',
  ENOTCONN: 'the socket is not connected',
  EOPNOTSUPP: 'this kind of socket cannot do that',
  EPIPE: 'this side of the connection was shut down for sending',
  EPROTO: 'the peer broke the protocol',
  EPROTONOSUPPORT: 'there is no such protocol for this type of socket',
  ETIMEDOUT: 'the peer does not answer',
}

/** What an error number means, and what to do. */
export function errnoText(number: number): string {
  return texts[errnoName(number)]
}
