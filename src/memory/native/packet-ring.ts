/**
 * Frames of a network interface, as they are on the wire: a packet socket (packet(7)) with a ring of blocks that the kernel fills and this
 * thread empties (TPACKET_V3), so that no call is made for a packet. A classic BPF program in the kernel chooses which frames come at all.
 *
 * A block begins with its status, count and the offset of its first frame; each frame with struct tpacket3_hdr, followed by struct
 * sockaddr_ll. Source: include/uapi/linux/if_packet.h.
 *
 * The kernel takes the outer VLAN tag off a frame and reports it separately; it is put back here, so that what is captured is what was on
 * the wire.
 */
import { release } from 'node:os'
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'
import { mapDescriptor, unmap } from './mapping.ts'
import { closeFd } from './poll.ts'

const AF_PACKET = 17
const SOCK_RAW_CLOEXEC = 3 | 0o2000000
const SOL_SOCKET = 1
const SO_ERROR = 4
const SO_ATTACH_FILTER = 26
const SOL_PACKET = 263
const PACKET_ADD_MEMBERSHIP = 1
const PACKET_RX_RING = 5
const PACKET_STATISTICS = 6
const PACKET_VERSION = 10
const PACKET_RESERVE = 12
const PACKET_VNET_HDR = 15
const TPACKET_V3 = 2
const PACKET_MR_PROMISC = 1
/** htons(ETH_P_ALL) on a little-endian machine. */
const allProtocols = 0x0300
/** Offsets of struct virtio_net_hdr, which precedes each frame if it is requested, from the frame. */
const VirtualHeader = { gsoType: -9, gsoSize: -6 } as const
const gsoUdp = 5
/**
 * First version of the kernel that reports segments of UDP; earlier ones drop such frames if the header is requested
 * (VIRTIO_NET_HDR_GSO_UDP_L4).
 */
const kernelWithSegments = [6, 2] as const
/** Room for a VLAN tag before each frame. */
const tagBytes = 4

const Block = { status: 8, packets: 12, first: 16 } as const
const Frame = {
  next: 0,
  sec: 4,
  nsec: 8,
  snaplen: 12,
  len: 16,
  status: 20,
  mac: 24,
  tci: 32,
  tpid: 36,
  address: 48,
} as const
const Address = { ifindex: 4, pkttype: 10 } as const
const statusKernel = 0
const statusUser = 1
const vlanValid = 1 << 4
const vlanTpidValid = 1 << 6
const vlanEtherType = 0x8100
const outgoing = 4

/** Instruction of classic BPF: struct sock_filter. */
export interface BpfInstruction {
  readonly code: number
  readonly jt: number
  readonly jf: number
  readonly k: number
}

export interface PacketRingOptions {
  /** Index of the interface; 0: all interfaces. */
  readonly interfaceIndex: number
  /** Classic BPF program that returns the number of bytes of a frame that are captured, 0 for none. */
  readonly filter: readonly BpfInstruction[]
  /** Bytes of the whole ring, rounded to blocks; 64 MiB. */
  readonly ringBytes?: number
  /** Frames for other hosts, too. */
  readonly promiscuous?: boolean
  /**
   * Flag: report the segment length of frames that are several UDP datagrams, where the kernel can (Linux 6.2). The filter must let no
   * frames of other protocols pass that the kernel aggregates: for some of them it has no type in this header, and it drops them.
   */
  readonly segments?: boolean
}

/** A frame in the ring: valid until the handler returns. */
export class RingPacket {
  offset = 0
  length = 0
  /** Length on the wire. */
  originalLength = 0
  /** Time of day. */
  seconds = 0
  nanoseconds = 0
  interfaceIndex = 0
  /** True if this host sends the frame. */
  outbound = false
  /** Payload bytes of each datagram if the frame is several UDP datagrams with one header (the last one may have less); else 0. */
  segmentBytes = 0
}

/** The interface's number, 0 if there is none of this name. */
export function interfaceIndex(name: string): number {
  const { ifNametoindex } = requireLibc('if_nametoindex')
  return ifNametoindex(name)
}

const blockBytes = 1 << 20
/** Frames are of different lengths; the kernel wants a size all the same. */
const frameBytes = 1 << 11
/** A block that is not full is handed over after this time. */
const retireMs = 50

export class PacketRing {
  readonly fd: number
  readonly #buffer: ArrayBuffer
  readonly #bytes: Uint8Array
  readonly #words: Int32Array
  readonly #blocks: number
  readonly #packet = new RingPacket()
  readonly #segments: boolean
  #block = 0
  #received = 0
  #dropped = 0
  #open = true

  private constructor(fd: number, buffer: ArrayBuffer, segments: boolean) {
    this.fd = fd
    this.#segments = segments
    this.#buffer = buffer
    this.#bytes = new Uint8Array(buffer)
    this.#words = new Int32Array(buffer)
    this.#blocks = buffer.byteLength / blockBytes
  }

  /** Throws NativeError: EPERM without CAP_NET_RAW, ENODEV, ENOMEM, EOPNOTSUPP (no koffi here). */
  static open(options: PacketRingOptions): PacketRing {
    const { socket, koffi } = requireLibc('socket')
    // Of no protocol: nothing comes before the filter is there.
    const fd = socket(AF_PACKET, SOCK_RAW_CLOEXEC, 0)
    if (fd < 0) {
      const errno = koffi.errno()
      const why =
        errno === errnos.EPERM || errno === errnos.EACCES
          ? 'it needs the capability CAP_NET_RAW: run as root, or setcap cap_net_raw+ep on the node binary'
          : 'the system has no packet sockets'
      throw new NativeError(errnoName(errno), errno, 'socket', `packets cannot be captured: ${why}`)
    }
    try {
      return PacketRing.#configured(fd, options)
    } catch (error) {
      closeFd(fd)
      throw error
    }
  }

  static #configured(fd: number, options: PacketRingOptions): PacketRing {
    const { interfaceIndex: index, filter, ringBytes = 64 << 20, promiscuous = false } = options
    const blocks = Math.max(2, Math.ceil(ringBytes / blockBytes))
    attach(fd, filter)
    set(fd, SOL_PACKET, PACKET_VERSION, [TPACKET_V3], 'the kernel has no rings of version 3 (Linux 3.2)')
    set(fd, SOL_PACKET, PACKET_RESERVE, [tagBytes], 'no room for VLAN tags')
    const segments = options.segments === true && isKernel(kernelWithSegments)
    if (segments) set(fd, SOL_PACKET, PACKET_VNET_HDR, [1], 'no lengths of segments')
    const ring = [blockBytes, blocks, frameBytes, (blockBytes / frameBytes) * blocks, retireMs, 0, 0]
    set(fd, SOL_PACKET, PACKET_RX_RING, ring, `no ring of ${blocks} MiB could be made: ask for a smaller one`)
    const buffer = mapDescriptor(fd, blocks * blockBytes, 'the ring of packets could not be mapped')
    try {
      bindTo(fd, index)
      if (promiscuous && index !== 0)
        set(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, [index, PACKET_MR_PROMISC, 0, 0], 'no promiscuous mode')
      return new PacketRing(fd, buffer, segments)
    } catch (error) {
      unmap(buffer)
      throw error
    }
  }

  /** Memory of the ring, in which packets have their offsets. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /**
   * Hands the frames of at most `mostBlocks` blocks to the handler, and returns how many frames they were. A block goes back to
   * the kernel when the handler has had all of it.
   */
  drain(onPacket: (packet: RingPacket) => void, mostBlocks: number): number {
    const words = this.#words
    const packet = this.#packet
    let count = 0
    for (let n = 0; n < mostBlocks; n++) {
      if (!this.#isHandedOver(this.#block)) break
      const block = this.#block * blockBytes
      const packets = words[(block + Block.packets) >> 2]!
      let at = block + words[(block + Block.first) >> 2]!
      for (let i = 0; i < packets; i++) {
        this.#read(at, packet)
        onPacket(packet)
        at += words[(at + Frame.next) >> 2]!
      }
      count += packets
      Atomics.store(words, (block + Block.status) >> 2, statusKernel)
      this.#block = this.#block + 1 === this.#blocks ? 0 : this.#block + 1
    }
    return count
  }

  /** Blocks that wait to be drained. */
  get waiting(): number {
    let waiting = 0
    while (waiting < this.#blocks && this.#isHandedOver((this.#block + waiting) % this.#blocks)) waiting++
    return waiting
  }

  /** The share of its blocks that wait to be drained, 0 to 1. */
  get fill(): number {
    return this.waiting / this.#blocks
  }

  /** The time of the first frame that waits to be drained, in milliseconds since 1970; Infinity if none does. */
  get nextMs(): number {
    if (!this.#isHandedOver(this.#block)) return Number.POSITIVE_INFINITY
    const words = this.#words
    const block = this.#block * blockBytes
    const frame = (block + words[(block + Block.first) >> 2]!) >> 2
    return (words[frame + (Frame.sec >> 2)]! >>> 0) * 1000 + words[frame + (Frame.nsec >> 2)]! / 1e6
  }

  #isHandedOver(block: number): boolean {
    return (Atomics.load(this.#words, (block * blockBytes + Block.status) >> 2) & statusUser) !== 0
  }

  #read(at: number, packet: RingPacket): void {
    const words = this.#words
    const bytes = this.#bytes
    const word = at >> 2
    packet.seconds = words[word + 1]! >>> 0
    packet.nanoseconds = words[word + 2]!
    packet.length = words[word + 3]!
    packet.originalLength = words[word + 4]!
    packet.offset = at + (words[word + 6]! & 0xffff)
    packet.interfaceIndex = words[(at + Frame.address + Address.ifindex) >> 2]!
    packet.outbound = bytes[at + Frame.address + Address.pkttype] === outgoing
    packet.segmentBytes = this.#segments ? segmentBytes(bytes, packet.offset) : 0
    const status = words[word + 5]!
    if ((status & vlanValid) !== 0 && packet.length >= 12) {
      const tpid = (status & vlanTpidValid) === 0 ? vlanEtherType : words[word + 9]! & 0xffff
      const tci = words[word + 8]!
      const start = packet.offset - tagBytes
      bytes.copyWithin(start, packet.offset, packet.offset + 12)
      bytes[start + 12] = tpid >> 8
      bytes[start + 13] = tpid
      bytes[start + 14] = tci >> 8
      bytes[start + 15] = tci
      packet.offset = start
      packet.length += tagBytes
      packet.originalLength += tagBytes
    }
  }

  /**
   * Returns the numbers of frames since the ring was opened: those that passed the filter (those dropped included), and those for which it
   * had no room.
   */
  statistics(): { received: number; dropped: number } {
    const { getsockopt } = requireLibc('getsockopt')
    const { u32, address } = scratch()
    u32[0] = 12
    // Reading sets the kernel's counts to 0.
    if (this.#open && getsockopt(this.fd, SOL_PACKET, PACKET_STATISTICS, address + 8, address) === 0) {
      this.#received += u32[2]!
      this.#dropped += u32[3]!
    }
    return { received: this.#received, dropped: this.#dropped }
  }

  /**
   * True if the interface went down since the last call. Until it is called the descriptor counts as readable; frames come again when
   * the interface is up again, and never if it has gone.
   */
  takeDown(): boolean {
    const { getsockopt } = requireLibc('getsockopt')
    const { u32, address } = scratch()
    u32[0] = 4
    return getsockopt(this.fd, SOL_SOCKET, SO_ERROR, address + 8, address) === 0 && u32[2] !== 0
  }

  close(): void {
    if (!this.#open) return
    this.statistics()
    this.#open = false
    unmap(this.#buffer)
    closeFd(this.fd)
  }
}

/** struct sock_fprog and its instructions, of which the kernel takes 4096; all else is smaller. */
const scratchBytes = 16 + 4096 * 8
let shared: ReturnType<typeof nativeScratch> | undefined

/** Native memory is never given back, so all calls of the thread have the same. */
function scratch(): ReturnType<typeof nativeScratch> {
  shared ??= nativeScratch(scratchBytes)
  return shared
}

function set(fd: number, level: number, name: number, values: readonly number[], failed: string): void {
  const { setsockopt, koffi } = requireLibc('setsockopt')
  const { u32, address } = scratch()
  values.forEach((value, i) => {
    u32[i] = value
  })
  if (setsockopt(fd, level, name, address, values.length * 4) === 0) return
  const errno = koffi.errno()
  throw new NativeError(errnoName(errno), errno, 'setsockopt', failed)
}

/** struct sock_fprog: the count, and where the instructions of eight bytes are. */
function attach(fd: number, filter: readonly BpfInstruction[]): void {
  const { setsockopt, koffi } = requireLibc('setsockopt')
  const { u32, address } = scratch()
  const at = address + 16
  u32[0] = filter.length
  u32[2] = at % 2 ** 32
  u32[3] = Math.floor(at / 2 ** 32)
  filter.forEach(({ code, jt, jf, k }, i) => {
    u32[4 + 2 * i] = code | (jt << 16) | (jf << 24)
    u32[5 + 2 * i] = k
  })
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, address, 16) === 0) return
  const errno = koffi.errno()
  throw nativeError(
    'setsockopt',
    errnoName(errno),
    errno,
    `the kernel rejects the filter of ${filter.length} instructions`,
  )
}

function bindTo(fd: number, index: number): void {
  const { bind, koffi } = requireLibc('bind')
  const { u32, address } = scratch()
  u32.fill(0, 0, 5)
  u32[0] = AF_PACKET | (allProtocols << 16)
  u32[1] = index
  if (bind(fd, address, 20) === 0) return
  const errno = koffi.errno()
  const why =
    errno === errnos.ENODEV ? 'it has gone' : errno === errnos.ENETDOWN ? 'it is down: ip link set … up' : 'bind failed'
  throw new NativeError(errnoName(errno), errno, 'bind', `interface ${index} cannot be captured from: ${why}`)
}

/** Returns the segment length of a frame at `at` that has the kernel's header before it; 0 if it is not segmented UDP. */
function segmentBytes(b: Uint8Array, at: number): number {
  if ((b[at + VirtualHeader.gsoType]! & 0x7f) !== gsoUdp) return 0
  return b[at + VirtualHeader.gsoSize]! | (b[at + VirtualHeader.gsoSize + 1]! << 8)
}

function isKernel([major, minor]: readonly [number, number]): boolean {
  const [, a = 0, b = 0] = (/^(\d+)\.(\d+)/.exec(release()) ?? []).map(Number)
  return a > major || (a === major && b >= minor)
}
