/**
 * Sockets of the kernel as C programs use them: calls that return at once or block this thread, and nothing of Node's event loop. Sockets
 * over RDMA are compared with them, by the same loops. An error of the network or the peer is a negative error number; only opening,
 * binding and listening throw.
 */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'
import { AF_INET, AF_INET6, addressText, familyOf, sockaddrBytes, writeSockaddr } from './sockaddr.ts'

const SOCK_STREAM = 1
const SOCK_DGRAM = 2
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_ERROR = 4
const SO_RCVTIMEO = 20
const SO_SNDTIMEO = 21
const MSG_NOSIGNAL = 0x4000

// Bytes of the scratch memory: a socket address and its length, an option, struct pollfd.
const addressAt = 0
const lengthAt = 32
const valueAt = 40
const pollAt = 48
const scratchBytes = 64

export interface KernelSocketOptions {
  family: 4 | 6
  /** Datagrams instead of a stream. */
  datagrams?: boolean
  /** Calls wait in this thread instead of giving EAGAIN. */
  blocking?: boolean
}

export class KernelSocket {
  readonly fd: number
  readonly #family: 4 | 6
  readonly #blocking: boolean
  readonly #scratch = nativeScratch(scratchBytes)
  /** Buffer that was used last, and the address of its memory. */
  #buffer: ArrayBufferLike | undefined
  #base = 0
  #open = true

  private constructor(fd: number, family: 4 | 6, blocking: boolean) {
    this.fd = fd
    this.#family = family
    this.#blocking = blocking
  }

  /** Throws NativeError: EMFILE, EAFNOSUPPORT, EOPNOTSUPP (no koffi here). */
  static open({ family, datagrams = false, blocking = false }: KernelSocketOptions): KernelSocket {
    const { socket, koffi } = requireLibc('socket')
    const type = (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK)
    const fd = socket(family === 4 ? AF_INET : AF_INET6, type, 0)
    if (fd >= 0) return new KernelSocket(fd, family, blocking)
    throw nativeError('socket', errnoName(koffi.errno()), koffi.errno(), `no IPv${family} socket could be opened`)
  }

  #writeAddress(address: Uint8Array, port: number): void {
    if (familyOf(address) !== this.#family)
      throw new NativeError('EAFNOSUPPORT', errnos.EAFNOSUPPORT, 'bind', 'the address is of another family')
    writeSockaddr(this.#scratch.u8, addressAt, address, port, 0)
  }

  /** Throws NativeError: EADDRINUSE, EADDRNOTAVAIL, EACCES. `address` has 4 or 16 bytes; zeros mean all. */
  bind(address: Uint8Array, port: number): void {
    const { bind, koffi } = requireLibc('bind')
    this.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    this.#writeAddress(address, port)
    if (bind(this.fd, this.#scratch.address + addressAt, sockaddrBytes(this.#family)) === 0) return
    const errno = koffi.errno()
    const where = `port ${port} of ${addressText(address)}`
    const text = errno === errnos.EADDRINUSE ? `${where} is in use: choose another port` : `${where} could not be bound`
    throw nativeError('bind', errnoName(errno), errno, text)
  }

  listen(backlog: number): void {
    const { listen, koffi } = requireLibc('listen')
    if (listen(this.fd, backlog) !== 0)
      throw nativeError('listen', errnoName(koffi.errno()), koffi.errno(), 'the socket cannot listen')
  }

  /** The next connection, or a negative error number. */
  accept(): KernelSocket | number {
    const { accept4, koffi } = requireLibc('accept4')
    const fd = accept4(this.fd, 0, 0, SOCK_CLOEXEC | (this.#blocking ? 0 : SOCK_NONBLOCK))
    return fd < 0 ? -koffi.errno() : new KernelSocket(fd, this.#family, this.#blocking)
  }

  /** 0, or a negative error number: EINPROGRESS (115) of one that does not block, which is then to be polled. */
  connect(address: Uint8Array, port: number): number {
    const { connect, koffi } = requireLibc('connect')
    this.#writeAddress(address, port)
    const result = connect(this.fd, this.#scratch.address + addressAt, sockaddrBytes(this.#family))
    return result === 0 ? 0 : -koffi.errno()
  }

  #addressOf(bytes: Uint8Array): number {
    if (this.#buffer !== bytes.buffer) {
      this.#buffer = bytes.buffer
      this.#base = Number(requireLibc('send').koffi.address(new Uint8Array(bytes.buffer)))
    }
    return this.#base + bytes.byteOffset
  }

  /** Bytes that were taken, or a negative error number. */
  send(bytes: Uint8Array, flags = 0): number {
    const { send, koffi } = requireLibc('send')
    const n = send(this.fd, this.#addressOf(bytes), bytes.length, flags | MSG_NOSIGNAL)
    return n < 0 ? -koffi.errno() : n
  }

  /** Bytes that came, 0 at the end of a stream, or a negative error number. */
  recv(bytes: Uint8Array, flags = 0): number {
    const { recv, koffi } = requireLibc('recv')
    const n = recv(this.fd, this.#addressOf(bytes), bytes.length, flags)
    return n < 0 ? -koffi.errno() : n
  }

  /** A datagram to `to`, 32 bytes that `recvFrom` has filled. */
  sendTo(bytes: Uint8Array, flags: number, to: Uint8Array): number {
    const { sendto, koffi } = requireLibc('sendto')
    this.#scratch.u8.set(to, addressAt)
    const name = this.#scratch.address + addressAt
    const n = sendto(this.fd, this.#addressOf(bytes), bytes.length, flags, name, sockaddrBytes(this.#family))
    return n < 0 ? -koffi.errno() : n
  }

  /** A datagram, and in `from` (32 bytes) whose it is, for `sendTo` and `nameOf`. */
  recvFrom(bytes: Uint8Array, flags: number, from: Uint8Array): number {
    const { recvfrom, koffi } = requireLibc('recvfrom')
    const { u8, u32, address } = this.#scratch
    u32[lengthAt / 4] = 28
    const n = recvfrom(this.fd, this.#addressOf(bytes), bytes.length, flags, address + addressAt, address + lengthAt)
    if (n < 0) return -koffi.errno()
    for (let i = 0; i < 32; i++) from[i] = u8[addressAt + i]!
    return n
  }

  /** `127.0.0.1` */
  nameOf(from: Uint8Array): string {
    return addressText(this.#family === 4 ? from.slice(4, 8) : from.slice(8, 24))
  }

  /** Waits in this thread until one of `events` is true; which, 0 after the time. −1 waits for ever. */
  poll(events: number, timeoutMs: number): number {
    const { poll } = requireLibc('poll')
    const { u32, address } = this.#scratch
    u32[pollAt / 4] = this.fd
    u32[pollAt / 4 + 1] = events
    return poll(address + pollAt, 1, timeoutMs < 0 ? -1 : Math.ceil(timeoutMs)) > 0 ? u32[pollAt / 4 + 1]! >>> 16 : 0
  }

  /** 0, or a negative error number. */
  setOption(level: number, name: number, value: number): number {
    const { setsockopt, koffi } = requireLibc('setsockopt')
    this.#scratch.u32[valueAt / 4] = value
    return setsockopt(this.fd, level, name, this.#scratch.address + valueAt, 4) === 0 ? 0 : -koffi.errno()
  }

  /** The value, or a negative error number. */
  getOption(level: number, name: number): number {
    const { getsockopt, koffi } = requireLibc('getsockopt')
    const { u32, address } = this.#scratch
    u32[lengthAt / 4] = 4
    return getsockopt(this.fd, level, name, address + valueAt, address + lengthAt) === 0
      ? u32[valueAt / 4]! | 0
      : -koffi.errno()
  }

  /** The error that ended a connection or its making, and forgets it. */
  takeError(): number {
    return this.getOption(SOL_SOCKET, SO_ERROR)
  }

  /** The address of the peer, `127.0.0.1`; empty if there is none. */
  peer(): string {
    const { getpeername } = requireLibc('getpeername')
    const { u8, u32, address } = this.#scratch
    u32[lengthAt / 4] = 28
    if (getpeername(this.fd, address + addressAt, address + lengthAt) !== 0) return ''
    return addressText(this.#family === 4 ? u8.slice(4, 8) : u8.slice(8, 24))
  }

  /** The port of this end; 0 if it has none. */
  localPort(): number {
    const { getsockname } = requireLibc('getsockname')
    const { u8, u32, address } = this.#scratch
    u32[lengthAt / 4] = 28
    if (getsockname(this.fd, address + addressAt, address + lengthAt) !== 0) return 0
    return (u8[addressAt + 2]! << 8) | u8[addressAt + 3]!
  }

  /** Sets the maximum wait of calls that block; after it they give EAGAIN. 0 waits for ever. */
  setTimeout(ms: number): void {
    const { setsockopt } = requireLibc('setsockopt')
    const { u32, address } = this.#scratch
    // struct timeval: seconds and microseconds, 64 bits each.
    u32[addressAt / 4] = Math.floor(ms / 1000)
    u32[addressAt / 4 + 1] = 0
    u32[addressAt / 4 + 2] = Math.round((ms % 1000) * 1000)
    u32[addressAt / 4 + 3] = 0
    for (const name of [SO_RCVTIMEO, SO_SNDTIMEO]) setsockopt(this.fd, SOL_SOCKET, name, address + addressAt, 16)
  }

  /** `how`: SHUT_RD 0, SHUT_WR 1, SHUT_RDWR 2. */
  shutdown(how: number): number {
    const { shutdown, koffi } = requireLibc('shutdown')
    return shutdown(this.fd, how) === 0 ? 0 : -koffi.errno()
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    closeFd(this.fd)
  }
}
