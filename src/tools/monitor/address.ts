/** Where servers of the monitor listen. */
import { integer, UsageError } from '../kit/index.ts'

/** `9880`, `0.0.0.0:9880`, `[::1]:9880`. */
export function addressOf(flag: string, text: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535)(digits)
  if (port === undefined)
    throw new UsageError(flag, `'${text}' is not valid. Expected a port, or address:port, for example: ${flag} 9880`)
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}
