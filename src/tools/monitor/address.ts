/** Where servers of the monitor listen. */
import { integer, UsageError } from '../kit/index.ts'

/** Whether an address, or the host of a URL, is this host only. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host)
}

/** `9880`, `0.0.0.0:9880`, `[::1]:9880`. */
export function addressOf(flag: string, text: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535)(digits)
  if (port === undefined)
    throw new UsageError(flag, `'${text}' is not valid. Expected a port, or address:port, for example: ${flag} 9880`)
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}
