/**
 * Data of a network driver, by the ioctl of ethtool: its name, and its statistics with the names that it gives them. Source:
 * include/uapi/linux/ethtool.h.
 */
import { errnoName, errnos, NativeError } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'

const AF_INET = 2
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
const SIOCETHTOOL = 0x8946
const ETHTOOL_GDRVINFO = 0x3
const ETHTOOL_GSTRINGS = 0x1b
const ETHTOOL_GSTATS = 0x1d
const ETH_SS_STATS = 1

/** struct ifreq: the name, then a pointer. */
const ifreqBytes = 40
const longestName = 15
/** struct ethtool_drvinfo: the driver's name after the command, and how many statistics there are. */
const drvinfo = { bytes: 196, driver: 4, statistics: 180 } as const
const nameBytes = 32
/** The driver may have more by the time of the next call. */
const spare = 256
const mostStatistics = 100_000

export interface EthtoolStatistic {
  readonly name: string
  readonly value: bigint
}

/** Throws NativeError: ENODEV for an unknown interface, EOPNOTSUPP where the driver has none (or there is no koffi). */
export function ethtoolStatistics(name: string): EthtoolStatistic[] {
  return withSocket((fd) => {
    const info = call(fd, name, ETHTOOL_GDRVINFO, drvinfo.bytes, () => {})
    const count = Math.min(info.u32[drvinfo.statistics / 4]!, mostStatistics)
    if (count === 0) return []
    const names = call(fd, name, ETHTOOL_GSTRINGS, 12 + (count + spare) * nameBytes, (u32) => {
      u32[1] = ETH_SS_STATS
      u32[2] = count
    })
    const values = call(fd, name, ETHTOOL_GSTATS, 8 + (count + spare) * 8, (u32) => {
      u32[1] = count
    })
    const words = new BigUint64Array(values.u8.buffer, values.u8.byteOffset + 8, count)
    return Array.from(words, (value, i) => ({ name: textAt(names.u8, 12 + i * nameBytes), value }))
  })
}

/** The name of the network driver: `mlx5_core`, `veth`. Throws as `ethtoolStatistics`. */
export function ethtoolDriver(name: string): string {
  return withSocket((fd) => {
    const info = call(fd, name, ETHTOOL_GDRVINFO, drvinfo.bytes, () => {})
    return textAt(info.u8, drvinfo.driver)
  })
}

function withSocket<T>(use: (fd: number) => T): T {
  const { socket, koffi } = requireLibc('socket')
  const fd = socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0)
  if (fd < 0) throw new NativeError(errnoName(koffi.errno()), koffi.errno(), 'socket', 'no socket for ethtool')
  try {
    return use(fd)
  } finally {
    closeFd(fd)
  }
}

type Scratch = ReturnType<typeof nativeScratch>

/** Native memory is never given back, so each use has its own, which grows. */
const rooms = new Map<number, { bytes: number; scratch: Scratch }>()

function room(use: number, bytes: number): Scratch {
  let found = rooms.get(use)
  if (found === undefined || found.bytes < bytes) {
    found = { bytes: bytes * 2, scratch: nativeScratch(bytes * 2) }
    rooms.set(use, found)
  }
  found.scratch.u8.fill(0)
  return found.scratch
}

function call(fd: number, name: string, command: number, bytes: number, fill: (u32: Uint32Array) => void): Scratch {
  const { ioctl, koffi } = requireLibc('ioctl')
  const bytesOfName = new TextEncoder().encode(name)
  if (bytesOfName.length === 0 || bytesOfName.length > longestName)
    throw new NativeError('ENODEV', errnos.ENODEV, 'ioctl', `'${name}' is no name of an interface`)
  const data = room(command, bytes)
  data.u32[0] = command
  fill(data.u32)
  const request = room(0, ifreqBytes)
  request.u8.set(bytesOfName)
  request.u32[4] = data.address % 2 ** 32
  request.u32[5] = Math.floor(data.address / 2 ** 32)
  if (ioctl(fd, SIOCETHTOOL, request.address) === 0) return data
  const errno = koffi.errno()
  throw new NativeError(errnoName(errno), errno, 'ioctl', `ethtool of ${name} failed`)
}

function textAt(bytes: Uint8Array, at: number): string {
  let end = at
  while (end < at + nameBytes && bytes[end] !== 0) end++
  return new TextDecoder().decode(bytes.slice(at, end))
}
