/**
 * UNIX datagram sockets, which Node does not have. A socket has a path, and sends to the path of another one; neither waits. An error of
 * the other end is a negative error number; only opening throws.
 */
import { lstatSync, unlinkSync } from 'node:fs'
import { errnoName, NativeError, nativeError } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'

const AF_UNIX = 1
const SOCK_DGRAM_NONBLOCK_CLOEXEC = 0o2004002
const MSG_NOSIGNAL = 0x4000
const MSG_TRUNC = 0x20

/** struct sockaddr_un: the family in 16 bits, and a path of at most 107 bytes with its zero. */
export const longestUnixPath = 107
const nameBytes = 112
const ownAt = 0
const peerAt = nameBytes
const fromAt = 2 * nameBytes
const lengthAt = 3 * nameBytes

/** Reasons why a socket cannot be made at a path. */
const whyNot: Readonly<Record<string, string>> = {
  EADDRINUSE: 'it exists, and is no socket',
  ENOENT: 'its folder is not there',
  EACCES: 'this account may not write to its folder',
}

export class UnixDatagrams {
  readonly fd: number
  readonly #path: string | null
  readonly #scratch = nativeScratch(lengthAt + 8)
  #peerBytes = 0
  #buffer: ArrayBufferLike | undefined
  #base = 0
  #open = true

  /**
   * `path`: its own, null if it only sends; a socket or an empty file that is there already is replaced. `peer`: the destination of `send`.
   * Throws NativeError.
   */
  constructor(path: string | null, peer: string | null) {
    const { socket, bind, koffi } = requireLibc('socket')
    this.#path = path
    this.fd = socket(AF_UNIX, SOCK_DGRAM_NONBLOCK_CLOEXEC, 0)
    if (this.fd < 0)
      throw nativeError('socket', errnoName(koffi.errno()), koffi.errno(), 'no UNIX socket could be opened')
    if (peer !== null) this.#peerBytes = this.#write(peerAt, peer)
    if (path === null) return
    const there = lstatSync(path, { throwIfNoEntry: false })
    // An empty file is the result of mktemp; one with content belongs to another program.
    if (there?.isSocket() || (there?.isFile() && there.size === 0)) unlinkSync(path)
    const length = this.#write(ownAt, path)
    if (bind(this.fd, this.#scratch.address + ownAt, length) === 0) return
    const errno = koffi.errno()
    closeFd(this.fd)
    const code = errnoName(errno)
    throw new NativeError(code, errno, 'bind', `${path}: ${whyNot[code] ?? 'it could not be made'}`)
  }

  /** The length of the name that is written at `at`. */
  #write(at: number, path: string): number {
    const { u8 } = this.#scratch
    const bytes = new TextEncoder().encode(path)
    u8.fill(0, at, at + nameBytes)
    u8[at] = AF_UNIX
    u8.set(bytes.subarray(0, longestUnixPath), at + 2)
    return 2 + bytes.length + 1
  }

  #addressOf(bytes: Uint8Array): number {
    if (this.#buffer !== bytes.buffer) {
      this.#buffer = bytes.buffer
      this.#base = Number(requireLibc('sendto').koffi.address(new Uint8Array(bytes.buffer)))
    }
    return this.#base + bytes.byteOffset
  }

  /** Sends the bytes; returns their number, or a negative error number: −2 or −111 without a peer, −11 if the peer does not keep up. */
  send(bytes: Uint8Array): number {
    const { sendto, koffi } = requireLibc('sendto')
    const to = this.#scratch.address + peerAt
    const n = sendto(this.fd, this.#addressOf(bytes), bytes.length, MSG_NOSIGNAL, to, this.#peerBytes)
    return n < 0 ? -koffi.errno() : n
  }

  /** The length of the datagram, even if it is longer than `bytes`; or a negative error number: −11 if there is none. */
  receive(bytes: Uint8Array): number {
    const { recvfrom, koffi } = requireLibc('recvfrom')
    const { u32, address } = this.#scratch
    u32[lengthAt / 4] = nameBytes
    const length = address + lengthAt
    const n = recvfrom(this.fd, this.#addressOf(bytes), bytes.length, MSG_TRUNC, address + fromAt, length)
    return n < 0 ? -koffi.errno() : n
  }

  /** True if the last datagram came from the peer. */
  get isFromPeer(): boolean {
    const { u8, u32 } = this.#scratch
    const length = u32[lengthAt / 4]!
    // Some senders count the zero at the end of their path, some do not.
    if (length !== this.#peerBytes && length !== this.#peerBytes - 1) return false
    for (let i = 2; i < this.#peerBytes - 1; i++) if (u8[fromAt + i] !== u8[peerAt + i]) return false
    return true
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    closeFd(this.fd)
    if (this.#path === null) return
    try {
      unlinkSync(this.#path)
    } catch {
      // Another process has removed it.
    }
  }
}
