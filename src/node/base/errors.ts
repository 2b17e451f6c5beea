/**
 * Errors as `node:net` makes them, so that programs which read `code`, `syscall`, `address` or the message find the expected values. The
 * reason that rsockets know beyond the number (such as that of the peer's disconnect) is the error's `cause`.
 */
import { BlockList } from 'node:net'
import { errnoName } from '../../rsocket/names.ts'

/** System error of Node: `code` is the name, `errno` the negative number, `syscall` the call that failed. */
export interface SystemError extends Error {
  code: string
  errno: number
  syscall: string
  address?: string
  port?: number
  localAddress?: string
  localPort?: number
}

function systemError(message: string, errno: number, syscall: string, reason: string): SystemError {
  const error = (reason === '' ? new Error(message) : new Error(message, { cause: new Error(reason) })) as SystemError
  error.errno = errno
  error.code = errnoName(errno)
  error.syscall = syscall
  return error
}

/** Returns an error such as `read ECONNRESET`. `errno` is negative. */
export function errnoError(errno: number, syscall: string, reason = ''): SystemError {
  return systemError(`${syscall} ${errnoName(errno)}`, errno, syscall, reason)
}

/** Returns an error such as `connect ECONNREFUSED 10.0.0.7:80`; `bind` and `listen` errors have this form too. */
export function addressError(
  errno: number,
  syscall: string,
  address: string | null,
  port: number,
  reason = '',
): SystemError {
  const where = address ? (port ? `${address}:${port}` : address) : ''
  const error = systemError(`${syscall} ${errnoName(errno)} ${where}`.trimEnd(), errno, syscall, reason)
  if (address) error.address = address
  if (port) error.port = port
  return error
}

type ErrorClass = new (message: string) => Error

/** Returns an error with one of Node's own codes (`ERR_…`). */
export function codedError(code: string, message: string, Base: ErrorClass = Error): NodeJS.ErrnoException {
  return Object.assign(new Base(message), { code })
}

export function badArgument(name: string, wanted: string, value: unknown): NodeJS.ErrnoException {
  const got = value === null || value === undefined ? String(value) : `type ${typeof value} (${String(value)})`
  return codedError('ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${wanted}. Received ${got}`, TypeError)
}

export function badValue(name: string, why: string): NodeJS.ErrnoException {
  return codedError('ERR_INVALID_ARG_VALUE', `The argument '${name}' ${why}`, TypeError)
}

/** Throws unless the value is an integer of 32 bits, at least `least`. */
export function checkInteger(value: unknown, name: string, least: number): void {
  if (typeof value !== 'number') throw badArgument(name, 'of type number', value)
  const whole = Number.isInteger(value)
  if (whole && value >= least && value <= 0x7fffffff) return
  const wanted = whole ? `>= ${least} && <= 2147483647` : 'an integer'
  throw codedError(
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${wanted}. Received ${value}`,
    RangeError,
  )
}

/** Throws unless the value is a `net.BlockList`. */
export function checkBlockList(value: unknown): BlockList {
  const { isBlockList } = BlockList as unknown as { isBlockList?: (value: unknown) => boolean }
  if (isBlockList ? !isBlockList(value) : !(value instanceof BlockList))
    throw badArgument('options.blockList', 'an instance of net.BlockList', value)
  return value as BlockList
}

/** Returns the error for an address in a socket's `blockList`. */
export function blockedError(address: string): SystemError {
  return codedError('ERR_IP_BLOCKED', `IP(${address}) is blocked by net.BlockList`) as SystemError
}

/** Throws unless the value is a port number, or a string of one. */
export function checkPort(port: unknown, name: string): number {
  if (typeof port !== 'number' && typeof port !== 'string') throw badArgument(name, 'a number or a string', port)
  const number = typeof port === 'string' && port.trim() === '' ? Number.NaN : Number(port)
  if (!(number >>> 0 === number && number <= 65_535))
    throw codedError('ERR_SOCKET_BAD_PORT', `${name} should be >= 0 and < 65536. Received ${String(port)}.`, RangeError)
  return number
}
