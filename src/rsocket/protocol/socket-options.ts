/** Options of sockets: those that `setsockopt` and `getsockopt` support, and the values of each socket. */

import {
  IP_TOS,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPPROTO_TCP,
  IPV6_TCLASS,
  IPV6_V6ONLY,
  RDMA_EXTENSIONS,
  RDMA_INLINE,
  RDMA_IOMAPSIZE,
  RDMA_PEERS,
  RDMA_POLLING_TIME,
  RDMA_ROUTE,
  RDMA_RQSIZE,
  RDMA_SHARE,
  RDMA_SQSIZE,
  RDMA_STREAMS,
  SO_BROADCAST,
  SO_KEEPALIVE,
  SO_LINGER,
  SO_OOBINLINE,
  SO_RCVBUF,
  SO_REUSEADDR,
  SO_REUSEPORT,
  SO_SNDBUF,
  SOL_RDMA,
  SOL_SOCKET,
  TCP_CONGESTION,
  TCP_KEEPCNT,
  TCP_KEEPIDLE,
  TCP_KEEPINTVL,
  TCP_MAXSEG,
  TCP_NODELAY,
} from './constants.ts'
import { Errno } from './errno.ts'
import { defaultMaxPeers, defaultMaxStreams, defaultOptions, defaultPollingUs, type StreamOptions } from './options.ts'

/** Default of `tcp_keepalive_time`. */
const keepIdleSeconds = 7200
/** Maximum length of a data message, in place of TCP's segment size. */
const segmentBytes = 65_536

export class SocketOptions {
  stream: StreamOptions = { ...defaultOptions }
  /** Sizes that the program has set. */
  readonly chosen: Set<keyof StreamOptions> = new Set()
  reuseAddr = false
  /** Number by which sockets of a host share a port, if not 0: all sockets that give the same one, and all of them may listen. */
  reusePort = 0
  keepAlive = false
  keepIdleSeconds: number = keepIdleSeconds
  noDelay = true
  oobInline = false
  broadcast = false
  /** Seconds of SO_LINGER; −1: off. */
  lingerSeconds: number = -1
  tos = 0
  v6Only = false
  pollingUs: number = defaultPollingUs
  /** Maximum number of streams of one trunk. */
  maxStreams: number = defaultMaxStreams
  /** Maximum number of addresses that a datagram socket remembers. */
  maxPeers: number = defaultMaxPeers

  /** Returns the options of an accepted socket: those of the listening one. */
  inherit(): SocketOptions {
    const copy = Object.assign(new SocketOptions(), this)
    copy.stream = { ...this.stream }
    Object.assign(copy, { chosen: new Set(this.chosen) })
    return copy
  }
}

interface Option {
  get(options: SocketOptions): number
  /** Sets the option; returns an error number, negative, if the value is invalid. */
  set(options: SocketOptions, value: number): number | undefined
}

type Flags = { [K in keyof SocketOptions]: SocketOptions[K] extends boolean ? K : never }[keyof SocketOptions]

function flag(name: Flags): Option {
  return {
    get: (options) => (options[name] ? 1 : 0),
    set(options, value) {
      options[name] = value !== 0
      return undefined
    },
  }
}

function size(
  name: { [K in keyof StreamOptions]: StreamOptions[K] extends number ? K : never }[keyof StreamOptions],
  twice = false,
): Option {
  return {
    get: (options) => options.stream[name],
    set(options, value) {
      if (!(value >= 0)) return -Errno.EINVAL
      // As Linux does, and as librdmacm does after it.
      options.stream[name] = twice ? value * 2 : value
      options.chosen.add(name)
      return undefined
    },
  }
}

function atLeast(name: 'maxStreams' | 'maxPeers', least: number): Option {
  return {
    get: (options) => options[name],
    set(options, value) {
      if (!(value >= least)) return -Errno.EINVAL
      options[name] = value
      return undefined
    },
  }
}

function fixed(value: number): Option {
  return { get: () => value, set: () => undefined }
}

const key = (level: number, name: number): number => level * 0x1000 + name

const table = new Map<number, Option>([
  [key(SOL_SOCKET, SO_REUSEADDR), flag('reuseAddr')],
  [
    key(SOL_SOCKET, SO_REUSEPORT),
    {
      get: (options) => options.reusePort,
      set(options, value) {
        if (!(value >= 0 && value <= 0x7fffffff)) return -Errno.EINVAL
        options.reusePort = Math.trunc(value)
        return undefined
      },
    },
  ],
  [key(SOL_SOCKET, SO_KEEPALIVE), flag('keepAlive')],
  [key(SOL_SOCKET, SO_OOBINLINE), flag('oobInline')],
  [key(SOL_SOCKET, SO_BROADCAST), flag('broadcast')],
  [key(SOL_SOCKET, SO_SNDBUF), size('sendBufferBytes', true)],
  [key(SOL_SOCKET, SO_RCVBUF), size('receiveBufferBytes', true)],
  [
    key(SOL_SOCKET, SO_LINGER),
    {
      get: (options) => options.lingerSeconds + 1,
      set(options, value) {
        options.lingerSeconds = value
        return undefined
      },
    },
  ],
  [key(IPPROTO_TCP, TCP_NODELAY), flag('noDelay')],
  [key(IPPROTO_TCP, TCP_MAXSEG), fixed(segmentBytes)],
  [
    key(IPPROTO_TCP, TCP_KEEPIDLE),
    {
      get: (options) => options.keepIdleSeconds,
      set(options, value) {
        if (!(value > 0)) return -Errno.EINVAL
        options.keepIdleSeconds = value
        return undefined
      },
    },
  ],
  // The transport retransmits what is not acknowledged.
  [key(IPPROTO_TCP, TCP_KEEPINTVL), fixed(75)],
  [key(IPPROTO_TCP, TCP_KEEPCNT), fixed(9)],
  [key(IPPROTO_TCP, TCP_CONGESTION), fixed(0)],
  [key(IPPROTO_IPV6, IPV6_V6ONLY), flag('v6Only')],
  [key(SOL_RDMA, RDMA_SQSIZE), size('sqSize')],
  [key(SOL_RDMA, RDMA_RQSIZE), size('rqSize')],
  [key(SOL_RDMA, RDMA_INLINE), size('inlineBytes')],
  [key(SOL_RDMA, RDMA_IOMAPSIZE), size('iomapSize')],
  [
    key(SOL_RDMA, RDMA_EXTENSIONS),
    {
      get: (options) => (options.stream.extensions ? 1 : 0),
      set(options, value) {
        options.stream.extensions = value !== 0
        return undefined
      },
    },
  ],
  [
    key(SOL_RDMA, RDMA_SHARE),
    {
      get: (options) => (options.stream.share ? 1 : 0),
      set(options, value) {
        options.stream.share = value !== 0
        return undefined
      },
    },
  ],
  [key(SOL_RDMA, RDMA_STREAMS), atLeast('maxStreams', 1)],
  [key(SOL_RDMA, RDMA_PEERS), atLeast('maxPeers', 2)],
  [
    key(SOL_RDMA, RDMA_POLLING_TIME),
    {
      get: (options) => options.pollingUs,
      set(options, value) {
        if (!(value >= 0)) return -Errno.EINVAL
        options.pollingUs = value
        return undefined
      },
    },
  ],
])
const tos: Option = {
  get: (options) => options.tos,
  set(options, value) {
    if (!(value >= 0 && value <= 255)) return -Errno.EINVAL
    options.tos = value
    return undefined
  },
}
table.set(key(IPPROTO_IP, IP_TOS), tos)
table.set(key(IPPROTO_IPV6, IPV6_TCLASS), tos)

/**
 * Sets an option; returns 0, or an error number, negative. Sizes apply to the next connection: later they are stored and change nothing.
 */
export function setOption(options: SocketOptions, level: number, name: number, value: number): number {
  if (level === SOL_RDMA && name === RDMA_ROUTE) return -Errno.EOPNOTSUPP
  const option = table.get(key(level, name))
  if (option === undefined) return -Errno.ENOPROTOOPT
  return option.set(options, value) ?? 0
}

/** True if this option changes the keepalives. */
export function changesKeepAlive(level: number, name: number): boolean {
  return (level === SOL_SOCKET && name === SO_KEEPALIVE) || (level === IPPROTO_TCP && name === TCP_KEEPIDLE)
}

/** Returns the value, or an error number, negative. */
export function getOption(options: SocketOptions, level: number, name: number): number {
  if (level === SOL_RDMA && name === RDMA_ROUTE) return -Errno.EOPNOTSUPP
  const option = table.get(key(level, name))
  return option === undefined ? -Errno.ENOPROTOOPT : option.get(options)
}
