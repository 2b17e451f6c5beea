/**
 * Names and numbers of sockets that rsockets use. Families, levels, options and flags have the numbers of Linux on
 * every platform: they never leave this library. For errors see errno.ts.
 */

export const AF_INET = 2
export const AF_INET6 = 10
/** InfiniBand addressing; here a GID in place of an IP address. */
export const AF_IB = 27

export const SOCK_STREAM = 1
export const SOCK_DGRAM = 2
/** Flag that may be added to the type. */
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

/** Events of `poll`. */
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

/** Level of the options of rsockets themselves (rsocket.h), which must be set before the socket connects or listens. */
export const SOL_RDMA = 0x10000
/** Send queue entries. */
export const RDMA_SQSIZE = 0
/** Receive queue entries: the credits that the peer is granted. */
export const RDMA_RQSIZE = 1
/** Maximum inline data of a work request, bytes. */
export const RDMA_INLINE = 2
/** Maximum number of buffers that the peer may map with `riomap` at a time. */
export const RDMA_IOMAPSIZE = 3
/** Path records; not supported. */
export const RDMA_ROUTE = 4
/** Flag of Verbena: the socket offers extensions of version 1 to a peer that offers them too; default 1. */
export const RDMA_EXTENSIONS = 0x100
/** Microseconds of polling before a sleep; an option of Verbena. */
export const RDMA_POLLING_TIME = 0x101

/** Flag of Verbena: sockets that connect to the same address share a queue pair, if the peer is a Verbena end; default 0. */
export const RDMA_SHARE = 0x102
/** Maximum number of streams on one trunk, beyond which connecting sockets get queue pairs of their own; an option of Verbena. */
export const RDMA_STREAMS = 0x103
/** Maximum number of addresses that a datagram socket remembers; an option of Verbena. */
export const RDMA_PEERS = 0x104

/** Protection of a mapped buffer. */
export const PROT_NONE = 0
export const PROT_READ = 1
export const PROT_WRITE = 2
