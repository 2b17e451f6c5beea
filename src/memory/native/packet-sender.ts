/**
 * Sends whole frames through a network interface: a packet socket (packet(7)) and sendmmsg(2), many frames a call. Frames are
 * copied into native memory, where the kernel takes them from.
 */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { type Libc, nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'

const AF_PACKET = 17
const SOCK_RAW_CLOEXEC = 3 | 0o2000000
const MSG_DONTWAIT = 0x40
const SOL_SOCKET = 1
const SO_SNDBUF = 7
const sendBufferBytes = 4 << 20

const mostFrames = 64
/** struct mmsghdr: msghdr of 56 bytes, length u32, padding. */
const headerBytes = 64
const vectorBytes = 16
const addressBytes = 20
const framesAt = mostFrames * (headerBytes + vectorBytes) + 24
const roomBytes = 1 << 19
const pollOut = 4

type Scratch = ReturnType<typeof nativeScratch>
/** Native memory of closed senders of this thread, for the next ones. */
const freeScratch: Scratch[] = []

export class PacketSender {
  readonly #libc: Libc
  readonly #fd: number
  readonly #scratch: Scratch
  #count = 0
  #used = 0
  #open = true

  /**
   * @param interfaceIndex see `interfaceIndex` of packet-ring.ts
   * @throws NativeError: EPERM without CAP_NET_RAW, ENODEV, EOPNOTSUPP (no koffi here)
   */
  constructor(interfaceIndex: number) {
    this.#libc = requireLibc('socket')
    const { socket, bind, setsockopt, koffi } = this.#libc
    // Of no protocol: it receives nothing.
    this.#fd = socket(AF_PACKET, SOCK_RAW_CLOEXEC, 0)
    if (this.#fd < 0) {
      const errno = koffi.errno()
      if (errno !== errnos.EPERM && errno !== errnos.EACCES)
        throw nativeError('socket', errnoName(errno), errno, 'no packet socket could be opened')
      const what = 'frames cannot be sent through an interface without the capability CAP_NET_RAW'
      const remedy = 'run as root, or setcap cap_net_raw+ep on a copy of the node binary'
      throw new NativeError(errnoName(errno), errno, 'socket', `${what}: ${remedy}`)
    }
    this.#scratch = freeScratch.pop() ?? nativeScratch(framesAt + roomBytes)
    const { u32, address } = this.#scratch
    u32.fill(0, 0, framesAt / 4)
    const name = framesAt / 4 - 6
    // struct sockaddr_ll: family and protocol, interface.
    u32[name] = AF_PACKET
    u32[name + 1] = interfaceIndex
    if (bind(this.#fd, address + name * 4, addressBytes) !== 0) {
      const errno = koffi.errno()
      this.close()
      throw new NativeError(
        errnoName(errno),
        errno,
        'bind',
        `frames cannot be sent through interface ${interfaceIndex}`,
      )
    }
    u32[name] = sendBufferBytes
    // Where the system does not allow that much, it gives as much as it does allow.
    setsockopt(this.#fd, SOL_SOCKET, SO_SNDBUF, address + name * 4, 4)
    for (let i = 0; i < mostFrames; i++) {
      const vector = address + mostFrames * headerBytes + i * vectorBytes
      const word = (i * headerBytes) / 4
      u32[word + 4] = vector
      u32[word + 5] = Math.floor(vector / 4294967296)
      u32[word + 6] = 1
    }
  }

  /** Frames that wait for `flush`. */
  get waiting(): number {
    return this.#count
  }

  /** Returns true if a frame of `length` bytes can be added before the next `flush`. */
  hasRoom(length: number): boolean {
    return this.#count < mostFrames && this.#used + length <= roomBytes
  }

  /** Adds the frame b[offset, offset + length), for which there is room. */
  add(b: Uint8Array, offset: number, length: number): void {
    if (!this.hasRoom(length)) throw new NativeError('EINVAL', errnos.EINVAL, 'sendmmsg', 'flush first')
    const { u8, u32, address } = this.#scratch
    u8.set(b.subarray(offset, offset + length), framesAt + this.#used)
    const word = (mostFrames * headerBytes + this.#count * vectorBytes) / 4
    const at = address + framesAt + this.#used
    u32[word] = at
    u32[word + 1] = Math.floor(at / 4294967296)
    u32[word + 2] = length
    this.#used += length
    this.#count++
  }

  /**
   * Sends the frames that wait, and waits in this thread while the interface's queue is full. Returns how many frames the kernel
   * rejected: too long for the interface (EMSGSIZE), or no room for `timeoutMs`. Throws NativeError: ENETDOWN, ENODEV.
   */
  flush(timeoutMs = 1000): number {
    if (!this.#open) throw new NativeError('EINVAL', errnos.EINVAL, 'sendmmsg', 'the sender is closed')
    const { sendmmsg, koffi } = this.#libc
    const { address } = this.#scratch
    let rejected = 0
    let from = 0
    while (from < this.#count) {
      const sent = sendmmsg(this.#fd, address + from * headerBytes, this.#count - from, MSG_DONTWAIT)
      if (sent > 0) {
        from += sent
        continue
      }
      const errno = koffi.errno()
      if (errno === errnos.EINTR) continue
      if ((errno === errnos.EAGAIN || errno === errnos.ENOBUFS) && this.#waitForRoom(timeoutMs)) continue
      if (errno === errnos.ENETDOWN || errno === errnos.ENODEV) {
        this.#clear()
        throw new NativeError(errnoName(errno), errno, 'sendmmsg', 'the interface is down or gone')
      }
      rejected++
      from++
    }
    this.#clear()
    return rejected
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    closeFd(this.#fd)
    freeScratch.push(this.#scratch)
  }

  #clear(): void {
    this.#count = 0
    this.#used = 0
  }

  #waitForRoom(timeoutMs: number): boolean {
    const { u32, address } = this.#scratch
    const word = framesAt / 4 - 6
    u32[word] = this.#fd
    u32[word + 1] = pollOut
    return this.#libc.poll(address + word * 4, 1, timeoutMs) > 0
  }
}
