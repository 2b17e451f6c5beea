/**
 * TCP sockets of the kernel over one memory: what they send and receive are offsets in it. They are what benchmarks
 * compare with, so they do what a C program does: one system call for each call here, waiting in it or not, as asked.
 */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { type Libc, nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'
import { AF_INET, AF_INET6, addressText, familyOf, sockaddrBytes, writeSockaddr } from './sockaddr.ts'
import { setOption } from './udp-options.ts'

const SOCK_STREAM_CLOEXEC = 0o2000001
const SOCK_CLOEXEC = 0o2000000
const MSG_DONTWAIT = 0x40
const MSG_NOSIGNAL = 0x4000
const SHUT_WR = 1

const SOL_SOCKET = 1
const SOL_TCP = 6
const noDelay = { level: SOL_TCP, name: 1 }
const reuseAddress = { level: SOL_SOCKET, name: 2 }
const sendBuffer = { level: SOL_SOCKET, name: 7 }
const receiveBuffer = { level: SOL_SOCKET, name: 8 }
const receiveTimeout = { level: SOL_SOCKET, name: 20 }
const sendTimeout = { level: SOL_SOCKET, name: 21 }

function open(address: Uint8Array): number {
  const { socket, koffi } = requireLibc('socket')
  const fd = socket(familyOf(address) === 4 ? AF_INET : AF_INET6, SOCK_STREAM_CLOEXEC, SOL_TCP)
  if (fd >= 0) return fd
  throw nativeError('socket', errnoName(koffi.errno()), koffi.errno(), 'no TCP socket could be opened')
}

/** Sizes of both buffers; they hold for connections if they are set before. 0 leaves the kernel's own. */
function setBuffers(fd: number, bytes: number): void {
  if (bytes === 0) return
  setOption(fd, sendBuffer, bytes)
  setOption(fd, receiveBuffer, bytes)
}

/** struct timeval: seconds and microseconds, 64 bits each. */
function setTimeouts(fd: number, ms: number): void {
  const { setsockopt } = requireLibc('setsockopt')
  const { u32, address } = scratch()
  u32[0] = Math.floor(ms / 1000)
  u32[1] = 0
  u32[2] = Math.round((ms % 1000) * 1000)
  u32[3] = 0
  for (const { level, name } of [receiveTimeout, sendTimeout]) setsockopt(fd, level, name, address, 16)
}

let memo: ReturnType<typeof nativeScratch> | null = null

function scratch(): ReturnType<typeof nativeScratch> {
  memo ??= nativeScratch(64)
  return memo
}

/** A socket that waits for connections. */
export class TcpListener {
  readonly port: number
  readonly #fd: number

  /** Listens on any free port of an address (4 bytes, or 16 in the form of a GID). Throws `NativeError`. */
  constructor(address: Uint8Array, bufferBytes = 0) {
    const { bind, listen, getsockname, koffi } = requireLibc('listen')
    this.#fd = open(address)
    const { u8, u32, address: at } = scratch()
    setOption(this.#fd, reuseAddress, 1)
    setBuffers(this.#fd, bufferBytes)
    writeSockaddr(u8, 0, address, 0, 0)
    u32[8] = 28
    if (
      bind(this.#fd, at, sockaddrBytes(familyOf(address))) !== 0 ||
      listen(this.#fd, 1) !== 0 ||
      getsockname(this.#fd, at, at + 32) !== 0
    ) {
      const errno = koffi.errno()
      this.close()
      throw new NativeError(errnoName(errno), errno, 'listen', `${addressText(address)} cannot be listened on`)
    }
    this.port = (u8[2]! << 8) | u8[3]!
  }

  /** The next connection, for which this waits `timeoutMs` at most; then it throws EAGAIN. */
  accept(memory: ArrayBuffer | SharedArrayBuffer, timeoutMs: number): TcpSocket {
    const { accept4, koffi } = requireLibc('accept4')
    setTimeouts(this.#fd, timeoutMs)
    const fd = accept4(this.#fd, 0, 0, SOCK_CLOEXEC)
    if (fd >= 0) return new TcpSocket(fd, memory)
    throw nativeError('accept4', errnoName(koffi.errno()), koffi.errno(), `nobody connected to port ${this.port}`)
  }

  close(): void {
    closeFd(this.#fd)
  }
}

export class TcpSocket {
  readonly fd: number
  readonly memory: ArrayBuffer | SharedArrayBuffer
  readonly #libc: Libc
  readonly #base: number
  #open = true

  /** Connects, waiting for it. Throws `NativeError` (ECONNREFUSED, …). `memory` must stay in place. */
  static connect(
    memory: ArrayBuffer | SharedArrayBuffer,
    address: Uint8Array,
    port: number,
    bufferBytes = 0,
  ): TcpSocket {
    const { connect, koffi } = requireLibc('connect')
    const fd = open(address)
    setBuffers(fd, bufferBytes)
    const { u8, address: at } = scratch()
    writeSockaddr(u8, 0, address, port, 0)
    if (connect(fd, at, sockaddrBytes(familyOf(address))) === 0) return new TcpSocket(fd, memory)
    const errno = koffi.errno()
    closeFd(fd)
    throw nativeError('connect', errnoName(errno), errno, `no connection to ${addressText(address)} port ${port}`)
  }

  /** Use `connect` or a listener. */
  constructor(fd: number, memory: ArrayBuffer | SharedArrayBuffer) {
    this.fd = fd
    this.memory = memory
    this.#libc = requireLibc('send')
    this.#base = Number(this.#libc.koffi.address(new Uint8Array(memory)))
  }

  /** TCP_NODELAY: what is sent leaves at once. */
  setNoDelay(): void {
    setOption(this.fd, noDelay, 1)
  }

  /** How long `send` and `recv` that wait do so at most; then they give −EAGAIN. */
  setTimeout(ms: number): void {
    setTimeouts(this.fd, ms)
  }

  /** Bytes of [at, at + length) that were taken, or a negated errno (−EAGAIN if none could be). */
  send(at: number, length: number, wait: boolean): number {
    const flags = wait ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT
    const sent = this.#libc.send(this.fd, this.#place(at, length), length, flags)
    return sent >= 0 ? sent : -this.#libc.koffi.errno()
  }

  /** Bytes that were received into [at, at + length), 0 at the end of the stream, or a negated errno. */
  recv(at: number, length: number, wait: boolean): number {
    const got = this.#libc.recv(this.fd, this.#place(at, length), length, wait ? 0 : MSG_DONTWAIT)
    return got >= 0 ? got : -this.#libc.koffi.errno()
  }

  #place(at: number, length: number): number {
    if (!this.#open) throw new NativeError('EBADF', errnos.EBADF, 'send', 'the socket is closed')
    if (at >= 0 && length >= 0 && at + length <= this.memory.byteLength) return this.#base + at
    throw new NativeError('EFAULT', errnos.EFAULT, 'send', `bytes ${at} to ${at + length} are not in the memory`)
  }

  /** The peer receives what was sent, then the end of the stream. */
  shutdownWrite(): void {
    this.#libc.shutdown(this.fd, SHUT_WR)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    closeFd(this.fd)
  }
}
