/**
 * UDP sockets for packets that lie in one big memory: what they send and receive are offsets in it, and a call
 * allocates nothing. Segmentation and coalescing in the kernel (UDP_SEGMENT, UDP_GRO) carry up to 64 datagrams a call.
 *
 * Every socket is non-blocking and unconnected, and has IP_MTU_DISCOVER set to IP_PMTUDISC_DO. So its IPv4 packets have
 * DF and identification 0, and those of one segmented call 0, 1, 2, …: a checksum over the header (the RoCEv2 ICRC) can be
 * computed beforehand. IPv6 has no identification.
 *
 * The structures that the kernel reads are in native memory, prepared once for each object (64-bit little-endian
 * Linux). An object belongs to one thread; another thread of the process adopts the descriptor.
 */
import { errnoName, errnos, NativeError } from './error.ts'
import { type Libc, nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'
import { AF_INET, AF_INET6, addressText, Destinations, familyOf, sockaddrBytes, writeSockaddr } from './sockaddr.ts'
import { Batch } from './udp-batch.ts'
import { bindError, groupOption, Option, openUdp, option, setOption } from './udp-options.ts'

const MSG_TRUNC = 0x20
/** IP_PMTUDISC_WANT and IPV6_PMTUDISC_WANT. */
const pmtudiscWant = 1

/** The kernel's limit for one call, since Linux 4.18; newer kernels take more. */
export const maxSegments = 64
/** Payload of the longest IPv4 datagram, and of all segments of one call together. */
export const maxDatagramBytes = 65_507

// Bytes of the native memory of one socket. struct msghdr: name, name length, vector, its count, control, its
// length, flags: a 64-bit word each.
const sendHeader = 0
const sendVector = 64
const receiveVector = 80
const receiveHeader = 96
const receiveName = 160
const sendControl = 192
const receiveControl = 288
const sourceGid = 416
const scratchBytes = 448

const receiveControlBytes = 128
/** Control messages: length u64, level i32, type i32, data, padded to 8 bytes. */
const controlBytes = 24

type Scratch = ReturnType<typeof nativeScratch>
/** Native memory of closed sockets of this thread, for the next ones. */
const freeScratch: Scratch[] = []

/** Errors of a kernel or a device that cannot segment datagrams; EINVAL also means that they are too long for the path. */
const segmentationErrors: ReadonlySet<number> = new Set([
  errnos.EINVAL,
  errnos.EIO,
  errnos.ENOPROTOOPT,
  errnos.EOPNOTSUPP,
])

/** Returns the port whose two bytes in network order were read in the order of this machine. The bytes need no memory. */
function portOf(bytes: number): number {
  return ((bytes & 0xff) << 8) | (bytes >>> 8)
}

export interface UdpOptions {
  /** The address to bind: 4 bytes, or 16 in the form of a GID (IPv4 as ::ffff:a.b.c.d). */
  readonly address: Uint8Array
  /** The port to bind; 0: any free one. */
  readonly port: number
  /** Index of the interface of a link-local address. */
  readonly scopeId?: number
  /** Bytes that are requested from the kernel, which may give less; 8 MiB. */
  readonly receiveBufferBytes?: number
  /** Bytes that are requested from the kernel, which may give less; 4 MiB. */
  readonly sendBufferBytes?: number
  /** Flag: several sockets that all set it may bind the same port; wanted for multicast groups. */
  readonly reuseAddress?: boolean
  /** Datagrams that are longer than a packet may be cut by the network layer: IP_PMTUDISC_WANT instead of IP_PMTUDISC_DO. */
  readonly fragments?: boolean
  /**
   * Called with the descriptor before it is bound, and with −1 before it is closed again because that failed: for those
   * callers that remember it beyond the end of this thread, which may come at any moment.
   */
  readonly opened?: (fd: number) => void
}

export class UdpSocket {
  readonly fd: number
  readonly family: 4 | 6
  readonly memory: ArrayBuffer | SharedArrayBuffer

  /**
   * Results of the last `receive`. `segmentBytes`: size of each datagram in it but the last, which may be shorter; the result itself if it
   * is one datagram. `trafficClass`: TOS or traffic class with ECN. `truncated`: it was longer than the room for it. `sourceScope`:
   * interface of a link-local source. `kernelDrops`: datagrams dropped so far because this socket's buffer was full (it wraps at 2^32).
   */
  segmentBytes = 0
  trafficClass = 0
  hopLimit = 0
  truncated = false
  sourcePort = 0
  sourceScope = 0
  kernelDrops = 0
  /** Source of what was received last, as a GID: a view that each `receive` refreshes. */
  readonly source: Uint8Array
  /** The same 16 bytes as four words in the machine's order, to compare. */
  readonly sourceWords: Uint32Array
  /** False once the kernel refused UDP_SEGMENT: each datagram is then a packet of its own, with identification 0. */
  segmentation = true

  readonly #libc: Libc
  readonly #base: number
  readonly #sizeBytes: number
  readonly #scopeId: number
  readonly #owner: boolean
  readonly #scratch: Scratch
  readonly #u32: Uint32Array
  readonly #destinations: Destinations
  // Kept as objects: a number field would be boxed for each call.
  readonly #headers: readonly [send: number, receive: number, object: null]
  #batch: Batch | null = null
  /** Bytes of control messages that go with every datagram. */
  #prefixBytes = 0
  #trafficClass = 0
  #hopLimit = 0
  #port = 0
  #open = true

  /**
   * Opens and binds. Throws `NativeError`: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, `EAFNOSUPPORT`, `EMFILE`, `EINVAL`,
   * `EOPNOTSUPP` (no koffi here). `memory` must stay in place: shared memory, or an ArrayBuffer that is not transferred.
   */
  static open(memory: ArrayBuffer | SharedArrayBuffer, options: UdpOptions): UdpSocket {
    const family = familyOf(options.address)
    const fd = openUdp(family, options.receiveBufferBytes ?? 8 << 20, options.sendBufferBytes ?? 4 << 20)
    if (options.fragments) setOption(fd, family === 4 ? Option.mtuDiscover4 : Option.mtuDiscover6, pmtudiscWant)
    const socket = new UdpSocket(memory, fd, family, options.scopeId ?? 0, true)
    options.opened?.(fd)
    try {
      socket.#bind(options)
    } catch (error) {
      options.opened?.(-1)
      socket.close()
      throw error
    }
    return socket
  }

  /**
   * Makes an object for the same socket in another thread of the process; a descriptor belongs to the process. The owner closes it, after
   * the last use by other threads: the kernel gives its number to the next file.
   */
  static adopt(memory: ArrayBuffer | SharedArrayBuffer, fd: number, family: 4 | 6, scopeId = 0): UdpSocket {
    const socket = new UdpSocket(memory, fd, family, scopeId, false)
    try {
      socket.#readPort()
    } catch (error) {
      socket.close()
      throw error
    }
    return socket
  }

  /** Use `open` or `adopt`. */
  private constructor(
    memory: ArrayBuffer | SharedArrayBuffer,
    fd: number,
    family: 4 | 6,
    scopeId: number,
    owner: boolean,
  ) {
    this.#libc = requireLibc('socket')
    this.fd = fd
    this.family = family
    this.memory = memory
    this.#sizeBytes = memory.byteLength
    this.#base = Number(this.#libc.koffi.address(new Uint8Array(memory)))
    this.#scopeId = scopeId
    this.#owner = owner
    this.#destinations = new Destinations(family)
    const scratch = freeScratch.pop() ?? nativeScratch(scratchBytes)
    this.#scratch = scratch
    this.#u32 = scratch.u32
    scratch.u32.fill(0)
    this.#headers = [scratch.address + sendHeader, scratch.address + receiveHeader, null]
    const source = family === 4 ? sourceGid : receiveName + 8
    this.source = scratch.u8.subarray(source, source + 16)
    this.sourceWords = scratch.u32.subarray(source / 4, source / 4 + 4)
    if (family === 4) scratch.u32[sourceGid / 4 + 2] = 0xffff0000
    this.#prepare(sendHeader, sendVector, sendControl)
    this.#prepare(receiveHeader, receiveVector, receiveControl)
    this.#pointer(receiveHeader, scratch.address + receiveName)
  }

  #pointer(at: number, address: number): void {
    this.#u32[at / 4] = address
    this.#u32[at / 4 + 1] = Math.floor(address / 4294967296)
  }

  #prepare(header: number, vector: number, control: number): void {
    const { address } = this.#scratch
    this.#u32[header / 4 + 2] = sockaddrBytes(this.family)
    this.#pointer(header + 16, address + vector)
    this.#u32[header / 4 + 6] = 1
    this.#pointer(header + 32, address + control)
  }

  #bind(options: UdpOptions): void {
    const { address, port } = options
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new NativeError('EINVAL', errnos.EINVAL, 'bind', `a port is a number from 0 to 65535, not ${port}`)
    if (options.reuseAddress) setOption(this.fd, Option.reuseAddress, 1)
    writeSockaddr(this.#scratch.u8, receiveName, address, port, this.#scopeId)
    const length = sockaddrBytes(this.family)
    if (this.#libc.bind(this.fd, this.#scratch.address + receiveName, length) !== 0)
      throw bindError(this.#libc.koffi.errno(), addressText(address, this.#scopeId), port)
    this.#readPort()
  }

  #readPort(): void {
    const u32 = this.#u32
    const { address } = this.#scratch
    u32[sendVector / 4] = sockaddrBytes(6)
    const result = this.#libc.getsockname(this.fd, address + receiveName, address + sendVector)
    const family = this.family === 4 ? AF_INET : AF_INET6
    const errno = result === 0 ? errnos.EAFNOSUPPORT : this.#libc.koffi.errno()
    if (result !== 0 || (u32[receiveName / 4]! & 0xffff) !== family)
      throw new NativeError(
        errnoName(errno),
        errno,
        'getsockname',
        `descriptor ${this.fd} is not an IPv${this.family} socket of this process`,
      )
    this.#port = portOf(u32[receiveName / 4]! >>> 16)
  }

  /**
   * Sends `length` bytes at `at` to a destination (see `destination`), cut into datagrams of `segmentBytes`, of which
   * the last may be shorter (0: one datagram). At most 64 datagrams and 65,507 bytes. Returns the bytes that were sent,
   * or a negated errno with nothing sent: −11 (EAGAIN) when the socket's buffer is full, −90 (EMSGSIZE) when a datagram
   * does not fit the way to the destination.
   *
   * Fewer than `length` bytes, always whole datagrams: the buffer became full, or the kernel just refused UDP_SEGMENT
   * for this way (a device without checksum offload). From then on `segmentation` is false, and over IPv4 the rest needs
   * checksums for identification 0 before it is sent.
   */
  send(at: number, length: number, segmentBytes: number, destination: number): number {
    this.#check(at, length, 'sendmsg')
    const { low, high, count } = this.#destinations
    if (destination >= count || destination < 0) throw this.#misuse('sendmsg', `there is no destination ${destination}`)
    const segmented = segmentBytes > 0 && length > segmentBytes
    if (segmented && length > segmentBytes * maxSegments) return -errnos.EMSGSIZE
    if (segmented && !this.segmentation) return this.#sendBatch(at, length, segmentBytes, destination)
    const u32 = this.#u32
    u32[sendHeader / 4] = low[destination]!
    u32[sendHeader / 4 + 1] = high[destination]!
    const address = this.#base + at
    u32[sendVector / 4] = address
    u32[sendVector / 4 + 1] = Math.floor(address / 4294967296)
    u32[sendVector / 4 + 2] = length
    let control = this.#prefixBytes
    if (segmented) {
      const word = (sendControl + control) / 4
      u32[word] = 18
      u32[word + 1] = 0
      u32[word + 2] = Option.segment.level
      u32[word + 3] = Option.segment.name
      u32[word + 4] = segmentBytes
      control += controlBytes
    }
    u32[sendHeader / 4 + 10] = control
    const result = this.#libc.sendmsg(this.fd, this.#headers[0], 0)
    if (result >= 0) return result
    const errno = this.#libc.koffi.errno()
    if (segmented && segmentationErrors.has(errno)) return this.#refused(at, length, segmentBytes, destination)
    return -errno
  }

  /** Finds out what a refusal of UDP_SEGMENT means, by a single datagram: it leaves the same with and without. */
  #refused(at: number, length: number, segmentBytes: number, destination: number): number {
    const first = this.send(at, segmentBytes, 0, destination)
    if (first < 0) return first
    this.segmentation = false
    if (this.family === 4) return first
    const rest = this.send(at + first, length - first, segmentBytes, destination)
    return rest < 0 ? first : first + rest
  }

  #sendBatch(at: number, length: number, segmentBytes: number, destination: number): number {
    const { low, high } = this.#destinations
    this.#batch ??= new Batch(sockaddrBytes(this.family), this.#scratch.address + sendControl)
    return this.#batch.send(
      this.#libc,
      this.fd,
      this.#base + at,
      length,
      segmentBytes,
      low[destination]!,
      high[destination]!,
      this.#prefixBytes,
    )
  }

  /**
   * Receives into [at, at + capacity) without waiting: one datagram, or several of one sender and one size that the
   * kernel put together. Returns the bytes, or a negated errno: −11 (EAGAIN) when there is nothing. The other facts
   * are in the fields of this object. With a capacity of 65,535 nothing is ever truncated.
   */
  receive(at: number, capacity: number): number {
    this.#check(at, capacity, 'recvmsg')
    const u32 = this.#u32
    const address = this.#base + at
    u32[receiveVector / 4] = address
    u32[receiveVector / 4 + 1] = Math.floor(address / 4294967296)
    u32[receiveVector / 4 + 2] = capacity
    u32[receiveHeader / 4 + 2] = 28
    u32[receiveHeader / 4 + 10] = receiveControlBytes
    const result = this.#libc.recvmsg(this.fd, this.#headers[1], 0)
    if (result < 0) return -this.#libc.koffi.errno()
    this.segmentBytes = result
    this.trafficClass = 0
    this.hopLimit = 0
    this.truncated = (u32[receiveHeader / 4 + 12]! & MSG_TRUNC) !== 0
    this.sourcePort = portOf(u32[receiveName / 4]! >>> 16)
    if (this.family === 4) u32[sourceGid / 4 + 3] = u32[receiveName / 4 + 1]!
    else this.sourceScope = u32[receiveName / 4 + 6]!
    const end = (receiveControl + u32[receiveHeader / 4 + 10]!) / 4
    for (let word = receiveControl / 4; word + 4 < end; word += ((u32[word]! + 7) >>> 3) * 2) this.#control(word)
    return result
  }

  #control(word: number): void {
    const u32 = this.#u32
    const level = u32[word + 2]!
    const name = u32[word + 3]!
    const value = u32[word + 4]!
    if (level === Option.coalesce.level) {
      if (name === Option.coalesce.name) this.segmentBytes = value
    } else if (level === Option.dropCount.level) {
      if (name === Option.dropCount.name) this.kernelDrops = value
    } else if (name === Option.trafficClass4.name || name === Option.trafficClass6.name) {
      this.trafficClass = value & 0xff
    } else if (name === Option.hopLimit4.name || name === Option.hopLimit6.name) this.hopLimit = value & 0xff
  }

  /**
   * The index of a destination for `send`: the same for the same address. It stays until the socket closes or
   * `forgetDestinations`. Costs no allocation when it is known. A link-local address without a scope gets
   * that of the socket. Throws `NativeError`: EINVAL for an address of the other family, ENOBUFS beyond 65,536.
   */
  destination(address: Uint8Array, port: number, scopeId = 0): number {
    const linkLocal = address.length === 16 && address[0] === 0xfe && (address[1]! & 0xc0) === 0x80
    const scope =
      scopeId !== 0 || !(linkLocal || (address.length === 16 && address[0] === 0xff)) ? scopeId : this.#scopeId
    return this.#destinations.index(address, port, scope)
  }

  /** Makes the indices that `destination` has given void, and room for others. */
  forgetDestinations(): void {
    this.#destinations.release()
  }

  /**
   * TOS or traffic class, with ECN, of what this object sends from now on. It travels with each call and costs no call
   * of its own. It is this object's: other threads at the same socket have theirs.
   */
  setTrafficClass(value: number): void {
    if (value === this.#trafficClass) return
    this.#trafficClass = value & 0xff
    this.#writePrefix()
  }

  /** TTL or hop limit of what this object sends from now on; 0: the system's. As `setTrafficClass`. */
  setHopLimit(value: number): void {
    if (value === this.#hopLimit) return
    this.#hopLimit = value & 0xff
    this.#writePrefix()
  }

  #writePrefix(): void {
    this.#prefixBytes = 0
    const four = this.family === 4
    if (this.#trafficClass !== 0)
      this.#addPrefix(four ? Option.trafficClass4 : Option.trafficClass6, this.#trafficClass)
    if (this.#hopLimit !== 0) this.#addPrefix(four ? Option.hopLimit4 : Option.hopLimit6, this.#hopLimit)
  }

  #addPrefix({ level, name }: { readonly level: number; readonly name: number }, value: number): void {
    const word = (sendControl + this.#prefixBytes) / 4
    this.#u32[word] = 20
    this.#u32[word + 1] = 0
    this.#u32[word + 2] = level
    this.#u32[word + 3] = name
    this.#u32[word + 4] = value
    this.#prefixBytes += controlBytes
  }

  /**
   * Receives what is sent to a multicast group on an interface (its index; 0: the system chooses). The socket must be
   * bound to the group, or to no address: one that is bound to an address of the host gets only what is sent to that.
   */
  joinGroup(group: Uint8Array, interfaceIndex: number): void {
    groupOption(this.fd, this.family, 'join', group, interfaceIndex)
  }

  leaveGroup(group: Uint8Array, interfaceIndex: number): void {
    groupOption(this.fd, this.family, 'leave', group, interfaceIndex)
  }

  /** Sets whether members on this host, too, receive messages that are sent to a group through this socket; by default they do. */
  setMulticastLoop(loop: boolean): void {
    setOption(this.fd, this.family === 4 ? Option.multicastLoop4 : Option.multicastLoop6, loop ? 1 : 0)
  }

  /** The interface through which multicast leaves (its index), for all threads at this socket. Other sockets of the host get a copy. */
  setMulticastInterface(interfaceIndex: number): void {
    groupOption(this.fd, this.family, 'interface', null, interfaceIndex)
  }

  /** The port it is bound to. */
  get port(): number {
    return this.#port
  }

  /** Bytes that the kernel keeps for datagrams not yet received, in its own count (about twice the payload). */
  get receiveBufferBytes(): number {
    return option(this.fd, Option.receiveBuffer)
  }

  /** The owner closes the descriptor; after `adopt` only what this thread had is released. A second call does nothing. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#destinations.release()
    this.#batch?.release()
    freeScratch.push(this.#scratch)
    if (this.#owner) closeFd(this.fd)
  }

  #check(at: number, length: number, call: string): void {
    // The kernel would write to any address: nothing but whole numbers within the memory passes. NaN fails too.
    if (!(at >= 0 && length >= 0 && at + length <= this.#sizeBytes && Number.isInteger(at)))
      throw this.#misuse(call, `[${at}, ${at} + ${length}) is not within the memory of ${this.#sizeBytes} bytes`)
    if (!this.#open) throw this.#misuse(call, 'the socket is closed')
  }

  #misuse(call: string, message: string): NativeError {
    return new NativeError('EINVAL', errnos.EINVAL, call, message)
  }
}
