/**
 * Error numbers of sockets. They are those of Linux unless `useErrno` sets those of another system: the protocol itself depends on no
 * system.
 */
const numbers = {
  EAGAIN: 11,
  EALREADY: 114,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  EAFNOSUPPORT: 97,
  EBADF: 9,
  EBUSY: 16,
  ECONNABORTED: 103,
  ECONNREFUSED: 111,
  ECONNRESET: 104,
  EDESTADDRREQ: 89,
  EFAULT: 14,
  EHOSTUNREACH: 113,
  EINPROGRESS: 115,
  EINTR: 4,
  EINVAL: 22,
  EIO: 5,
  EISCONN: 106,
  EMFILE: 24,
  EMSGSIZE: 90,
  ENETUNREACH: 101,
  ENOBUFS: 105,
  ENODEV: 19,
  ENOMEM: 12,
  ENOPROTOOPT: 92,
  ENOTCONN: 107,
  EOPNOTSUPP: 95,
  EPIPE: 32,
  EPROTO: 71,
  EPROTONOSUPPORT: 93,
  ETIMEDOUT: 110,
}
export type ErrnoName = keyof typeof numbers

/** Numbers of the errors that rsockets return; a call that fails returns one, negative. */
export const Errno: Readonly<Record<ErrnoName, number>> = numbers

const names = new Map<number, ErrnoName>()
function nameAll(): void {
  names.clear()
  for (const [name, number] of Object.entries(numbers)) names.set(number, name as ErrnoName)
}
nameAll()

/** Takes the numbers of the system (`os.constants.errno`) where they differ. Call it before the first use of `Errno`. */
export function useErrno(system: Readonly<Record<string, number>>): void {
  for (const name of Object.keys(numbers) as ErrnoName[]) {
    const number = system[name]
    // A field that is never written stays a constant for the compiler.
    if (number !== undefined && number !== numbers[name]) numbers[name] = number
  }
  nameAll()
}

/** Returns `ECONNRESET` for 104 or −104; `EIO` for a number that has no name here. */
export function errnoName(number: number): ErrnoName {
  return names.get(Math.abs(number)) ?? 'EIO'
}

const texts: Readonly<Record<ErrnoName, string>> = {
  EAGAIN: 'it would have to wait: try again when the socket is ready',
  EALREADY: 'a connection is being made already',
  EADDRINUSE: 'another socket has the address and port: choose another port',
  EADDRNOTAVAIL: 'the address is not one of this machine and its RDMA devices',
  EAFNOSUPPORT: 'the address is of another family than the socket',
  EBADF: 'the socket is closed',
  EBUSY: 'something else uses it',
  ECONNABORTED: 'the connection ended before it was accepted',
  ECONNREFUSED: 'nobody listens there, or the peer refused the connection',
  ECONNRESET: 'the peer ended the connection, or broke the protocol',
  EDESTADDRREQ: 'there is no address to send to: connect first, or give one',
  EFAULT: 'the buffer lies outside the memory that was given',
  EHOSTUNREACH: 'no RDMA device leads to this address',
  EINPROGRESS: 'the connection is being made',
  EINTR: 'the call was interrupted',
  EINVAL: 'an argument is wrong, or the socket is not in a state for this',
  EIO: 'the device failed',
  EISCONN: 'the socket is connected already',
  EMFILE: 'the process has as many descriptors as it may',
  EMSGSIZE: 'the message is longer than a datagram can be',
  ENETUNREACH: 'there is no route to this address',
  ENOBUFS: 'no buffer is free',
  ENODEV: 'there is no such device',
  ENOMEM: 'there is no memory left for this',
  ENOPROTOOPT: 'there is no such option',
  ENOTCONN: 'the socket is not connected',
  EOPNOTSUPP: 'this kind of socket cannot do that',
  EPIPE: 'this side of the connection was shut down for sending',
  EPROTO: 'the peer broke the protocol',
  EPROTONOSUPPORT: 'there is no such protocol for this type of socket',
  ETIMEDOUT: 'the peer does not answer',
}

/** Returns the meaning of an error number, and a remedy. */
export function errnoText(number: number): string {
  return texts[errnoName(number)]
}
