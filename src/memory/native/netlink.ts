/** A question to the kernel by netlink(7) that has one message for an answer. */
import { errnoName, errnos, NativeError } from './error.ts'
import { nativeScratch, requireLibc } from './libc.ts'
import { closeFd } from './poll.ts'

const AF_NETLINK = 16
const SOCK_RAW_CLOEXEC = 3 | 0o2000000
const NLM_F_REQUEST = 1
const NLMSG_ERROR = 2
const headerBytes = 16
const answerBytes = 1 << 16
const SOL_SOCKET = 1
const SO_RCVTIMEO = 20

/** Native memory is never given back, so all requests of the thread have the same. */
let shared: ReturnType<typeof nativeScratch> | undefined

/**
 * Asks with a message of `type` and this payload, and returns the payload of the answer. Throws NativeError with what the kernel
 * says: EOPNOTSUPP, ENODEV, EPERM, …; ETIMEDOUT after a second.
 */
export function netlinkRequest(protocol: number, type: number, payload: Uint8Array): Uint8Array {
  const { socket, send, recv, setsockopt, koffi } = requireLibc('socket')
  const fail = (call: string, errno: number): never => {
    const name = errno === errnos.EAGAIN ? 'ETIMEDOUT' : errnoName(errno)
    throw new NativeError(name, errno, call, 'the kernel does not answer by netlink')
  }
  const fd = socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol)
  if (fd < 0) fail('socket', koffi.errno())
  try {
    shared ??= nativeScratch(answerBytes)
    const { u8, u32, address } = shared
    // struct timeval.
    u32.set([1, 0, 0, 0])
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, address, 16)
    const length = headerBytes + payload.length
    u32.set([length, type | (NLM_F_REQUEST << 16), 1, 0])
    u8.set(payload, headerBytes)
    if (send(fd, address, length, 0) !== length) fail('send', koffi.errno())
    const got = recv(fd, address, answerBytes, 0)
    if (got < 0) fail('recv', koffi.errno())
    if (got < headerBytes) fail('recv', errnos.EPROTO)
    if ((u32[1]! & 0xffff) === NLMSG_ERROR) fail('netlink', -(u32[4]! | 0) || errnos.EPROTO)
    return u8.slice(headerBytes, Math.min(got, u32[0]!))
  } finally {
    closeFd(fd)
  }
}
