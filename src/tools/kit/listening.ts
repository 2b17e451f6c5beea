/** The address on which a server of a command listens. */
import { integer } from './option.ts'
import { wrongValue } from './usage.ts'

export interface Listening {
  host: string
  port: number
}

/** Parses `9879`, `0.0.0.0:9879`, `[::1]:9879`; port 0 is any free one. */
export function listenAddress(flag: string, text: string): Listening {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535)(digits)
  if (port === undefined) throw wrongValue(flag, text, 'a port, or address:port', 9879)
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}

/** True if an address, or the host of a URL, is on the loopback interface. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host)
}
