/** Requests to the kernel by netlink(7), and its unsolicited notifications. */
import { errnoName, errnos, NativeError } from './error.ts'
import { type Libc, nativeScratch, requireLibc } from './libc.ts'
import { closeFd, ownedByThread } from './poll.ts'
import { Nl, netlinkMessages, parseError } from './route-messages.ts'

const AF_NETLINK = 16
const SOCK_RAW_CLOEXEC = 3 | 0o2000000
const NLM_F_REQUEST = 1
const NLM_F_DUMP = 0x300
const headerBytes = 16
const answerBytes = 1 << 16
const SOL_SOCKET = 1
const SO_RCVTIMEO = 20
const MSG_DONTWAIT = 0x40

/** Native memory is never given back, so all requests of the thread have the same. */
let shared: ReturnType<typeof nativeScratch> | undefined

function fail(call: string, errno: number): never {
  const name = errno === errnos.EAGAIN ? 'ETIMEDOUT' : errnoName(errno)
  throw new NativeError(name, errno, call, 'the kernel does not answer by netlink')
}

/** Runs `ask` with a socket on which a call waits a second at most, and the room for messages. */
function withSocket<T>(
  protocol: number,
  ask: (fd: number, room: ReturnType<typeof nativeScratch>, libc: Libc) => T,
): T {
  const libc = requireLibc('socket')
  const fd = libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol)
  if (fd < 0) fail('socket', libc.koffi.errno())
  try {
    shared ??= nativeScratch(answerBytes)
    // struct timeval.
    shared.u32.set([1, 0, 0, 0])
    libc.setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, shared.address, 16)
    return ask(fd, shared, libc)
  } finally {
    closeFd(fd)
  }
}

function send(
  fd: number,
  { u8, u32, address }: ReturnType<typeof nativeScratch>,
  libc: Libc,
  type: number,
  flags: number,
  payload: Uint8Array,
): void {
  const length = headerBytes + payload.length
  u32.set([length, type | ((NLM_F_REQUEST | flags) << 16), 1, 0])
  u8.set(payload, headerBytes)
  if (libc.send(fd, address, length, 0) !== length) fail('send', libc.koffi.errno())
}

/**
 * Sends a request of `type` with this payload, and returns the payload of the answer. Throws NativeError with the error of the kernel:
 * EOPNOTSUPP, ENODEV, EPERM, …; ETIMEDOUT after a second.
 */
export function netlinkRequest(protocol: number, type: number, payload: Uint8Array): Uint8Array {
  return withSocket(protocol, (fd, room, libc) => {
    const { u8, u32, address } = room
    send(fd, room, libc, type, 0, payload)
    const got = libc.recv(fd, address, answerBytes, 0)
    if (got < 0) fail('recv', libc.koffi.errno())
    if (got < headerBytes) fail('recv', errnos.EPROTO)
    if ((u32[1]! & 0xffff) === Nl.error) fail('netlink', -(u32[4]! | 0) || errnos.EPROTO)
    return u8.slice(headerBytes, Math.min(got, u32[0]!))
  })
}

/** Requests all objects of a kind, and returns the payloads of the messages of type `wanted`. Throws as `netlinkRequest` does. */
export function netlinkDump(protocol: number, type: number, payload: Uint8Array, wanted: number): Uint8Array[] {
  return withSocket(protocol, (fd, room, libc) => {
    send(fd, room, libc, type, NLM_F_DUMP, payload)
    const found: Uint8Array[] = []
    for (;;) {
      const got = libc.recv(fd, room.address, answerBytes, 0)
      if (got < 0) fail('recv', libc.koffi.errno())
      const bytes = room.u8.slice(0, got)
      for (const message of netlinkMessages(bytes)) {
        if (message.type === Nl.done) return found
        if (message.type === Nl.error) fail('netlink', parseError(bytes, message.start, message.end) || errnos.EPROTO)
        if (message.type === wanted) found.push(bytes.slice(message.start, message.end))
      }
    }
  })
}

/** A socket to which the kernel sends notifications. */
function subscribed(protocol: number, groups: number): number {
  const libc = requireLibc('socket')
  const fd = libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol)
  if (fd < 0) fail('socket', libc.koffi.errno())
  shared ??= nativeScratch(answerBytes)
  // struct sockaddr_nl: family, port (0: the kernel chooses), groups.
  shared.u32.set([AF_NETLINK, 0, groups])
  if (libc.bind(fd, shared.address, 12) < 0) {
    const errno = libc.koffi.errno()
    closeFd(fd)
    fail('bind', errno)
  }
  return fd
}

/**
 * Notifications of the kernel. The descriptor is readable when something has changed; a query has to determine what. It closes when the
 * thread ends.
 */
export class NetlinkEvents {
  readonly fd: number

  /** `groups` as a mask. Throws NativeError. */
  constructor(protocol: number, groups: number) {
    this.fd = ownedByThread(() => subscribed(protocol, groups))
  }

  /** Takes all pending notifications; returns true if there were any. More than the kernel could keep counts, too. */
  drain(): boolean {
    const libc = requireLibc('recv')
    shared ??= nativeScratch(answerBytes)
    for (let came = false; ; came = true) {
      if (libc.recv(this.fd, shared.address, answerBytes, MSG_DONTWAIT) >= 0) continue
      if (libc.koffi.errno() !== errnos.ENOBUFS) return came
    }
  }
}
