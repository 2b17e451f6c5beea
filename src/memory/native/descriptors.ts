/**
 * Passing descriptors between processes of a user: SCM_RIGHTS over a UNIX socket (unix(7)). A thread serves in its event loop; a thread of
 * another process connects and gets duplicates of all that the server offers at that moment.
 *
 *     client                                     server
 *     connect                ──────────────▶     in the backlog of the listening socket
 *     is it our user?                            is it our user?
 *     recvmsg                ◀──────────────     one sendmsg: count i32 │ count × tag i32, with count descriptors
 *                                                close
 *
 * The name is an abstract one: it belongs to the network namespace, as UDP ports do, and goes with the socket. Any user may connect to it
 * or, where no process listens, listen at it; so both ends obtain the user of the peer from the kernel (SO_PEERCRED), and the name should
 * be one that cannot be guessed. The client sends nothing, so that the server never waits for it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { type Libc, nativeScratch, requireLibc } from './libc.ts'
import { gated } from './loading.ts'
import { closeFd } from './poll.ts'

const AF_UNIX = 1
const SOCK_STREAM_CLOEXEC = 0o2000001
const SOCK_NONBLOCK_CLOEXEC = 0o2004000
const SOL_SOCKET = 1
const SO_PEERCRED = 17
const SO_RCVTIMEO = 20
const SO_SNDTIMEO = 21
const SCM_RIGHTS = 1
const MSG_CTRUNC = 8
const MSG_DONTWAIT = 0x40
const MSG_NOSIGNAL = 0x4000
const MSG_CMSG_CLOEXEC = 0x40000000

/** Descriptors that one answer carries; the kernel takes three more. */
export const maxPassed = 250
/** Connections that `serve` answers at a time. */
const mostAnswers = 64
/** Room for as many as the kernel passes at a time, so that no server can send more than are seen, and closed. */
const mostReceived = 253
/** sun_path without the zero in front. */
const maxNameBytes = 107

// Bytes of the scratch memory. struct msghdr: name, its length, vector, its count, control, its length, flags: 64 bits each.
const headerAt = 0
const vectorAt = 56
/** struct timeval, struct ucred, and the length of that. */
const optionAt = 72
const lengthAt = 88
const nameAt = 96
const payloadAt = 208
const payloadBytes = 4 * (1 + mostReceived)
/** struct cmsghdr: length u64, level i32, type i32; then the descriptors. */
const controlAt = 1224
const controlHeaderBytes = 16
const controlBytes = controlHeaderBytes + 4 * (mostReceived + 1)
const scratchBytes = controlAt + controlBytes

type Scratch = ReturnType<typeof nativeScratch>
let scratch: Scratch | undefined

/** Server and client of a thread share it: neither is interrupted while it uses it. */
function ownScratch(): Scratch {
  scratch ??= nativeScratch(scratchBytes)
  return scratch
}

/** Descriptor, and the tag by which its owner identifies it. */
export interface Passed {
  readonly fd: number
  /** 32 bits, signed. */
  readonly tag: number
}

/**
 * Serves in the event loop of the thread that makes it, or whenever a thread that blocks calls `serve`; and ends with that thread. It keeps no
 * process alive.
 */
export class DescriptorServer {
  /** Descriptor that is readable when `serve` has work to do. */
  readonly fd: number
  readonly #server: Server
  readonly #offer: () => readonly Passed[]
  readonly #trusts: Trusts
  /** Connections that were answered. */
  served = 0
  /** Connections of other users, which were closed. */
  refused = 0
  /** Connections that were closed because the answer could not be sent, or `offer` threw or gave too many. */
  failed = 0

  /**
   * Listens at once. `offer` gives what each client gets, at most `maxPassed`; the descriptors stay the caller's. Processes of other
   * users get nothing unless it `trusts` them. Throws NativeError:
   * EADDRINUSE, EINVAL (a name has 1 to 107 bytes), EMFILE, EOPNOTSUPP (no koffi here).
   */
  constructor(name: string, offer: () => readonly Passed[], trusts: Trusts = nobodyElse) {
    this.#offer = offer
    this.#trusts = trusts
    // Paused: no data from a client is read.
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#answer(socket))
    // A failure of accept (too many open files) has already reached the client as a closed connection.
    this.#server.on('error', () => {})
    ownScratch()
    // From here on the server alone owns the descriptor: Node closes it when the thread ends. `exclusive`: a worker of Node's cluster
    // would hand it to its primary.
    this.fd = gated(() => {
      const fd = listenAt(name)
      this.#server.listen({ fd, exclusive: true }).unref()
      return fd
    })
  }

  /** Answers those that have connected, in a thread whose event loop does not run. */
  serve(): void {
    const { accept4 } = requireLibc('accept4')
    // accept on this descriptor does not block: the event loop has seen to that.
    for (let n = 0; n < mostAnswers; n++) {
      const fd = accept4(this.fd, 0, 0, SOCK_NONBLOCK_CLOEXEC)
      if (fd < 0) return
      try {
        this.#answerAt(fd)
      } finally {
        closeFd(fd)
      }
    }
  }

  #answerAt(fd: number): void {
    try {
      if (!isOurs(fd, this.#trusts)) this.refused++
      else if (send(fd, this.#offer())) this.served++
      else this.failed++
    } catch {
      this.failed++
    }
  }

  #answer(socket: Socket): void {
    // A client that is gone.
    socket.on('error', () => {})
    const fd = descriptorOf(socket)
    if (fd < 0) this.failed++
    else this.#answerAt(fd)
    // What was sent waits for the client in its own socket.
    socket.destroy()
  }

  close(): void {
    this.#server.close()
  }
}

/** Node has no public name for the descriptor of a socket; it is where it always was on these systems, or nowhere. */
function descriptorOf(socket: Socket): number {
  const fd = (socket as unknown as { _handle?: { fd?: unknown } })._handle?.fd
  return typeof fd === 'number' ? fd : -1
}

/** A socket that listens at the abstract name. */
function listenAt(name: string): number {
  const { bind, listen, koffi } = requireLibc('bind')
  const fd = openStream(name)
  const bound = bind(fd, ownScratch().address + nameAt, writeName(name))
  if (bound === 0 && listen(fd, 511) === 0) return fd
  const errno = koffi.errno()
  closeFd(fd)
  throw nativeError(bound === 0 ? 'listen' : 'bind', errnoName(errno), errno, `no one can listen at @${name}`)
}

function openStream(name: string): number {
  const { socket, koffi } = requireLibc('socket')
  const length = Buffer.byteLength(name)
  if (length < 1 || length > maxNameBytes)
    throw new NativeError('EINVAL', errnos.EINVAL, 'socket', `a name has 1 to ${maxNameBytes} bytes, not ${length}`)
  const fd = socket(AF_UNIX, SOCK_STREAM_CLOEXEC, 0)
  if (fd >= 0) return fd
  throw nativeError('socket', errnoName(koffi.errno()), koffi.errno(), 'no UNIX socket could be opened')
}

/** struct sockaddr_un: family u16, and a path that begins with a zero. Returns its length. */
function writeName(name: string): number {
  const { u8 } = ownScratch()
  u8[nameAt] = AF_UNIX
  u8[nameAt + 1] = 0
  u8[nameAt + 2] = 0
  u8.set(Buffer.from(name), nameAt + 3)
  return 3 + Buffer.byteLength(name)
}

/** Predicate that returns true if the process with this number is to be trusted although another user has started it. */
export type Trusts = (pid: number) => boolean
const nobodyElse: Trusts = () => false

/** Returns true if the other end belongs to this user or to root, or is trusted. */
function isOurs(fd: number, trusts: Trusts): boolean {
  const { getsockopt } = requireLibc('getsockopt')
  const { u32, address } = ownScratch()
  u32[lengthAt / 4] = 12
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, address + optionAt, address + lengthAt) !== 0) return false
  const uid = u32[optionAt / 4 + 1]!
  return uid === 0 || uid === process.geteuid!() || trusts(u32[optionAt / 4]!)
}

function pointer(u32: Uint32Array, at: number, address: number): void {
  u32[at / 4] = address
  u32[at / 4 + 1] = Math.floor(address / 2 ** 32)
}

/** Fills in a header for so many bytes of payload and control messages. */
function prepare({ u32, address }: Scratch, payload: number, control: number): void {
  u32.fill(0, headerAt / 4, optionAt / 4)
  pointer(u32, headerAt + 16, address + vectorAt)
  u32[headerAt / 4 + 6] = 1
  pointer(u32, headerAt + 32, address + controlAt)
  u32[headerAt / 4 + 10] = control
  pointer(u32, vectorAt, address + payloadAt)
  u32[vectorAt / 4 + 2] = payload
}

/** Sends all of them without waiting; false if that was not possible. */
function send(fd: number, all: readonly Passed[]): boolean {
  const count = all.length
  if (count > maxPassed) return false
  const { sendmsg } = requireLibc('sendmsg')
  const own = ownScratch()
  const { u32, address } = own
  prepare(own, 4 + 4 * count, count === 0 ? 0 : (controlHeaderBytes + 4 * count + 7) & ~7)
  const control = controlAt / 4
  u32[control] = controlHeaderBytes + 4 * count
  u32[control + 1] = 0
  u32[control + 2] = SOL_SOCKET
  u32[control + 3] = SCM_RIGHTS
  u32[payloadAt / 4] = count
  for (let i = 0; i < count; i++) {
    u32[payloadAt / 4 + 1 + i] = all[i]!.tag
    u32[control + controlHeaderBytes / 4 + i] = all[i]!.fd
  }
  return sendmsg(fd, address + headerAt, MSG_DONTWAIT | MSG_NOSIGNAL) === 4 + 4 * count
}

/**
 * Blocks this thread until the server at this name has answered, and returns duplicates of its descriptors, which are closed on exec and
 * from now on belong to the caller. A thread that may be ended by another gives `own`, which notes the new owner; it runs before this
 * thread can be ended. Not for the thread that serves: it would wait for itself.
 *
 * Throws NativeError: ECONNREFUSED (no process listens), ETIMEDOUT, EPERM (another user listens), EACCES (the server closed without an
 * answer: this is not its user, or it could send none), EPROTO (the answer was malformed), EMFILE (this process has no room for all; it has
 * got none), EOPNOTSUPP (no koffi here).
 */
export function fetchDescriptors(
  name: string,
  timeoutMs: number,
  own?: (all: readonly Passed[]) => void,
  trusts: Trusts = nobodyElse,
): Passed[] {
  // A thread that were ended meanwhile would leave the socket, or what came.
  return gated(() => {
    const libc = requireLibc('connect')
    ownScratch()
    const fd = openStream(name)
    try {
      const deadline = performance.now() + timeoutMs
      connect(libc, fd, name, deadline)
      if (!isOurs(fd, trusts))
        throw new NativeError('EPERM', errnos.EPERM, 'connect', `another user listens at @${name}: nothing is taken`)
      const all = receive(libc, fd, name, deadline)
      own?.(all)
      return all
    } finally {
      closeFd(fd)
    }
  })
}

/** Sets the timeout of the next call to the time that is left. */
function setTimeoutOf({ setsockopt }: Libc, fd: number, option: number, name: string, deadline: number): void {
  const { u32, address } = ownScratch()
  const leftMs = deadline - performance.now()
  if (!(leftMs > 0)) throw timedOut(name)
  // A timeval of zero would be no limit.
  const us = Math.min(Math.ceil(leftMs * 1000), 2 ** 31)
  u32[optionAt / 4] = Math.floor(us / 1e6)
  u32[optionAt / 4 + 1] = 0
  u32[optionAt / 4 + 2] = us % 1e6
  u32[optionAt / 4 + 3] = 0
  setsockopt(fd, SOL_SOCKET, option, address + optionAt, 16)
}

function timedOut(name: string): NativeError {
  const text = `the process that listens at @${name} does not answer: it is busy, or stopped`
  return new NativeError('ETIMEDOUT', errnos.ETIMEDOUT, 'recvmsg', text)
}

/** Connects; a full backlog makes it wait. */
function connect(libc: Libc, fd: number, name: string, deadline: number): void {
  const { connect, koffi } = libc
  for (;;) {
    setTimeoutOf(libc, fd, SO_SNDTIMEO, name, deadline)
    if (connect(fd, ownScratch().address + nameAt, writeName(name)) === 0) return
    const errno = koffi.errno()
    if (errno === errnos.EINTR || errno === errnos.EAGAIN) continue
    const what = errno === errnos.ECONNREFUSED ? `nobody listens at @${name}` : `@${name} cannot be connected to`
    throw nativeError('connect', errnoName(errno), errno, what)
  }
}

function receive(libc: Libc, fd: number, name: string, deadline: number): Passed[] {
  const { recvmsg, koffi } = libc
  const own = ownScratch()
  const { u32, address } = own
  let n: number
  do {
    setTimeoutOf(libc, fd, SO_RCVTIMEO, name, deadline)
    prepare(own, payloadBytes, controlBytes)
    n = recvmsg(fd, address + headerAt, MSG_CMSG_CLOEXEC)
  } while (n < 0 && (koffi.errno() === errnos.EINTR || koffi.errno() === errnos.EAGAIN))
  if (n < 0) {
    const errno = koffi.errno()
    throw nativeError('recvmsg', errnoName(errno), errno, `@${name} does not answer`)
  }
  const fds = receivedDescriptors(u32)
  const isWhole = (u32[headerAt / 4 + 12]! & MSG_CTRUNC) === 0
  const count = u32[payloadAt / 4]!
  if (isWhole && n === 4 + 4 * count && fds.length === count)
    return fds.map((fd, i) => ({ fd, tag: u32[payloadAt / 4 + 1 + i]! | 0 }))
  for (const fd of fds) closeFd(fd)
  if (n === 0) {
    const text = `the process that listens at @${name} gives nothing: it belongs to another user, or is ending`
    throw new NativeError('EACCES', errnos.EACCES, 'recvmsg', text)
  }
  if (!isWhole) throw nativeError('recvmsg', 'EMFILE', errnos.EMFILE, `what @${name} gives cannot be taken`)
  throw new NativeError('EPROTO', errnos.EPROTO, 'recvmsg', `what listens at @${name} is no server of descriptors`)
}

/** Returns all descriptors in the control messages of the received message, from any sender. */
function receivedDescriptors(u32: Uint32Array): number[] {
  const fds: number[] = []
  const end = controlAt + u32[headerAt / 4 + 10]!
  for (let at = controlAt; at + controlHeaderBytes <= end; ) {
    const bytes = u32[at / 4]!
    if (bytes < controlHeaderBytes || at + bytes > end) break
    if (u32[at / 4 + 2] === SOL_SOCKET && u32[at / 4 + 3] === SCM_RIGHTS)
      for (let fd = at + controlHeaderBytes; fd + 4 <= at + bytes; fd += 4) fds.push(u32[fd / 4]!)
    at += (bytes + 7) & ~7
  }
  return fds
}
