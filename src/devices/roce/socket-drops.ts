/**
 * Numbers of datagrams that the kernel dropped at UDP sockets because their buffers were full: for systems without a socket option for
 * it.
 */
import { boundSockets } from './udp-table.ts'

/**
 * Returns the drops of the sockets that are bound to `port`, by `addressKey` of their address; empty where the system does not report
 * them.
 */
export function kernelDrops(port: number): Map<string, number> {
  return new Map(boundSockets(port).map(({ address, drops }) => [address, drops]))
}
