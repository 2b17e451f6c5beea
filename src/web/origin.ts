/** Where a server is to be found. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `http://127.0.0.1:9880` of a server that listens on `host`. */
export function originOf(server: Pick<Server, 'address'>, host: string, isSecure = false): string {
  const { port } = server.address() as AddressInfo
  return `http${isSecure ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
